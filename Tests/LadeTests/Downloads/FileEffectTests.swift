import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("What a response does to a file", .timeLimit(.minutes(5)))
struct FileEffectTests {
    /// What the caller allows, by a name.
    enum Caller: CaseIterable, Sendable {
        /// A program that downloads to a new name.
        case new
        /// One that replaces a file.
        case replacing
        /// A line of curl, which writes the page of an error, too.
        case curl
        /// The same with --fail.
        case curlFailing
        /// A user who counts every status as a success.
        case everyStatus
        /// One that continues a file.
        case continuing
        /// A line of curl with -C -.
        case curlContinuing

        var plan: FileEffect.Plan {
            var plan = FileEffect.Plan()
            plan.acceptable = [.successful, 304]
            plan.replaces = ![.new, .continuing, .curlContinuing].contains(self)
            plan.continues = [.continuing, .curlContinuing].contains(self)
            if [.curl, .everyStatus, .curlContinuing].contains(self) { plan.others = .codes(300..<1_000) }
            if self == .curlFailing { plan.others = .codes(300..<400) }
            plan.othersReplace = self == .everyStatus
            return plan
        }
    }

    /// A row: the response, and what it does to a new, an empty and a filled file, for each caller.
    struct Row: Sendable, CustomTestStringConvertible {
        var status: Response.Status
        var fields: Headers = [:]
        var request: Headers = [:]
        var method = Request.Method.get
        /// In the order of ``Caller``: three letters each, for none, empty and filled.
        var effects: [String]

        var testDescription: String { "\(method) \(status) \(fields) to \(request): \(effects)" }
    }

    /// written, unchanged, refused, taken, not continued.
    private static let letters: [FileEffect: Character] = [
        .written: "w", .unchanged: "u", .refused: "r", .taken: "t", .notContinued: "n",
    ]

    private static let refused = [String](repeating: "rrr", count: 7)
    private static let unchanged = [String](repeating: "uuu", count: 7)
    private static let whole = ["wtt", "www", "www", "www", "www", "wwn", "wwn"]
    private static let page = ["rrr", "rrr", "wrr", "rrr", "www", "rrr", "wrr"]
    private static let redirect = ["rrr", "rrr", "wrr", "wrr", "www", "rrr", "wrr"]

    static let rows: [Row] = [
        Row(status: 200, effects: whole), Row(status: 200, fields: ["Content-Length": "0"], effects: whole),
        Row(status: 201, effects: whole), Row(status: 203, effects: whole), Row(status: 204, effects: whole),
        Row(status: 200, fields: ["Content-Range": "bytes 5-9/10"], effects: refused),
        Row(status: 206, fields: ["Content-Range": "bytes 0-4/11"], effects: refused),
        Row(status: 206, effects: refused),
        Row(
            status: 206,
            fields: ["Content-Range": "bytes 0-4/11"],
            request: ["Range": "bytes=0-4"],
            effects: whole
        ),
        Row(
            status: 206,
            fields: ["Content-Range": "bytes 5-9/11"],
            request: ["Range": "bytes=0-4"],
            effects: refused
        ),
        Row(status: 200, request: ["Range": "bytes=0-4"], effects: whole),
        Row(status: 304, effects: refused),
        Row(status: 304, request: ["If-None-Match": "\"1\""], effects: unchanged),
        Row(status: 304, request: ["if-modified-since": "x"], effects: unchanged),
        Row(status: 304, request: ["If-Match": "\"1\""], effects: refused),
        Row(status: 304, request: ["If-None-Match": "\"1\""], method: .head, effects: unchanged),
        Row(status: 301, effects: redirect), Row(status: 300, effects: redirect),
        Row(status: 404, effects: page), Row(status: 412, request: ["If-Match": "x"], effects: page),
        Row(status: 416, effects: refused), Row(status: 416, request: ["Range": "bytes=9-"], effects: page),
        Row(status: 500, effects: page), Row(status: 503, effects: page), Row(status: 599, effects: page),
        Row(status: 200, method: .head, effects: whole), Row(status: 404, method: .head, effects: page),
    ]

    @Test(
        "finding CL-1 a file that exists is changed only by a response that represents the resource",
        arguments: rows
    )
    func table(row: Row) throws {
        var request = try Request(row.method, "https://svc.example.com/file")
        request.headers = row.request
        let response = Response(status: row.status, headers: row.fields, request: request)
        let meaning = BodyMeaning(of: response, to: row.request.contains("Range") ? .ownRange : .whole)
        let effects = Caller.allCases.map { caller in
            String(
                FileEffect.Existing.allCases.map { file in
                    Self.letters[FileEffect(of: response, meaning, on: file, caller.plan)] ?? "?"
                }
            )
        }
        #expect(effects == row.effects)
    }

