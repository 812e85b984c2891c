import COpenSSL
import Foundation
import LadeCore
import Testing

@testable import LadeWire

@Suite("The store of authorities", .timeLimit(.minutes(5)))
struct TrustStoreTests {
    /// A folder that is removed with this object.
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appending(path: "lade-\(UUID().uuidString)")

        init() throws { try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: path) }

        func write(_ bytes: Data, _ name: String) throws -> String {
            let file = path.appending(path: name)
            // A new file each time, as programs that replace a bundle do it.
            try bytes.write(to: file, options: .atomic)
            return file.path
        }
    }

    private func sources(_ settings: (inout TransportSettings.TLS) -> Void) -> TrustStore.Sources {
        var tls = TransportSettings.TLS()
        tls.trustsSystemAuthorities = false
        settings(&tls)
        return TrustStore.Sources(tls)
    }

    private func trusts(_ store: TrustStore.Parsed?, _ identity: Identity) -> Bool {
        guard let store else { return false }
        let context = X509_STORE_CTX_new()
        defer { X509_STORE_CTX_free(context) }
        X509_STORE_CTX_init(context, store.raw, identity.certificate, nil)
        return X509_verify_cert(context) == 1
    }

    @Test("wire WR-33 reads a changed file again after a minute, and keeps the old store when it cannot be read")
    func changes() throws {
        let folder = try Folder()
        let (old, new) = (try Identity("Old", isAuthority: true), try Identity("New", isAuthority: true))
        let file = try folder.write(old.pem, "ca.pem")
        let jobs = Jobs()
        let store = try TrustStore(sources { $0.authorities = [.file(file)] }, now: 0) { jobs.add($0) }
        let minute = TrustStore.patience
        let first = store.current(at: minute - 1)
        #expect(jobs.count == 0)
        #expect(trusts(first, old))

        _ = try folder.write(new.pem, "ca.pem")
        #expect(store.current(at: minute) === first)
        // While one check waits, no other begins.
        #expect(store.current(at: minute * 2) === first)
        #expect(jobs.count == 1)
        jobs.run()
        let second = store.current(at: minute + 1)
        #expect(trusts(second, new))
        #expect(!trusts(second, old))
        // The open connections have the old one.
        #expect(trusts(first, old))
        #expect(jobs.count == 0)

        _ = try folder.write(Data("nothing".utf8), "ca.pem")
        _ = store.current(at: minute * 3)
        jobs.run()
        #expect(store.current(at: minute * 3 + 1) === second)
        try FileManager.default.removeItem(atPath: file)
        _ = store.current(at: minute * 5)
        jobs.run()
        #expect(store.current(at: minute * 5 + 1) === second)
        _ = try folder.write(old.pem, "ca.pem")
        _ = store.current(at: minute * 7)
        jobs.run()
        #expect(trusts(store.current(at: minute * 7 + 1), old))

        let third = store.current(at: minute * 7 + 2)
        _ = store.current(at: minute * 9)
        jobs.run()
        #expect(store.current(at: minute * 9 + 1) === third)
    }

    @Test("wire WR-33 the transports of a process share the store of the same sources")
    func shared() throws {
        let one = try Identity("One", isAuthority: true).pem
        let two = try Identity("Two", isAuthority: true).pem
        let first = try TrustStore.shared(sources { $0.authorities = [.pem(one)] }, now: 0)
        #expect(try TrustStore.shared(sources { $0.authorities = [.pem(one)] }, now: 0) === first)
        #expect(try TrustStore.shared(sources { $0.authorities = [.pem(two)] }, now: 0) !== first)
        #expect(try TrustStore.shared(sources { $0.authorities = [.pem(one), .pem(two)] }, now: 0) !== first)
    }

    @Test("the system's authorities are read when they are needed first")
    func lazy() throws {
        let folder = try Folder()
        let authority = try Identity("System", isAuthority: true)
        var system = sources { _ in }
        system.system = try folder.write(authority.pem, "system.pem")
        let store = try TrustStore(system, now: 0)
        #expect(store.current(at: 1) == nil)
        store.load()
        let loaded = store.current(at: 1)
        #expect(trusts(loaded, authority))
        store.load()
        #expect(store.current(at: 1) === loaded)
        // A system without authorities trusts none, and that is no error.
        system.system = "/nonexistent/bundle.pem"
        let empty = try TrustStore(system, now: 0)
        empty.load()
        #expect(empty.current(at: 1) != nil)
        #expect(!trusts(empty.current(at: 1), authority))
    }
}

/// Work that a test runs when it wants.
private final class Jobs: Sendable {
    private let waiting = Locked<[@Sendable () -> Void]>([])

    var count: Int { waiting.withLock { $0.count } }

    func add(_ job: @escaping @Sendable () -> Void) { waiting.withLock { $0.append(job) } }

    func run() {
        let jobs = waiting.withLock { jobs in
            defer { jobs = [] }
            return jobs
        }
        for job in jobs { job() }
    }
}
