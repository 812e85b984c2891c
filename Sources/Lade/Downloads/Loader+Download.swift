#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
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
    /// Until then the bytes are in a hidden file beside it. When the download ends early and the server named a version,
    /// the next one to the same place goes on where it ended (`Range` with `If-Range`, RFC 9110 §13.1.5, §14.2). A SHA-256
    /// that the server names is checked; a file that does not match is removed.
    ///
    /// - Parameters:
    ///   - request: What to ask for; GET without a `Range` of its own.
    ///   - path: Where the file goes.
    ///   - options: How to download.
    /// - Returns: The file.
    /// - Throws: `LoadingError.file` when it cannot be written, or exists and may not be replaced;
    ///   `LoadingError.decoding` with ``DigestMismatch``; otherwise the same as `load(_:)`. Cancelling the task keeps
    ///   what can be gone on with.
    public func download(
        _ request: Request,
        to path: String,
        options: Download.Options = .init()
    ) async throws(LoadingError) -> Download {
        let cut = path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex
        let target = DownloadTarget(folder: String(path[..<cut]), name: String(path[cut...]), isNameFixed: true)
        return try await download(request, to: target, options)
    }

    /// Downloads into a folder, to the name that the server gives, made harmless.
    ///
    /// Without a name of the server's the last part of the address is the name, and `download` without one.
    ///
    /// - Parameters:
    ///   - request: What to ask for.
    ///   - folder: An existing folder.
    ///   - options: How to download.
    /// - Returns: The file.
    /// - Throws: The same as ``download(_:to:options:)``.
    public func download(
        _ request: Request,
        into folder: String,
        options: Download.Options = .init()
    ) async throws(LoadingError) -> Download {
        let name = ContentDisposition.safeFilename(from: request.url.lastPathComponent) ?? "download"
        let folder = folder.isEmpty || folder.hasSuffix("/") ? folder : folder + "/"
        return try await download(request, to: DownloadTarget(folder: folder, name: name, isNameFixed: false), options)
    }

    private func download(
        _ request: Request,
        to target: DownloadTarget,
        _ options: Download.Options
    ) async throws(LoadingError) -> Download {
        if target.isNameFixed { try target.checkName(target.name, options) }
        var part = try PartFile(for: target.name, in: target.folder)
        defer { part.release() }
        if !options.resumes || part.origin?.url != request.url.redacted() { try part.restart() }
        let resumedLength = part.length
        do throws(LoadingError) {
            var download = try await fetch(request, into: &part, options)
            download.resumedLength = min(download.resumedLength, resumedLength)
            try check(part, &download)
            let name = target.finalName(for: download.response)
            try target.checkName(name, options)
            try part.finish(as: target.folder + name, mayOverwrite: options.mayOverwrite)
            download.path = target.folder + name
            return download
        } catch {
            let isWrong = if case .decoding = error { true } else { false }
            if isWrong || part.origin == nil || part.length == 0 { part.remove() }
            throw error
        }
    }

    /// Asks until all bytes are there, or nothing can be gone on with.
    private func fetch(
        _ request: Request,
        into part: inout PartFile,
        _ options: Download.Options
    ) async throws(LoadingError) -> Download {
        var breaks = 0
        var kept = part.length
        while true {
            do throws(LoadingError) {
                let (response, end) = try await answer(to: request, part: &part)
                kept = min(kept, part.length)
                try await copy(response, into: &part, end: end, options)
                return Download(path: "", length: part.length, resumedLength: kept, response: response)
            } catch {
                guard options.resumes, error.isBrokenBody, part.origin != nil, breaks < options.resumeLimit else {
                    throw error
                }
                breaks += 1
            }
        }
    }

    /// The head of an answer that goes on exactly where the part ends, and where its body ends, when that is known.
    private func answer(
        to request: Request,
        part: inout PartFile
    ) async throws(LoadingError) -> (Response, end: BodyEnd) {
        while true {
            let point = part.length > 0 ? part.origin.map { $0.point(at: part.length) } : nil
            if point == nil { try part.restart() }
            let response: Response
            do throws(LoadingError) {
                response = try await load(Self.ask(request, from: point))
            } catch .unacceptableStatus(416, _) where point != nil {
                // What is there is no part of what the server has now.
                try part.restart()
                continue
            }
            switch point?.continuation(by: response) ?? .whole {
            case .rest(let range): return (response, BodyEnd(answer: range.last + 1, whole: range.whole))
            case .whole:
                guard response.status != 206 else { throw .unacceptableStatus(206, ErrorContext(response)) }
                try part.restart()
                let url = request.url.redacted()
                let validator = response.strongValidator(now: account.service.settings.time.date)
                try part.belongs(to: validator.map { PartFile.Origin(url: url, validator: $0) })
                let length = response.headers["Content-Length"].flatMap { Int64($0) }
                return (response, BodyEnd(answer: length, whole: length))
            case .misfit, .refused:
                response.body.cancel()
                try part.restart()
            }
        }
    }

    private static func ask(_ request: Request, from point: ResumePoint?) -> Request {
        var asked = request
        asked.delivery = .streamed
        asked.acceptableStatuses = 200..<300
        // A range of a coded body is of no use without the rest.
        asked.headers.set("Accept-Encoding", "identity")
        if !asked.headers.contains("Want-Repr-Digest") { asked.headers.add("Want-Repr-Digest", "sha-256=10") }
        return point?.asking(asked) ?? asked
    }

    private func copy(
        _ response: Response,
        into part: inout PartFile,
        end: BodyEnd,
        _ options: Download.Options
    ) async throws(LoadingError) {
        var iterator = response.body.makeAsyncIterator()
        while let chunk = try await iterator.next(isolation: #isolation) {
            if let limit = end.answer, part.length + Int64(chunk.count) > limit {
                response.body.cancel()
                throw .malformedResponse(MalformedResponse(.contentLength), ErrorContext(response))
            }
            try part.append(chunk)
            options.progress?(part.length, end.whole)
        }
        guard let whole = end.whole, part.length != whole else { return }
        throw .incompleteBody(received: part.length, expected: whole, ErrorContext(response))
    }

    private func check(_ part: PartFile, _ download: inout Download) throws(LoadingError) {
        guard let digest = download.response.fileDigest else { return }
        let actual = Data(part.hash.finish())
        guard digest.hash == actual else {
            let mismatch = DigestMismatch(field: digest.field, expected: digest.hash, actual: actual)
            throw .decoding(mismatch, ErrorContext(download.response))
        }
        download.checkedDigest = digest.field
    }
}

