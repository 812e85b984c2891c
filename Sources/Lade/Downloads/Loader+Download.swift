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
                let response = try await answer(to: request, part: &part)
                kept = min(kept, part.length)
                try await copy(response, into: &part, options)
                return Download(path: "", length: part.length, resumedLength: kept, response: response)
            } catch {
                guard options.resumes, error.isBrokenBody, part.origin != nil, breaks < options.resumeLimit else {
                    throw error
                }
                breaks += 1
            }
        }
    }

    /// The head of an answer that goes on exactly where the part ends.
    private func answer(to request: Request, part: inout PartFile) async throws(LoadingError) -> Response {
        while true {
            let offset = part.origin == nil ? 0 : part.length
            if offset == 0 { try part.restart() }
            var response: Response
            do throws(LoadingError) {
                response = try await load(Self.ask(request, from: offset, part.origin))
            } catch .unacceptableStatus(416, _) where offset > 0 {
                // What is there is no part of what the server has now.
                try part.restart()
                continue
            }
            if offset > 0, response.status == 206 {
                guard response.rangeStart == offset else {
                    response.body.cancel()
                    try part.restart()
                    continue
                }
            } else if response.status == 206 {
                throw .unacceptableStatus(206, ErrorContext(response))
            } else {
                try part.restart()
            }
            let url = request.url.redacted()
            try part.belongs(to: response.validator.map { PartFile.Origin(url: url, validator: $0) })
            return response
        }
    }

    private static func ask(_ request: Request, from offset: Int64, _ origin: PartFile.Origin?) -> Request {
        var asked = request
        asked.delivery = .streamed
        asked.acceptableStatuses = 200..<300
        // A range of a coded body is of no use without the rest.
        asked.headers.set("Accept-Encoding", "identity")
        if !asked.headers.contains("Want-Repr-Digest") { asked.headers.add("Want-Repr-Digest", "sha-256=10") }
        if offset > 0, let origin {
            asked.headers.set("Range", "bytes=\(offset)-")
            asked.headers.set("If-Range", origin.validator)
        }
        return asked
    }

    private func copy(
        _ response: Response,
        into part: inout PartFile,
        _ options: Download.Options
    ) async throws(LoadingError) {
        let announced = response.headers["Content-Length"].flatMap { Int64($0) }
        let total = announced.map { $0 + part.length }
        var iterator = response.body.makeAsyncIterator()
        while let chunk = try await iterator.next(isolation: #isolation) {
            try part.append(chunk)
            options.progress?(part.length, total)
        }
        guard let total, part.length != total else { return }
        throw .incompleteBody(received: part.length, expected: total, ErrorContext(response))
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

extension Response {
    /// What tells this version of a file from others: a strong entity tag, or else the date of its last change.
    fileprivate var validator: String? {
        if let tag = headers["ETag"], !tag.hasPrefix("W/") { return tag }
        return headers.contains("ETag") ? nil : headers["Last-Modified"]
    }

    /// The position of the first byte of a partial answer (RFC 9110 §14.4).
    fileprivate var rangeStart: Int64? {
        guard let field = headers["Content-Range"], field.hasPrefix("bytes ") else { return nil }
        return Int64(field.dropFirst(6).prefix { $0 != "-" })
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
