#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import LadeFields

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension Loader {
    /// Downloads to a file that gets its final name only when it is complete.
    ///
    /// Until then the bytes are in a hidden file beside it. A download can end early because of an error, by
    /// cancelling, or with the process. If the server identified the version, the next download to the same path
    /// resumes it (`Range` with `If-Range`, RFC 9110 §13.1.5, §14.2). Within the call, a GET whose body is truncated is
    /// resumed as the retry policy and the retry budget of the service allow. A SHA-256 that the server announces, or
    /// that ``Download/Options/expectedDigest`` states, is checked; a file that does not match is removed. Bytes are hashed and written off the caller's actor.
    ///
    /// - Parameters:
    ///   - request: The request. One with its own `Range`, or with another method than GET, is never resumed.
    ///   - path: The path of the file.
    ///   - options: How to download.
    ///   - progress: Receives how much is there, at most ten times a second and at the end; quick, in the task of the
    ///     download.
    /// - Returns: The file.
    /// - Throws: `LoadingError.Kind.file` when the file cannot be written, exists and may not be replaced, or is being
    ///   downloaded already. A wrong digest is `LoadingError.Kind.decoding` with
    ///   ``ProcessingError/digest(field:expected:actual:)``. Other errors are those of `load(_:)`. Cancelling the task
    ///   keeps the bytes that can be resumed.
    @concurrent
    public func download(
        _ request: Request,
        to path: String,
        options: Download.Options = .init(),
        progress: (@Sendable (Download.Progress) -> Void)? = nil
    ) async throws(LoadingError) -> Download {
        let cut = path.utf8.lastIndex(of: UInt8(ascii: "/")).map(path.utf8.index(after:)) ?? path.startIndex
        let target = DownloadTarget(folder: String(path[..<cut]), name: String(path[cut...]), isNameFixed: true)
        return try await download(request, to: target, options, progress)
    }

    /// Downloads to a file that has its name only once it is complete; see ``download(_:to:options:progress:)-(_,String,_,_)``.
    ///
    /// - Throws: `LoadingError.Kind.file` for a URL that names no file; otherwise what downloading to a path throws.
    @concurrent
    public func download(
        _ request: Request,
        to file: URL,
        options: Download.Options = .init(),
        progress: (@Sendable (Download.Progress) -> Void)? = nil
    ) async throws(LoadingError) -> Download {
        try await download(request, to: file.localPath(for: .write), options: options, progress: progress)
    }

    /// Downloads into a folder, under the name that the server sends, made harmless.
    ///
    /// Without a name from the server, the file is named after the last part of the address, or `download`.
    ///
    /// - Parameters:
    ///   - request: The request.
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
        progress: (@Sendable (Download.Progress) -> Void)? = nil
    ) async throws(LoadingError) -> Download {
        let folder = folder.isEmpty || folder.hasSuffix("/") ? folder : folder + "/"
        let target = DownloadTarget(folder: folder, name: DownloadTarget.name(in: request.url), isNameFixed: false)
        return try await download(request, to: target, options, progress)
    }

    /// Downloads into a folder, to the name that the server gives, made harmless; see
    /// ``download(_:into:options:progress:)-(_,String,_,_)``.
    ///
    /// - Throws: `LoadingError.Kind.file` for a URL that names no folder here; otherwise what downloading into a path throws.
    @concurrent
    public func download(
        _ request: Request,
        into folder: URL,
        options: Download.Options = .init(),
        progress: (@Sendable (Download.Progress) -> Void)? = nil
    ) async throws(LoadingError) -> Download {
        try await download(request, into: folder.localPath(for: .write), options: options, progress: progress)
    }

    private func download(
        _ request: Request,
        to target: DownloadTarget,
        _ options: Download.Options,
        _ progress: (@Sendable (Download.Progress) -> Void)?
    ) async throws(LoadingError) -> Download {
        if target.isNameFixed { try target.checkName(target.name, options, before: request) }
        var request = request
        // A part was requested where an earlier download is resumed.
        request.acceptableStatuses = options.acceptableStatuses.union(206)
        if options.refused != nil || options.otherStatuses != .none { request.deliversEveryStatus = true }
        if options.mayOverwrite, target.isNameFixed, target.isSpecial(target.name) {
            // The folder of a device is no place for a part.
            var run = DownloadRun(request: request, address: "", target: target, options: options, part: nil)
            run.throttle = progress.map { ProgressThrottle(account.service.settings.time, $0) }
            return try await run.download(by: self)
        }
        // A link is followed first, so that the part stands beside the file that the link leads to.
        let target = try target.followingLink(options)
        var part = try PartFile(for: target.name, in: target.folder)
        defer { part.release() }
        do throws(LoadingError) {
            // Checked again: a download that held the lock until now may have created the file.
            if target.isNameFixed { try target.checkName(target.name, options, before: request) }
            let address = request.url.redacted(secretQueryNames: request.secretQueryNames)
            if !options.resumes || !request.isResumable || part.origin?.url != address { try part.restart() }
            let existing = target.folder + target.name
            if options.continuesFile, request.isResumable, part.resumePoint == nil { try part.adopt(existing) }
            var run = DownloadRun(request: request, address: address, target: target, options: options, part: part)
            run.throttle = progress.map { ProgressThrottle(account.service.settings.time, $0) }
            defer { part = run.part ?? part }
            return try await run.download(by: self)
        } catch {
            let isWrong =
                switch error.kind {
                case .decoding, .bodyTooLarge: true
                default: false
                }
            if isWrong || !options.keepsPart || part.origin == nil || part.bodyLength == 0 {
                part.remove()
            } else {
                options.kept?(part.bodyLength)
            }
            throw error
        }
    }
}

