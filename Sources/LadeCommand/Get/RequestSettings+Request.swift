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
    /// Reads the files of the body, and the standard input if the body includes it.
    ///
    /// - Parameters:
    ///   - prompt: Asks for the password when only the user name is given.
    ///   - random: The source of random bytes for a form's boundary.
    /// - Returns: A valid request.
    /// - Throws: A usage error for an invalid address or field, a local error for a file.
    func request(
        askingBy prompt: PasswordPrompt,
        random: any RandomSource = SystemRandom()
    ) async throws(CommandError) -> Request {
        let (url, addressUser) = try await target()
        let body = try await body(random)
        let method = try CommandError.translating { () throws(LoadingError) in try requestMethod(hasBody: body != nil) }
        var request = Request(method, url, body: body)
        let given = try await edits()
        let defaults = defaultHeaders.filter { edit in !given.contains { $0.name.equalsIgnoringASCIICase(edit.name) } }
        let edits = defaults + given
        request.headers = requestHeaders(edits)
        request.omitsAccept = !request.headers.contains("Accept")
        complete(&request, edits)
        if let target {
            guard !target.isEmpty, target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
                throw .usage("--request-target: no target", advice: "It has no spaces and no letters beyond ASCII.")
            }
            request.headForm.target = target
        }
        if let firstByte {
            if let length = request.body?.length, length > 0, uploadPath != nil {
                let size = firstByte + length
                request.headers.set("Content-Range", "bytes \(firstByte)-\(size - 1)/\(size)")
            } else if uploadPath == nil, firstByte > 0 {
                request.headers.set("Range", "bytes=\(firstByte)-")
            }
        }
        if userScheme == .basic, let user = user ?? addressUser, !decidesAuthorization(request) {
            let pair = try await Self.pair(of: user, at: url, prompt)
            request.headers["Authorization"] = "Basic " + Data(pair.utf8).base64EncodedString()
        }
        try CommandError.translating { [request] () throws(LoadingError) in try request.validate() }
        return request
    }

    /// The user and the password for a scheme that begins with the server's challenge; nil for none.
    func credentials(
        for request: Request,
        askingBy prompt: PasswordPrompt
    ) async throws(CommandError) -> UserCredentials? {
        guard userScheme != .basic, let user = user ?? addressUser, !request.headers.contains("Authorization") else {
            return nil
        }
        return UserCredentials(userScheme, pair: try await Self.pair(of: user, at: request.url, prompt))
    }

    /// Whether the fields of the caller decide about `Authorization`, which they may also remove.
    ///
    /// Credentials that a server demands are sent all the same, as with curl.
    private func decidesAuthorization(_ request: Request) -> Bool {
        let items = items.compactMap { if case .header(let edit) = $0 { edit } else { nil } }
        return request.headers.contains("Authorization")
            || (headers + items).contains { $0.name.equalsIgnoringASCIICase("Authorization") }
    }

    /// Combines the user's fields with the body where both state the content type or the framing (RFC 9110 §8.3, RFC 9112 §6).
    ///
    /// A multipart type without a boundary gets the boundary of the body. The caller of this method refuses a type with a
    /// different boundary. `Request.validate()` refuses every other contradiction.
    private func complete(_ request: inout Request, _ edits: [HeaderEdit]) {
        if edits.contains(where: { $0.name.equalsIgnoringASCIICase("Content-Type") }) {
            if let type = request.headers["Content-Type"], let body = request.body?.contentType,
                type.lowercased().begins(with: "multipart/"), let (_, boundary) = body.cut(at: "boundary="),
                isMultipart
            {
                request.headers["Content-Type"] = "\(type); boundary=\(boundary)"
            }
            request.body?.contentType = nil
        }
        // The framing follows from the body; "chunked" asks for a body in chunks.
        if request.headers["Transfer-Encoding"]?.lowercased() == "chunked", let body = request.body {
            request.headers.remove("Transfer-Encoding")
            request.body = body.inChunks
        }
    }

    /// The origin of the address.
    ///
    /// - Throws: A usage error for an invalid address.
    func origin() throws(CommandError) -> Origin {
        let address = Address(self.address ?? "")
        guard let origin = URL(string: address.text.withASCIIHost).flatMap({ Origin($0) }) else {
            throw Self.fault(address)
        }
        return origin
    }

    /// The user name in the address, with the password if it is there.
    var addressUser: String? { Address(address ?? "").user }

    private func target() async throws(CommandError) -> (URL, user: String?) {
        var address = Address(self.address ?? "")
        guard address.hasReadableUser else {
            throw .usage("the user in the address is no text in UTF-8", advice: "Write the escapes of its UTF-8.")
        }
        if !keepsDotSegments { address.removeDotSegments() }
        if let uploadPath, !["-", "."].contains(uploadPath), let name = uploadPath.parts(at: "/", omitsEmpty: true).last
        {
            guard !isForCurl || address.query == nil || !address.namesFolder else {
                throw CurlReader.wrong("--upload-file to a folder with a query, which curl reads by version")
            }
            address.completePath(with: String(name))
        }
        if !queryPieces.isEmpty {
            address.addQuery(try await Self.bytes(of: queryPieces, joinedBy: "&"))
        }
        if sendsDataInQuery {
            address.addQuery(try await Self.bytes(of: data, joinedBy: "&"))
        }
        for case .query(let name, let value) in items { address.addQueryItem(name, value) }
        guard let url = URL(string: address.text.withASCIIHost) else { throw Self.fault(address) }
        return (url, address.user)
    }

    /// The usage error for an address that cannot be used, in the words of the library.
    private static func fault(_ address: Address) -> CommandError {
        let reason = AddressFault.first(in: address.text, encoding: true)?.clause ?? "it cannot be parsed"
        let cause = LoadingError.RequestCause.url(address.shown.escapedForDisplay(), reason: reason)
        return .usage(cause.description, advice: "Write it as https://host/path.")
    }

    private func requestMethod(hasBody: Bool) throws(LoadingError) -> Request.Method {
        if let method { return try Request.Method(method) }
        if isHead { return .head }
        if uploadPath != nil { return .put }
        return hasBody ? .post : .get
    }
}

