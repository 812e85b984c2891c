package import Lade
package import LadeCore
package import LadeTesting

extension Service.Settings {
    /// In virtual time that does not advance, so that no deadline passes on a busy machine, and without retries, which
    /// would wait and have tests of their own.
    package static var still: Service.Settings { still(in: VirtualTime()) }

    /// In a given time, and without retries.
    package static func still(in time: VirtualTime) -> Service.Settings {
        var settings = Service.Settings()
        settings.time = time
        settings.retries.limit = 0
        return settings
    }
}

extension Transport {
    /// A loader of this transport for a signed-out account.
    package func makeLoader(_ settings: Service.Settings = .still) -> Loader {
        Service(settings, transport: self).anonymous.makeLoader()
    }
}
