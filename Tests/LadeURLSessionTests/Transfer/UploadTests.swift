import Foundation
import LadeCore
import Testing

@testable import LadeURLSession

@Suite(.timeLimit(.minutes(5)))
struct UploadTests {
    private struct Broken: Error {}

    private func spool(
        _ body: Request.Body,
        progress: @escaping @Sendable () -> Void = {}
    ) async throws -> SpooledFile {
        try await SpooledFile.make(
            from: body,
            of: Request(.put, "http://example.com", body: body),
            progress: progress
        )
    }

    private func contents(_ file: SpooledFile) throws -> String {
        String(decoding: try Data(contentsOf: file.url), as: UTF8.self)
    }

    @Test("chunks are spooled in order, into a private file, which is removed with its last reference")
    func spools() async throws {
        var file: SpooledFile? = try await spool(
            .writer { write in
                for text in ["one ", "two ", "three"] { try await write(Data(text.utf8)) }
            }
        )
        let url = try #require(file?.url)
        #expect(try contents(#require(file)) == "one two three")
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        file = nil
        #expect(!FileManager.default.fileExists(atPath: url.path))
    }

    @Test("what a body throws is its failure, and leaves no file behind")
    func failing() async throws {
        let body = Request.Body.writer { write in
            try await write(Data([1]))
            throw Broken()
        }
        let error = await #expect(throws: LoadingError.self) { try await spool(body) }
        guard case .requestBodyFailed = error?.kind, let cause = error?.underlyingError else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause is Broken)
    }

    @Test("every chunk that is spooled counts as activity")
    func progress() async throws {
        let count = Locked(0)
        let body = Request.Body.writer { write in
            for byte in 0..<3 { try await write(Data([UInt8(byte)])) }
        }
        _ = try await spool(body) { count.withLock { $0 += 1 } }
        #expect(count.withLock { $0 } == 3)
    }

    /// The bodies of a cancelled call, by what they do.
    private static let cancelledBodies: [(String, Request.Body)] = [
        ("writes", .writer { try await $0(Data([1])) }),
        ("ignores the error of its writer", .writer { try? await $0(Data([1])) }),
        ("throws an error of its own", .writer { _ in throw Broken() }),
    ]

    @Test("cancelling ends the spooling, whatever the body does", arguments: cancelledBodies.indices)
    func cancelling(_ index: Int) async {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await spool(Self.cancelledBodies[index].1)
        }
        let error = await #expect(throws: LoadingError.self) { try await task.value }
        #expect(error?.isCancellation == true, "a body that \(Self.cancelledBodies[index].0)")
    }

    @Test("a body of another length than it said is refused")
    func wrongLength() async throws {
        let body = Request.Body.writer(length: 3) { try await $0(Data([1, 2])) }
        let error = await #expect(throws: LoadingError.self) { try await spool(body) }
        guard case .invalidRequest(.contentLength("3", actual: 2)) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("a whole file is sent from its place, a part of one through a copy")
    func files() async throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("lade-test-\(UUID().uuidString)")
        try Data("0123456789".utf8).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }

        guard case .file(url) = Upload(immediately: try .file(url.path)) else {
            Issue.record("a whole file was not sent as it lies")
            return
        }
        let part = try Request.Body.file(url.path, offset: 7)
        #expect(Upload(immediately: part) == nil)
        #expect(try await contents(spool(part)) == "789")

        // It grew after the request was made: only the announced length is sent.
        let whole = try Request.Body.file(url.path)
        try Data("0123456789abc".utf8).write(to: url)
        #expect(Upload(immediately: whole) == nil)
        #expect(try await contents(spool(whole)) == "0123456789")
    }
}