// MARK: - Header fields

extension RequestSettings {
    /// The changes to header fields from options and items, in order; reads the files that hold values.
    func edits() async throws(CommandError) -> [HeaderEdit] {
        let named = [("User-Agent", userAgent), ("Referer", referer)]
        // An empty text unsets the field, as in curl.
        var edits = named.compactMap { name, value in
            value.map { $0.isEmpty ? HeaderEdit.remove(name) : .set(name, $0) }
        }
        edits += [timeCondition?.field].compactMap(\.self) + headers
        if let tagPath {
            let isThere = InputReader.exists(tagPath)
            let tag = isThere ? try ArgumentFile.lines(tagPath, of: "--etag-compare").first : nil
            edits.append(.set("If-None-Match", tag ?? "\"\""))
        }
        for item in items {
            switch item {
            case .header(let edit): edits.append(edit)
            case .headerFile(let name, let path):
                edits.append(.set(name, try await Self.text(ofFile: path, of: name).trimmedOfLineEnds))
            default: break
            }
        }
        return edits
    }

    /// The fields to send; a default field is added only when the user does not set or remove it.
    private func requestHeaders(_ edits: [HeaderEdit]) -> Headers {
        let defaults = [("User-Agent", "lade/\(Version.number)"), ("Accept", acceptsJSON ? "application/json" : "*/*")]
        var fields = Headers(
            defaults.filter { name, _ in !edits.contains { $0.name.equalsIgnoringASCIICase(name) } }
        )
        for case .set(let name, let value) in edits where !removes(name, edits) { fields.add(name, value) }
        return fields
    }

    private var acceptsJSON: Bool {
        !json.isEmpty || (hasItemBody && !hasFile && !isForm)
    }

    /// Whether "Name:" unsets a field that an option sets.
    private func removes(_ name: String, _ edits: [HeaderEdit]) -> Bool {
        let options = ["User-Agent", "Referer", "If-Modified-Since", "If-Unmodified-Since", "If-None-Match", "Cookie"]
        return edits.contains(.remove(name)) && options.contains { $0.equalsIgnoringASCIICase(name) }
    }

    private static func pair(
        of user: String,
        at url: URL,
        _ prompt: PasswordPrompt
    ) async throws(CommandError) -> String {
        var pair = user
        if !pair.has(":") {
            let host = url.host(percentEncoded: false) ?? ""
            let question = "Password of \(user) at \(host): ".escapedForDisplay()
            pair += ":" + (try await prompt.ask(question)).reveal()
        }
        return pair
    }
}

// MARK: - Body

extension RequestSettings {
    private static let formType = "application/x-www-form-urlencoded"
    private static let jsonType = "application/json"