    @Test("finding CL-1 a body that the caller's own condition leaves out changes no file")
    func withheld() throws {
        let response = Response(status: 200, request: try Request("https://svc.example.com/file"))
        for caller in Caller.allCases {
            var plan = caller.plan
            plan.withholds = true
            for file in FileEffect.Existing.allCases {
                #expect(FileEffect(of: response, .whole(length: nil), on: file, plan) == .unchanged)
            }
        }
    }

    // MARK: - Downloads

    /// Why a download does not write its file; nil if it does.
    private func reason(_ rig: Rig, _ request: Request, _ path: String, _ options: Download.Options) async -> String? {
        do throws(LoadingError) {
            _ = try await rig.loader.download(request, to: path, options: options)
            return nil
        } catch {
            return if case .file(let fault) = error.kind { fault.reason } else { "\(error)" }
        }
    }

    @Test(
        "finding CL-1 a download whose condition holds leaves the file, and is a success where 304 is acceptable",
        arguments: [true, false],
        [true, false]
    )
    func condition(isAcceptable: Bool, isThere: Bool) async throws {
        let (rig, folder) = (Rig(), try TemporaryFolder())
        if isThere { try folder.write("mine", to: "file") }
        rig.transport.onAnyRequest().respond(.status(304))
        var request = try rig.request()
        request.headers.set("If-None-Match", "\"1\"")
        var options = Download.Options()
        options.mayOverwrite = !isAcceptable
        if isAcceptable { options.acceptableStatuses = [200, 206, 304] }
        do throws(LoadingError) {
            let result = try await rig.loader.download(request, to: folder.path + "file", options: options)
            #expect(isAcceptable && result.isUnchanged && result.length == (isThere ? 4 : 0))
        } catch {
            #expect(!isAcceptable && error.kind == .unacceptableStatus(304))
        }
        #expect(folder.names == (isThere ? ["file"] : []) && folder.text("file") == (isThere ? "mine" : nil))
    }

    @Test("finding CL-1 a download that turns out to be new needs leave to replace the file")
    func changed() async throws {
        let (rig, folder) = (Rig(), try TemporaryFolder())
        try folder.write("mine", to: "file")
        rig.transport.onAnyRequest().respond(.text("new"))
        var request = try rig.request()
        request.headers.set("If-None-Match", "\"1\"")
        var options = Download.Options()
        options.acceptableStatuses = [200, 304]
        #expect(await reason(rig, request, folder.path + "file", options) == "it exists already")
        #expect(folder.names == ["file"] && folder.text("file") == "mine")
        options.mayOverwrite = true
        let result = try await rig.loader.download(request, to: folder.path + "file", options: options)
        #expect(!result.isUnchanged && folder.text("file") == "new")
    }

    @Test("finding CL-2 no download writes the file of another one of the same caller", arguments: [true, false])
    func claims(isLinked: Bool) async throws {
        let (rig, folder) = (Rig(), try TemporaryFolder())
        rig.transport.onAnyRequest().respond(.text("one")).then(.text("two"))
        var options = Download.Options()
        options.mayOverwrite = true
        options.claims = FileClaims()
        if isLinked { #expect(symlink("file", folder.path + "other") == 0) }
        let request = try rig.request()
        _ = try await rig.loader.download(request, to: folder.path + "file", options: options)
        let second = folder.path + (isLinked ? "other" : "./file")
        #expect(await reason(rig, request, second, options) == Download.isWritten)
        #expect(folder.text("file") == "one" && rig.transport.requests.count == 1)
        // Another caller may replace it.
        options.claims = FileClaims()
        _ = try await rig.loader.download(request, to: second, options: options)
        #expect(folder.text("file") == "two")
    }

    @Test("finding CL-2 a number is added up to 100, and nothing is overwritten when all are taken")
    func numbers() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "f"
        #expect(FilePlace.unused(path) == path)
        #expect(FilePlace.unused(path) { $0 == FilePlace(path) } == path + ".1")
        try folder.write("", to: "f")
        for number in 1...99 { try folder.write("", to: "f.\(number)") }
        #expect(FilePlace.unused(path) == path + ".100")
        #expect(symlink("nowhere", path + ".100") == 0)
        #expect(FilePlace.unused(path) == nil)
    }
}
