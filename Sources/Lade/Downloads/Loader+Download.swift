#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension Loader {
    /// Downloads to a file that has its name only once it is complete.
    ///
    /// Until then the bytes are in a hidden file beside it. When the download ends early, whether by an error, by cancelling
    /// or with the process, and the server named a version, the next one to the same place resumes where it ended (`Range`
    /// with `If-Range`, RFC 9110 §13.1.5, §14.2). Within the call a GET whose body is truncated is resumed as the retry
    /// policy and the retry budget of the service allow. A SHA-256 that the server names is checked; a file that does not
    /// match is removed. Bytes are hashed and written off the caller's actor.
    ///
    /// - Parameters:
    ///   - request: What to ask for. A request with a `Range` of its own, and one that is no GET, is never resumed.
    ///   - path: Where the file goes.
    ///   - options: How to download.
    ///   - progress: Receives how much is there, at most ten times a second and at the end; quick, in the task of the
    ///     download.
    /// - Returns: The file.
    /// - Throws: `LoadingError.file` when it cannot be written, exists and may not be replaced, or is being downloaded
    ///   already; `LoadingError.decoding` with ``DigestMismatch``; otherwise the same as `load(_:)`. Cancelling the task
    ///   keeps what can be resumed.
    @concurrent
    public func download(
        _ request: Request,
        to path: String,
        options: Download.Options = .init(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(LoadingError) -> Download {
        let cut = path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex
        let target = DownloadTarget(folder: String(path[..<cut]), name: String(path[cut...]), isNameFixed: true)
        return try await download(request, to: target, options, progress)
    }

    /// Downloads to a file that has its name only once it is complete; see ``download(_:to:options:progress:)-(_,String,_,_)``.
    ///
    /// - Throws: `LoadingError.file` for a URL that names no file; otherwise what downloading to a path throws.
    @concurrent
    public func download(
        _ request: Request,
        to file: URL,
        options: Download.Options = .init(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(LoadingError) -> Download {
        try await download(request, to: file.localPath(for: .write), options: options, progress: progress)
    }

    /// Downloads into a folder, to the name that the server gives, made harmless.
    ///
    /// Without a name of the server's the last part of the address is the name, and `download` without one.
    ///
    /// - Parameters:
    ///   - request: What to ask for.
    ///   - folder: An existing folder.
    ///   - options: How to download.
    ///   - progress: Receives how much is there, at most ten times a second and at the end; quick, in the task of the
    ///     download.
    /// - Returns: The file.
    /// - Throws: The same as ``download(_:to:options:progress:)-(_,String,_,_)``; that a file of the server's name exists is known before its body
    ///   is read.
    @concurrent
    public func download(
        _ request: Request,
        into folder: String,
        options: Download.Options = .init(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(LoadingError) -> Download {
        let folder = folder.isEmpty || folder.hasSuffix("/") ? folder : folder + "/"
        let target = DownloadTarget(folder: folder, name: DownloadTarget.name(in: request.url), isNameFixed: false)
        return try await download(request, to: target, options, progress)
    }

    /// Downloads into a folder, to the name that the server gives, made harmless; see
    /// ``download(_:into:options:progress:)-(_,String,_,_)``.
    ///
    /// - Throws: `LoadingError.file` for a URL that names no folder here; otherwise what downloading into a path throws.
    @concurrent
    public func download(
        _ request: Request,
        into folder: URL,
        options: Download.Options = .init(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(LoadingError) -> Download {
        try await download(request, into: folder.localPath(for: .write), options: options, progress: progress)
    }

    private func download(
        _ request: Request,
        to target: DownloadTarget,
        _ options: Download.Options,
        _ progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(LoadingError) -> Download {
        if target.isNameFixed { try target.checkName(target.name, options) }
        var part = try PartFile(for: target.name, in: target.folder)
        defer { part.release() }
        do throws(LoadingError) {
            // Once more: a download that held the lock until now may have made the file.
            if target.isNameFixed { try target.checkName(target.name, options) }
            let address = request.url.redacted(secretQueryNames: request.secretQueryNames)
            if !options.resumes || !request.isResumable || part.origin?.url != address { try part.restart() }
            let existing = target.folder + target.name
            if options.continuesFile, request.isResumable, part.resumePoint == nil { try part.adopt(existing) }
            var run = DownloadRun(request: request, address: address, target: target, options: options, part: part)
            run.throttle = progress.map { ProgressThrottle(account.service.settings.time, $0) }
            defer { part = run.part }
            return try await run.download(by: self)
        } catch {
            let isWrong =
                switch error {
                case .decoding, .bodyTooLarge: true
                default: false
                }
            if isWrong || part.origin == nil || part.length == 0 {
                part.remove()
            } else {
                options.kept?(part.bodyLength)
            }
            throw error
        }
    }
}

/// One download: reads the body piece by piece into a part, which gets its name at the end.
private struct DownloadRun {
    let request: Request
    let address: String
    let target: DownloadTarget
    let options: Download.Options
    var part: PartFile
    var throttle: ProgressThrottle?
    private var name = ""
    /// Whether a file has the final name whose beginning the part has.
    private var continuesFile = false
    private var mayReplace = false
    private var resumedLength: Int64 = 0

    init(request: Request, address: String, target: DownloadTarget, options: Download.Options, part: PartFile) {
        self.request = request
        self.address = address
        self.target = target
        self.options = options
        self.part = part
    }

    mutating func download(by loader: Loader) async throws(LoadingError) -> Download {
        var load = ResumableLoad(asked(codings: false), by: loader)
        var status = stat()
        let exists = lstat(target.folder + target.name, &status) == 0
        // An empty file is the beginning of anything.
        continuesFile = options.continuesFile && exists && status.st_size > 0
        mayReplace = options.mayOverwrite || options.continuesFile && exists && status.st_size == 0
        switch try await load.begin(at: part.resumePoint) {
        case .anew(let response) where response.isCoded && request.isResumable && !setsCodings:
            // The server sends a coding that it was asked not to send: the transport is to decode it.
            response.body.cancel()
            load = ResumableLoad(asked(codings: true), by: loader)
            try await begin(try await load.head(), &load, loader)
        case .anew(let response): try await begin(response, &load, loader)
        case .rest(let response), .complete(let response): try resume(response, load.length, loader)
        }
        while let piece = try await load.next(mayBeginAnew: true) {
            switch piece {
            case .anew(let response): try await begin(response, &load, loader)
            case .bytes(let chunk):
                try check(part.bodyLength + Int64(chunk.count), announced: nil)
                try part.append(chunk)
                options.onPiece?(part.bodyLength, load.length)
                throttle?.take(TransferProgress(completed: part.bodyLength, total: load.length))
            }
        }
        throttle?.finish()
        let digest = try check(load.response)
        try part.finish(
            as: target.folder + name,
            mayOverwrite: options.mayOverwrite || name == target.name && (continuesFile || mayReplace)
        )
        return Download(
            path: target.folder + name,
            length: part.bodyLength,
            resumedLength: resumedLength,
            checkedDigest: digest,
            response: load.response
        )
    }

    private var setsCodings: Bool { request.headers.contains("Accept-Encoding") }

    /// What is asked for: undecoded unless that is of no use, for the rest of a coded body is of no use without the rest.
    private func asked(codings: Bool) -> Request {
        var asked = request
        if !codings, request.isResumable, !setsCodings { asked.headers.set("Accept-Encoding", "identity") }
        if !asked.headers.contains("Want-Repr-Digest") { asked.headers.add("Want-Repr-Digest", "sha-256=10") }
        return asked
    }

    /// Begins the file anew with an answer.
    private mutating func begin(
        _ response: Response,
        _ load: inout ResumableLoad,
        _ loader: Loader
    ) async throws(LoadingError) {
        // A part that was not asked for is no file.
        let isPart = response.status == 206 && !request.headers.contains("Range")
        guard options.acceptableStatuses?.contains(response.status) ?? true, !isPart else {
            if let refused = options.refused { refused(response, await load.message()) }
            throw .unacceptableStatus(response.status, ErrorContext(response))
        }
        try takeName(response)
        if continuesFile, !mayReplace {
            let reason = "the server does not send the rest of what is there"
            let fault = FileFault(path: target.folder + name, operation: .write, reason: reason)
            throw .file(fault, ErrorContext(response))
        }
        try check(load.length ?? 0, announced: load.length)
        resumedLength = 0
        try part.restart()
        let prologue = options.prologue?(response) ?? Data()
        try part.begin(response.status == 200 ? origin(response, prologue, loader) : nil, prologue)
    }

    /// What the part belongs to; nil when it could not be resumed.
    private func origin(_ response: Response, _ prologue: Data, _ loader: Loader) -> PartFile.Origin? {
        guard request.isResumable, !response.isCoded,
            let validator = response.strongValidator(now: loader.account.service.settings.time.date)
        else { return nil }
        return PartFile.Origin(url: address, validator: validator, prologueLength: Int64(prologue.count))
    }

    /// Goes on with what the part has.
    private mutating func resume(_ response: Response, _ length: Int64?, _ loader: Loader) throws(LoadingError) {
        try takeName(response)
        try check(length ?? 0, announced: length)
        resumedLength = part.bodyLength
        if part.origin == nil, let origin = origin(response, Data(), loader) { try part.note(origin) }
    }

    private mutating func takeName(_ response: Response) throws(LoadingError) {
        name = target.finalName(for: response)
        try target.checkName(name, options)
    }

    private func check(_ length: Int64, announced: Int64?) throws(LoadingError) {
        guard let limit = options.lengthLimit, length > limit else { return }
        throw .bodyTooLarge(limit: Int(clamping: limit), announced: announced, ErrorContext(request))
    }

    private func check(_ response: Response) throws(LoadingError) -> String? {
        guard let digest = response.fileDigest else { return nil }
        let hash = part.hash
        let actual = Data(hash.finish())
        guard digest.hash == actual else {
            let mismatch = DigestMismatch(field: digest.field, expected: digest.hash, actual: actual)
            throw .decoding(mismatch, ErrorContext(response))
        }
        return digest.field
    }
}

/// Where a download goes.
private struct DownloadTarget {
    /// The folder, with a slash at its end, or empty.
    let folder: String
    let name: String
    let isNameFixed: Bool

    /// The name that an address ends with, made harmless.
    static func name(in url: URL) -> String {
        let path = String(decoding: url.path(percentEncoded: true).percentDecodedBytes, as: UTF8.self)
        return ContentDisposition.safeFilename(from: path) ?? "download"
    }

    func finalName(for response: Response) -> String {
        guard !isNameFixed else { return name }
        // A field that cannot be read names nothing.
        let disposition = response.headers["Content-Disposition"].flatMap { try? ContentDisposition($0) }
        return disposition?.safeFilename ?? Self.name(in: response.request.url)
    }

    func checkName(_ name: String, _ options: Download.Options) throws(LoadingError) {
        var status = stat()
        guard !options.mayOverwrite, !(options.continuesFile && name == self.name), lstat(folder + name, &status) == 0
        else { return }
        throw PartFile.exists(folder + name)
    }
}

extension Request {
    /// Whether the rest of its answer can be asked for.
    fileprivate var isResumable: Bool { method == .get && !hasBody && !headers.contains("Range") }
}

extension Response {
    /// Whether its body is in a coding that was not taken off.
    fileprivate var isCoded: Bool { headers.contains("Content-Encoding") }
}
