#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCache
import LadeTesting
import SharedDoubles

extension Rig {
    /// A rig whose service has a cache in memory.
    static func caching(
        _ change: (inout ResponseCache.Settings) -> Void = { _ in },
        service: (inout Service.Settings) -> Void = { _ in }
    ) -> Rig {
        Rig { settings in
            var cache = ResponseCache.Settings()
            change(&cache)
            settings.cache = cache
            service(&settings)
        }
    }

    /// How many requests reached the transport.
    var sent: Int { transport.received.count }

    /// The events of the cache so far, as Swift prints them.
    var cacheStory: [String] { events.story.filter { $0.hasPrefix("cache") } }
}

extension Response {
    /// The whole body as text.
    var wholeText: String {
        get async throws(LoadingError) { String(decoding: try await body.collect(), as: UTF8.self) }
    }
}

extension Headers {
    /// `Cache-Control` with this lifetime, and others.
    static func fresh(_ seconds: Int = 60, _ others: Headers = [:]) -> Headers {
        var all: Headers = ["Cache-Control": "max-age=\(seconds)"]
        all.add(contentsOf: others)
        return all
    }
}
