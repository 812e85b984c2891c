import Foundation
import LadeCore

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension Response.Metrics {
    /// Copies the platform's measurements of the last transaction of a task.
    ///
    /// FoundationNetworking collects no measurements and never calls this.
    mutating func fill(from measured: URLSessionTaskMetrics) {
        guard let last = measured.transactionMetrics.last, let start = last.fetchStartDate else { return }
        func stage(_ date: Date?) -> Duration? {
            date.map { .seconds(saturating: max($0.timeIntervalSince(start), 0)) }
        }
        nameLookup = stage(last.domainLookupEndDate)
        connect = stage(last.secureConnectionStartDate ?? last.connectEndDate)
        secureConnect = stage(last.secureConnectionEndDate)
        requestStarted = stage(last.requestStartDate)
        requestSent = stage(last.requestEndDate)
        firstByte = stage(last.responseStartDate) ?? firstByte
        requestHeadBytes = last.countOfRequestHeaderBytesSent
        requestBodyBytes = last.countOfRequestBodyBytesSent
        responseHeadBytes = last.countOfResponseHeaderBytesReceived
        responseBodyBytes = last.countOfResponseBodyBytesReceived
        decodedBodyBytes = max(last.countOfResponseBodyBytesAfterDecoding, decodedBodyBytes)
        version = last.networkProtocolName.flatMap(Response.Version.init(alpn:))
        isReusedConnection = last.isReusedConnection
        remoteAddress = last.remoteAddress
        remotePort = last.remotePort.flatMap { Int("\($0)") }
    }
}

extension Response.Version {
    /// The version for a protocol name of ALPN (RFC 7301 §6).
    init?(alpn name: String) {
        switch name.lowercased() {
        case "http/1.0": self = .http1_0
        case "http/1.1": self = .http1_1
        case "h2", "h2c": self = .http2
        case "h3": self = .http3
        default: return nil
        }
    }
}
