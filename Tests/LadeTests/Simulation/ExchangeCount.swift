#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadePolicies
import Synchronization

/// How many exchanges each service has in flight, and the maximum.
struct ExchangeCount {
    private var now: [ServiceKey: Int] = [:]
    private var most: [ServiceKey: Int] = [:]

    /// Counts an exchange that begins, and returns the number with it.
    mutating func enter(_ key: ServiceKey) -> Int {
        let count = now[key, default: 0] + 1
        now[key] = count
        most[key] = max(most[key] ?? 0, count)
        return count
    }

    /// Counts the end of an exchange.
    mutating func leave(_ key: ServiceKey) {
        now[key, default: 0] -= 1
    }

    /// The most exchanges that a service had at the same time.
    func most(of key: ServiceKey) -> Int { most[key] ?? 0 }
}

/// The entry of one exchange in the count, removed once.
final class ExchangePlace: Sendable {
    private let hasLeft = Atomic(false)
    private let onLeave: @Sendable () -> Void

    init(onLeave: @escaping @Sendable () -> Void) { self.onLeave = onLeave }

    func leave() {
        if !hasLeft.exchange(true, ordering: .acquiringAndReleasing) { onLeave() }
    }
}

/// A streamed body whose exchange counts until it ends, fails or is cancelled.
final class CountedBody: Response.Body.Source {
    private let source: any Response.Body.Source
    private let place: ExchangePlace

    init(_ source: any Response.Body.Source, _ place: ExchangePlace) {
        self.source = source
        self.place = place
    }

    func next() async throws(LoadingError) -> Data? {
        do throws(LoadingError) {
            let chunk = try await source.next()
            if chunk == nil { place.leave() }
            return chunk
        } catch {
            place.leave()
            throw error
        }
    }

    func cancel() {
        source.cancel()
        place.leave()
    }

    var trailers: Headers { source.trailers }
    var metrics: Response.Metrics { source.metrics }
}
