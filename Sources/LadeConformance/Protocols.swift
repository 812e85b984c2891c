import LadeCore
import LadeTesting

// Connections, HTTP/2, proxies, addresses.
extension TransportConformance {
    static var protocols: [ConformanceCase] {
        [http2, http2Failures, idleClose, proxies, unixSocket, destination, ipv6, localAddresses]
    }
}