    /// Whether the body is a multipart form.
    var hasFile: Bool {
        !formParts.isEmpty || items.contains { if case .file = $0 { true } else { false } }
    }

    private func body(_ random: any RandomSource) async throws(CommandError) -> Request.Body? {
        if hasFile { return try await form(random) }
        if hasItemBody, isForm { return .text(try await itemForm(), contentType: Self.formType) }
        if hasItemBody { return .text(try await itemDocument(), contentType: Self.jsonType) }
        if !data.isEmpty, !sendsDataInQuery {
            return try await Self.body(of: data, joinedBy: "&", contentType: Self.formType)
        }
        if !json.isEmpty { return try await Self.body(of: json, joinedBy: "", contentType: Self.jsonType) }
        if let uploadPath {
            guard let firstByte else { return try Self.body(ofFile: uploadPath, contentType: nil) }
            return try CommandError.translating { () throws(LoadingError) in
                try Request.Body.file(uploadPath, offset: firstByte)
            }
        }
        if readsStandardInput || items.contains(.standardInput) {
            return try Self.body(ofFile: "-", contentType: nil)
        }
        return nil
    }

    /// The items as one JSON document: an object, or an array for paths like `[]`.
    private func itemDocument() async throws(CommandError) -> String {
        var tree = JSONTree()
        for item in items {
            switch item {
            case .text(let name, let value): try tree.set(JSONQuoting.string(value), at: name)
            case .textFile(let name, let path):
                try tree.set(JSONQuoting.string(try await Self.text(ofFile: path, of: name)), at: name)
            case .json(let name, let value): try tree.set(value, at: name)
            case .jsonFile(let name, let path):
                let text = try await Self.text(ofFile: path, of: name)
                guard JSONValue.isValid(text) else {
                    throw .usage("the item “\(name):=@…” names a file that is no JSON", advice: "Check \(path).")
                }
                try tree.set(text, at: name)
            case .query, .header, .headerFile, .file, .standardInput: continue
            }
        }
        return tree.text
    }

    /// The items as URL-encoded form fields, names unchanged.
    private func itemForm() async throws(CommandError) -> String {
        var address = Address("")
        address.query = nil
        for case .text(let name, let value) in try await fields() { address.addQueryItem(name, value) }
        return address.query ?? ""
    }

    /// The items that are form fields, with the contents of files read.
    private func fields() async throws(CommandError) -> [RequestItem] {
        var fields: [RequestItem] = []
        for item in items {
            switch item {
            case .text(let name, let value), .json(let name, let value):
                fields.append(.text(name: name, value: value))
            case .textFile(let name, let path), .jsonFile(let name, let path):
                fields.append(.text(name: name, value: try await Self.text(ofFile: path, of: name)))
            case .file: fields.append(item)
            case .query, .header, .headerFile, .standardInput: break
            }
        }
        return fields
    }

    private var isMultipart: Bool { hasFile }

    private func form(_ random: any RandomSource) async throws(CommandError) -> Request.Body {
        var form = MultipartForm(random: random)
        var parts = formParts
        for item in try await fields() {
            switch item {
            case .text(let name, let value): parts.append(FormPart(name, .text(value)))
            case .file(let name, let path): parts.append(FormPart(name, .files([.init(path: path)])))
            default: break
            }
        }
        for part in parts {
            let files = try Self.files(of: part)
            try CommandError.translating { () throws(LoadingError) in
                if files.count == 1, let file = files.first {
                    try form.addPart(part.name, fileName: file.fileName, fields: file.fields, file.body)
                } else {
                    let boundary = MultipartForm(random: random).boundary
                    let attachments = files.map { ($0.fileName ?? "", $0.fields, $0.body) }
                    try form.addAttachments(part.name, attachments, boundary: boundary)
                }
            }
        }
        return form.body
    }