extension Loader {
    /// Takes the cost of another request from the retry budget of the service.
    ///
    /// - Throws: `LoadingError.Kind.unacceptableStatus` with the response that the request would replace, when the budget is
    ///   empty.
    fileprivate func withdraw(forRepeating request: Request, after response: Response) throws(LoadingError) {
        let service = account.service
        guard let budget = service.settings.retryBudget else { return }
        guard budget.withdraw(for: service.rateLimiter.keyRule(request)) else {
            throw LoadingError(.unacceptableStatus(response.status), LoadingError.Context(response))
        }
    }
}

/// One download: writes the body piece by piece to a part file, which gets its final name at the end.
private struct DownloadRun {
    let request: Request
    let address: String
    let target: DownloadTarget
    let options: Download.Options
    /// The file that has the bytes until they are complete; nil for a destination that is written to directly.
    var part: PartFile?
    var throttle: ProgressThrottle?
    /// The pipe or device that has the name, and how many bytes of the body it received.
    private var special: SpecialFile?
    private var specialLength: Int64 = 0
    private var name = ""
    /// Whether the part continues an existing file of the final name.
    private var continuesFile = false
    private var resumedLength: Int64 = 0
    /// Whether the file stays as it is, because a condition of the request holds.
    private var isUnchanged = false

    init(request: Request, address: String, target: DownloadTarget, options: Download.Options, part: PartFile?) {
        self.request = request
        self.address = address
        self.target = target
        self.options = options
        self.part = part
    }

    mutating func download(by loader: Loader) async throws(LoadingError) -> Download {
        var load = ResumableLoad(asked(codings: false), by: loader)
        do throws(LoadingError) {
            return try await download(&load, by: loader)
        } catch {
            throw error.counted(load.attempts)
        }
    }

