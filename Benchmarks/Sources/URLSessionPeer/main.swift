// Foundation's URLSession as a peer of the comparison. Bodies are collected by data(for:), or counted by a delegate.
import Foundation
import Measuring

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct Refused: Error {
    var status: Int?
}

/// Counts the bytes of bodies as they come and resumes the waiters for their end.
final class Counter: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private struct Waiter {
        var bytes = 0
        var continuation: CheckedContinuation<Int, any Error>?
    }

    // Guards waiters; URLSession calls from a queue of its own.
    private let lock = NSLock()
    private var waiters: [Int: Waiter] = [:]

    func count(_ request: URLRequest, in session: URLSession) async throws -> Int {
        try await withCheckedThrowingContinuation { continuation in
            let task = session.dataTask(with: request)
            lock.withLock { waiters[task.taskIdentifier] = Waiter(continuation: continuation) }
            task.resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        lock.withLock { waiters[dataTask.taskIdentifier]?.bytes += data.count }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let waiter = lock.withLock { waiters.removeValue(forKey: task.taskIdentifier) }
        let status = (task.response as? HTTPURLResponse)?.statusCode
        if let error {
            waiter?.continuation?.resume(throwing: error)
        } else if status != 200 {
            waiter?.continuation?.resume(throwing: Refused(status: status))
        } else {
            waiter?.continuation?.resume(returning: waiter?.bytes ?? 0)
        }
    }
}

let arguments = Arguments()
guard let url = URL(string: arguments.url) else { fatalError("not a URL: \(arguments.url)") }
let configuration = URLSessionConfiguration.ephemeral
configuration.httpMaximumConnectionsPerHost = arguments.concurrency
configuration.urlCache = nil
configuration.httpCookieStorage = nil
configuration.requestCachePolicy = .reloadIgnoringLocalCacheData

if arguments.counting {
    let counter = Counter()
    let session = URLSession(configuration: configuration, delegate: counter, delegateQueue: nil)
    measure("urlsession", arguments) { _ in try await counter.count(URLRequest(url: url), in: session) }
} else {
    let session = URLSession(configuration: configuration)
    measure("urlsession", arguments) { _ in
        let (data, response) = try await session.data(for: URLRequest(url: url))
        let status = (response as? HTTPURLResponse)?.statusCode
        guard status == 200 else { throw Refused(status: status) }
        return data.count
    }
}