    /// The contents of a part with the fields that describe them.
    private static func files(
        of part: FormPart
    ) throws(CommandError) -> [(fileName: String?, fields: Headers, body: Request.Body)] {
        func described(_ type: String?, _ edits: [HeaderEdit]) -> Headers {
            var fields = Headers()
            let given = edits.contains { $0.name.equalsIgnoringASCIICase("Content-Type") }
            if let type, !given { fields.add("Content-Type", type) }
            for case .set(let name, let value) in edits { fields.add(name, value) }
            return fields
        }
        switch part.content {
        case .text(let text):
            let type = part.contentType ?? part.fileName.flatMap(FormPart.contentType)
            return [(part.fileName, described(type, part.fields), .bytes(Data(text.utf8)))]
        case .fieldFile(let path):
            let guessed = FormPart.contentType(ofFile: path)
            let type = part.contentType ?? (guessed == "text/plain" && part.fileName == nil ? nil : guessed)
            return [(part.fileName, described(type, part.fields), try body(ofFile: path, contentType: nil))]
        case .files(let files):
            var contents: [(fileName: String?, fields: Headers, body: Request.Body)] = []
            for file in files {
                let name =
                    file.fileName ?? file.path.parts(at: "/", omitsEmpty: true).last.map(String.init) ?? file.path
                let guessed =
                    FormPart.contentType(ofFile: name) ?? FormPart.contentType(ofFile: file.path)
                    ?? "application/octet-stream"
                let fields = described(file.contentType ?? guessed, file.fields)
                contents.append((name, fields, try body(ofFile: file.path, contentType: nil)))
            }
            return contents
        }
    }

    // A longer file is sent as a body of its own, streamed from the disk.
    private static let textLimit = 64 << 20

    /// The contents of a file that is the value of an item.
    private static func text(ofFile path: String, of name: String) async throws(CommandError) -> String {
        let bytes = try await InputReader(path).all(atMost: textLimit)
        guard let bytes, let text = String(validating: bytes, as: UTF8.self) else {
            throw .usage(
                "the item “\(name)” names a file that is \(bytes == nil ? "larger than 64 MB" : "no text in UTF-8")",
                advice: "Send it as \(name)@\(path) or with --data-binary @\(path)."
            )
        }
        return text
    }

    private static func body(
        of pieces: [Piece],
        joinedBy separator: String,
        contentType: String
    ) async throws(CommandError) -> Request.Body {
        if pieces.count == 1, case .file(let path, strippingLineEnds: false) = pieces[0] {
            return try body(ofFile: path, contentType: contentType)
        }
        return .bytes(try await bytes(of: pieces, joinedBy: separator), contentType: contentType)
    }

    private static func bytes(of pieces: [Piece], joinedBy separator: String) async throws(CommandError) -> Data {
        var bytes = Data()
        for (index, piece) in pieces.enumerated() {
            if index > 0 { bytes.append(contentsOf: separator.utf8) }
            bytes.append(try await self.bytes(of: piece))
        }
        return bytes
    }

    // A piece whose line ends are removed, that is encoded or joined to others, is in memory as a whole.
    private static let pieceLimit = 256 << 20

    private static func bytes(of piece: Piece) async throws(CommandError) -> Data {
        switch piece {
        case .text(let text): return Data(text.utf8)
        case .bytes(let bytes): return Data(bytes)
        case .file(let path, let isStripped):
            guard let content = try await InputReader(path).all(atMost: pieceLimit) else {
                throw CommandError(
                    what: "The file \(path) is larger than 256 MB, which are read into memory.",
                    advice: "Send it as it is with --data-binary @\(path), which reads it piece by piece.",
                    code: .localFile
                )
            }
            return isStripped ? content.filter { ![0x0A, 0x0D, 0x00].contains($0) } : content
        case .encoded(let name, let piece):
            // A form writes a space as a plus sign, as curl does.
            let content = Address.encoded(try await bytes(of: piece)).replacing("%20", with: "+")
            return Data((name.isEmpty ? content : "\(name)=\(content)").utf8)
        }
    }

    /// A body from a whole file; a pipe is sent while it is read, once.
    private static func body(ofFile path: String, contentType: String?) throws(CommandError) -> Request.Body {
        // "." is curl's name of the standard input that is read while responses arrive.
        let path = path == "." ? "-" : path
        if path != "-", InputReader.isRegularFile(path) {
            return try CommandError.translating { () throws(LoadingError) in
                try Request.Body.file(path, contentType: contentType)
            }
        }
        guard path == "-" || InputReader.exists(path) else { throw .file(path, "read", SystemError(number: ENOENT)) }
        let reader = InputReader(path)
        return .writer(contentType: contentType) { write in
            while let chunk = try await reader.next() { try await write(chunk) }
        }
    }
}

extension String {
    /// The text without the line ends that editors add at its end.
    fileprivate var trimmedOfLineEnds: String {
        var text = unicodeScalars[...]
        while text.last == "\n" || text.last == "\r" { text.removeLast() }
        return String(text)
    }
}
