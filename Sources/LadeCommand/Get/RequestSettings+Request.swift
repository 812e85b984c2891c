#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension RequestSettings {
    /// Makes the request that the arguments describe.
    ///
    /// Reads the files that are pieces of the body, and the standard input if it is one.
    ///
    /// - Parameters:
    ///   - prompt: Asks for the password of a user who came without one.
    ///   - random: Where the boundary of a form comes from.
    /// - Returns: The request, valid.
    /// - Throws: A usage error for an address or a field that cannot be sent, a local one for a file.
    func request(
        askingBy prompt: PasswordPrompt,
        random: any RandomSource = SystemRandom()
    ) async throws(CommandError) -> Request {
        let (url, addressUser) = try target()
        let body = try await body(random)
        let method = try CommandError.translating { () throws(LoadingError) in try requestMethod(hasBody: body != nil) }
        var request = Request(method, url, body: body)
        request.headers = requestHeaders()
        if edits.contains(where: { $0.name.equalsIgnoringASCIICase("Content-Type") }) {
            request.body?.contentType = nil
        }
        if let user = user ?? addressUser, !request.headers.contains("Authorization") {
            request.headers["Authorization"] = try await Self.basicCredentials(of: user, at: url, prompt)
        }
        try CommandError.translating { [request] () throws(LoadingError) in try request.validate() }
        return request
    }

    private func target() throws(CommandError) -> (URL, user: String?) {
        var address = Address(self.address ?? "")
        if let uploadPath, uploadPath != "-", let name = uploadPath.split(separator: "/").last {
            address.completePath(with: String(name))
        }
        for case .query(let name, let value) in items { address.addQueryItem(name, value) }
        guard let url = URL(string: address.text) else {
            throw .usage("“\(address.shown)” is no address", advice: "Write it as https://host/path.")
        }
        return (url, address.user)
    }

    private func requestMethod(hasBody: Bool) throws(LoadingError) -> Method {
        if let method { return try Method(method) }
        if isHead { return .head }
        if uploadPath != nil { return .put }
        return hasBody ? .post : .get
    }
}

// MARK: - Header fields

extension RequestSettings {
    /// What the options and the items say about header fields, in order.
    private var edits: [HeaderEdit] {
        let named = [("User-Agent", userAgent), ("Referer", referer)]
        return named.compactMap { name, value in value.map { .set(name, $0) } } + headers
            + items.compactMap { if case .header(let edit) = $0 { edit } else { nil } }
    }

    /// The fields that are sent: a default one only where the user says nothing of it.
    private func requestHeaders() -> Headers {
        let defaults = [("User-Agent", "lade/\(Version.number)"), ("Accept", acceptsJSON ? "application/json" : "*/*")]
        let edits = edits
        var fields = Headers(
            defaults.filter { name, _ in !edits.contains { $0.name.equalsIgnoringASCIICase(name) } }
        )
        for case .set(let name, let value) in edits { fields.add(name, value) }
        return fields
    }

    private var acceptsJSON: Bool {
        !json.isEmpty || (hasItemBody && !hasFile)
    }

    private static func basicCredentials(
        of user: String,
        at url: URL,
        _ prompt: PasswordPrompt
    ) async throws(CommandError) -> String {
        var pair = user
        if !pair.contains(":") {
            let host = url.host(percentEncoded: false) ?? ""
            let question = "Password of \(user) at \(host): ".escapedForDisplay()
            pair += ":" + (try await prompt.ask(question)).reveal()
        }
        return "Basic " + Data(pair.utf8).base64EncodedString()
    }
}

// MARK: - Body

extension RequestSettings {
    private static let formType = "application/x-www-form-urlencoded"
    private static let jsonType = "application/json"

    private var hasFile: Bool {
        items.contains { if case .file = $0 { true } else { false } }
    }

    private func body(_ random: any RandomSource) async throws(CommandError) -> RequestBody? {
        if hasFile { return try form(random) }
        if hasItemBody { return .text(itemObject, contentType: Self.jsonType) }
        if !data.isEmpty { return try await Self.body(of: data, joinedBy: "&", contentType: Self.formType) }
        if !json.isEmpty { return try await Self.body(of: json, joinedBy: "", contentType: Self.jsonType) }
        if let uploadPath { return try Self.body(ofFile: uploadPath, contentType: nil) }
        if readsStandardInput || items.contains(.standardInput) {
            return try Self.body(ofFile: "-", contentType: nil)
        }
        return nil
    }

    /// The items as one object; a name given twice has its last value, in the place of the first.
    private var itemObject: String {
        var members: [(name: String, value: String)] = []
        for item in items {
            let member: (name: String, value: String)
            switch item {
            case .text(let name, let value): member = (name, JSONQuoting.string(value))
            case .json(let name, let value): member = (name, value)
            case .query, .header, .file, .standardInput: continue
            }
            if let index = members.firstIndex(where: { $0.name == member.name }) {
                members[index] = member
            } else {
                members.append(member)
            }
        }
        return JSONQuoting.object(members)
    }

    private func form(_ random: any RandomSource) throws(CommandError) -> RequestBody {
        var form = MultipartForm(random: random)
        for item in items {
            switch item {
            case .text(let name, let value), .json(let name, let value): form.addField(name, value)
            case .file(let name, let path):
                let body = try Self.body(ofFile: path, contentType: nil)
                let fileName = path.split(separator: "/").last.map(String.init) ?? path
                do throws(LoadingError) {
                    try form.addBody(name, body, fileName: fileName)
                } catch {
                    throw CommandError(error)
                }
            case .query, .header, .standardInput: break
            }
        }
        return form.body
    }

    private static func body(
        of pieces: [Piece],
        joinedBy separator: String,
        contentType: String
    ) async throws(CommandError) -> RequestBody {
        if pieces.count == 1, case .file(let path, strippingLineEnds: false) = pieces[0] {
            return try body(ofFile: path, contentType: contentType)
        }
        var bytes = Data()
        for (index, piece) in pieces.enumerated() {
            if index > 0 { bytes.append(contentsOf: separator.utf8) }
            switch piece {
            case .text(let text): bytes.append(contentsOf: text.utf8)
            case .file(let path, let isStripped):
                let content = try await InputReader(path).all()
                bytes.append(contentsOf: isStripped ? content.filter { ![0x0A, 0x0D, 0x00].contains($0) } : content)
            }
        }
        return .bytes(bytes, contentType: contentType)
    }

    /// A whole file, sent from the disk; a pipe is sent as it is read, once.
    private static func body(ofFile path: String, contentType: String?) throws(CommandError) -> RequestBody {
        if path != "-", InputReader.isRegularFile(path) {
            return try CommandError.translating { () throws(LoadingError) in
                try RequestBody.file(path, contentType: contentType)
            }
        }
        guard path == "-" || InputReader.exists(path) else { throw .file(path, "read", SystemError(number: ENOENT)) }
        let reader = InputReader(path)
        return .writer(contentType: contentType) { write in
            while let chunk = try await reader.next() { try await write(chunk) }
        }
    }
}