    private mutating func download(
        _ load: inout ResumableLoad,
        by loader: Loader
    ) async throws(LoadingError) -> Download {
        continuesFile = options.continuesFile && target.existing(target.name) != .none
        var point = part?.resumePoint
        // A note without an address, as earlier versions wrote it, is about the address of the request. A file of unknown
        // version has no address.
        if let version = point?.version, !version.validator.isEmpty, version.address == nil {
            point?.version.address = FileVersion.address(request.url)
        }
        switch try await load.begin(at: point) {
        case .anew(let response) where response.isCoded && request.isResumable && !setsCodings:
            // The server used a coding although the request excluded it: the transport must decode it.
            response.body.cancel()
            try loader.withdraw(forRepeating: request, after: response)
            load = ResumableLoad(asked(codings: true), by: loader)
            try await begin(try await load.head(), &load, loader)
        case .anew(let response): try await begin(response, &load, loader)
        case .rest(let response), .complete(let response): try resume(response, load.length, loader)
        }
        do throws(LoadingError) {
            if !isUnchanged { try await copy(&load, loader) }
        } catch {
            if let length = load.soundLength { try part?.shorten(to: length) }
            throw error
        }
        guard !isUnchanged else {
            load.response.body.cancel()
            part?.remove()
            return unchanged(load.response)
        }
        let completed = bodyLength
        throttle?.finish(at: Download.Progress(completed: completed, total: load.length))
        let digest = try check(load.response)
        guard special == nil else {
            part?.remove()
            return download(load.response, digest)
        }
        let mayOverwrite = options.mayOverwrite || continuesFile && name == target.name
        let path = target.folder + name
        let claims = options.claims
        guard claims?.take(FilePlace(path)) ?? true else { throw DownloadTarget.written(path) }
        try part?.finish(as: path, mayOverwrite: mayOverwrite, claims)
        return download(load.response, digest)
    }

    /// The result where nothing is written.
    private func unchanged(_ response: Response) -> Download {
        var result = download(response, nil)
        var status = stat()
        // Without a file there are no bytes.
        (result.length, result.isUnchanged) = (stat(result.path, &status) == 0 ? Int64(status.st_size) : 0, true)
        return result
    }

    private func download(_ response: Response, _ digest: String?) -> Download {
        Download(
            path: target.folder + name,
            length: bodyLength,
            resumedLength: resumedLength,
            checkedDigest: digest,
            response: response
        )
    }

    /// The bytes of the body that are there.
    private var bodyLength: Int64 { special == nil ? part?.bodyLength ?? 0 : specialLength }

    private mutating func copy(_ load: inout ResumableLoad, _ loader: Loader) async throws(LoadingError) {
        while let piece = try await load.next(mayBeginAnew: special == nil || specialLength == 0) {
            switch piece {
            case .anew(let response):
                try await begin(response, &load, loader)
                if isUnchanged { return }
            case .bytes(let chunk):
                try check(bodyLength + Int64(chunk.count), announced: nil)
                if let special {
                    try await special.write(chunk, by: loader)
                    specialLength += Int64(chunk.count)
                } else {
                    try part?.append(chunk)
                }
                let progress = Download.Progress(completed: bodyLength, total: load.length)
                options.onPiece?(progress.completed, progress.total)
                throttle?.take(progress)
            }
        }
    }

    private var setsCodings: Bool { options.asksAsGiven || request.headers.contains("Accept-Encoding") }

    /// The request, without content codings where possible: the rest of a coded body could not be decoded alone.
    private func asked(codings: Bool) -> Request {
        guard !options.asksAsGiven else { return request }
        var asked = request
        if !codings, request.isResumable, !setsCodings { asked.headers.set("Accept-Encoding", "identity") }
        if !asked.headers.contains("Want-Repr-Digest") { asked.headers.add("Want-Repr-Digest", "sha-256=10") }
        return asked
    }