/// Where a download goes.
private struct DownloadTarget {
    /// The folder, with a slash at its end, or empty.
    let folder: String
    let name: String
    let isNameFixed: Bool

    func finalName(for response: Response) -> String {
        guard !isNameFixed, let field = response.headers["Content-Disposition"] else { return name }
        // A field that cannot be read names nothing.
        return (try? ContentDisposition(field))?.safeFilename ?? name
    }

    func checkName(_ name: String, _ options: Download.Options) throws(LoadingError) {
        guard !options.mayOverwrite, access(folder + name, F_OK) == 0 else { return }
        throw .file(FileFault(path: folder + name, operation: .write, reason: "it exists already"), ErrorContext())
    }
}

/// Where a body ends, counted from the first byte of the file; nil where it is not known.
private struct BodyEnd {
    /// The end of what the answer brings.
    var answer: Int64?
    /// The end of the file.
    var whole: Int64?
}

extension PartFile.Origin {
    /// The place that a part of this length can be gone on from.
    fileprivate func point(at length: Int64) -> ResumePoint {
        ResumePoint(validator: validator, offset: length)
    }
}

extension LoadingError {
    /// Whether the head had arrived and its body then broke, so that the rest can be asked for.
    fileprivate var isBrokenBody: Bool {
        switch self {
        case .incompleteBody, .connectionLost(.body, _, _), .timedOut(.idle, _): true
        default: false
        }
    }
}