    /// Starts the file again with a response.
    private mutating func begin(
        _ response: Response,
        _ load: inout ResumableLoad,
        _ loader: Loader
    ) async throws(LoadingError) {
        let isOwn = request.headers.contains("Range")
        let meaning = BodyMeaning(of: response, to: isOwn ? .ownRange : .whole)
        name = target.finalName(for: response, options)
        switch FileEffect(of: response, meaning, on: target.existing(name), plan(for: response)) {
        case .written: try target.checkIsFile(name)
        case .unchanged:
            isUnchanged = true
            return
        case .taken:
            try target.checkIsFile(name)
            throw PartFile.exists(target.folder + name)
        case .notContinued:
            let misfit = load.misfit.map { ": \($0)" } ?? ""
            let reason = Download.noRest + misfit
            let fault = LoadingError.FileCause(path: target.folder + name, operation: .write, reason: reason)
            throw LoadingError(.file(fault), LoadingError.Context(response))
        case .refused:
            if let refused = options.refused, meaning != .otherUnit { refused(response, await load.message()) }
            throw LoadingError(.unacceptableStatus(response.status), LoadingError.Context(response))
        }
        try check(load.length ?? 0, announced: load.length)
        resumedLength = 0
        try part?.restart()
        let prologue = options.prologue?(response) ?? Data()
        if options.mayOverwrite, special == nil, target.isSpecial(name) {
            guard options.expectedDigest == nil else {
                let reason = "it is no regular file, so that its digest cannot be checked before it is written"
                let fault = LoadingError.FileCause(path: target.folder + name, operation: .write, reason: reason)
                throw LoadingError(.file(fault), LoadingError.Context(response))
            }
            special = try await SpecialFile(target.folder + name, for: request, by: loader)
        }
        if let special { return try await special.write(prologue, by: loader) }
        let origin = response.status == 200 ? origin(response, prologue, load.length, loader) : nil
        try part?.begin(origin, prologue)
    }

    private func plan(for response: Response) -> FileEffect.Plan {
        var plan = FileEffect.Plan()
        plan.acceptable = options.acceptableStatuses
        (plan.others, plan.othersReplace) = (options.otherStatuses, options.otherStatusesReplace)
        plan.replaces = options.mayOverwrite
        plan.continues = continuesFile && name == target.name
        plan.withholds = options.withholds?(response) ?? false
        return plan
    }

    /// The version that the part belongs to; nil when it could not be resumed.
    private func origin(
        _ response: Response,
        _ prologue: Data,
        _ length: Int64?,
        _ loader: Loader
    ) -> PartFile.Origin? {
        guard request.isResumable, !response.isCoded,
            let version = FileVersion(of: response, now: loader.account.service.settings.time.date)
        else { return nil }
        var origin = PartFile.Origin(url: address, validator: version.validator, prologueLength: Int64(prologue.count))
        (origin.length, origin.address) = (length, version.address)
        return origin
    }

    /// Continues after the bytes of the part file.
    private mutating func resume(_ response: Response, _ length: Int64?, _ loader: Loader) throws(LoadingError) {
        try takeName(response)
        try check(length ?? 0, announced: length)
        resumedLength = bodyLength
        if part?.origin == nil, let origin = origin(response, Data(), length, loader) { try part?.note(origin) }
    }

    private mutating func takeName(_ response: Response) throws(LoadingError) {
        name = target.finalName(for: response, options)
        try target.checkName(name, options)
    }

    private func check(_ length: Int64, announced: Int64?) throws(LoadingError) {
        guard let limit = options.lengthLimit, length > limit else { return }
        throw LoadingError(
            .bodyTooLarge(limit: Int(clamping: limit), announced: announced),
            LoadingError.Context(request)
        )
    }

    private func check(_ response: Response) throws(LoadingError) -> String? {
        let announced = response.fileDigest
        guard special == nil, announced != nil || options.expectedDigest != nil else { return nil }
        options.hashed?()
        guard let bytes = try part?.digest() else { return nil }
        let actual = Data(bytes)
        let wanted = options.expectedDigest.map { (field: "expectedDigest", hash: $0.bytes) }
        for digest in [wanted, announced].compactMap(\.self) where digest.hash != actual {
            let mismatch = ProcessingError.digest(field: digest.field, expected: digest.hash, actual: actual)
            throw LoadingError(.decoding, LoadingError.Context(response), underlyingError: mismatch)
        }
        return announced?.field
    }
}

/// The path of a download.
private struct DownloadTarget {
    /// The folder, with a slash at its end, or empty.
    let folder: String
    let name: String
    let isNameFixed: Bool

    /// The last part of an address, made harmless.
    static func name(in url: URL) -> String {
        let written = url.path(percentEncoded: true)
        // Escapes that are no UTF-8 stay, so that names that differ stay different.
        let path = String(validating: written.percentDecodedBytes, as: UTF8.self) ?? written
        return ContentDisposition.safeFilename(from: path) ?? "download"
    }

    func finalName(for response: Response, _ options: Download.Options) -> String {
        guard !isNameFixed else { return name }
        // A malformed field contains no name.
        let disposition = response.headers.value(.contentDisposition).flatMap { try? ContentDisposition($0) }
        let name = disposition?.safeFilename ?? Self.name(in: response.request.url)
        guard options.numbersNames, let path = FilePlace.unused(folder + name) else { return name }
        return OpenFolder.split(path).name
    }

    /// The file that has a name.
    func existing(_ name: String) -> FileEffect.Existing {
        var status = stat()
        guard lstat(folder + name, &status) == 0 else { return .none }
        return status.st_mode & S_IFMT == S_IFREG && status.st_size == 0 ? .empty : .filled
    }

    /// Whether the name belongs to a pipe, a socket or a device, which is written to and never replaced.
    func isSpecial(_ name: String) -> Bool {
        var status = stat()
        return stat(folder + name, &status) == 0 && ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
    }

    /// The file that a link leads to, if that is replaced or completed.
    func followingLink(_ options: Download.Options) throws(LoadingError) -> DownloadTarget {
        guard isNameFixed, options.mayOverwrite || options.continuesFile else { return self }
        do throws(FileDistrust) {
            let (folder, name) = OpenFolder.split(try OpenFolder.followingLinks(folder + name))
            return DownloadTarget(folder: folder, name: name, isNameFixed: true)
        } catch {
            throw error.error(folder + name, options.continuesFile ? .read : .write)
        }
    }

    /// Checks that the name is one that a file can have.
    func checkIsFile(_ name: String) throws(LoadingError) {
        var status = stat()
        let isFolder = name.isEmpty || stat(folder + name, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        guard !isFolder else {
            let reason = name.isEmpty ? "it names no file" : "it is no regular file"
            let fault = LoadingError.FileCause(path: folder + name, operation: .write, reason: reason)
            throw LoadingError(.file(fault))
        }
        // Otherwise only renaming the complete part would show it.
        guard lstat(folder + name, &status) == 0 || errno != ENAMETOOLONG else {
            let fault = LoadingError.FileCause(
                path: folder + name,
                operation: .write,
                reason: String(cString: strerror(errno))
            )
            throw LoadingError(.file(fault))
        }
    }

    /// Checks that the file may have the name.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - options: Whether an existing file is replaced or continued.
    ///   - request: The request, before it is sent; nil for the name of a response. A request with a condition may leave the
    ///     file as it is, so the response decides.
    /// - Throws: `LoadingError.Kind.file` when it may not.
    func checkName(
        _ name: String,
        _ options: Download.Options,
        before request: Request? = nil
    ) throws(LoadingError) {
        try checkIsFile(name)
        guard existing(name) != .none else { return }
        if let claims = options.claims, claims.hasWritten(folder + name) { throw Self.written(folder + name) }
        let isConditional = request.map(options.leavesTheFile) ?? false
        guard !options.mayOverwrite, !isConditional, !(options.continuesFile && name == self.name) else { return }
        throw PartFile.exists(folder + name)
    }

    /// The error for a file that another download of the same caller has written.
    static func written(_ path: String) -> LoadingError {
        LoadingError(
            .file(LoadingError.FileCause(path: path, operation: .write, reason: Download.isWritten))
        )
    }
}

extension Download.Options {
    /// Whether the response to a request may leave the file as it is.
    fileprivate func leavesTheFile(_ request: Request) -> Bool {
        withholds != nil
            || acceptableStatuses.contains(304)
                && (request.headers.contains("If-None-Match") || request.headers.contains("If-Modified-Since"))
    }
}

extension Request {
    /// Whether the rest of its response can be requested.
    fileprivate var isResumable: Bool { method == .get && !hasBody && !headers.contains("Range") }
}

extension Response {
    /// Whether its body has a content coding that was not decoded.
    fileprivate var isCoded: Bool { headers.contains("Content-Encoding") }
}
