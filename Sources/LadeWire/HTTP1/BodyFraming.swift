import LadeCore
import LadeExchange

/// How the end of a response's body is found (RFC 9112 §6.3).
enum BodyFraming: Equatable {
    /// There is no body, whatever the fields say.
    case none
    case length(Int64)
    case chunked
    /// The body ends with the connection.
    case untilClose

    init(_ head: HeadVetting.Head, isToHead: Bool) {
        if isToHead || head.status == 204 || head.status == 304 {
            self = .none
        } else if head.isChunked {
            self = .chunked
        } else if let length = head.contentLength {
            self = length == 0 ? .none : .length(length)
        } else {
            self = .untilClose
        }
    }
}

/// How the end of a request's body is marked (RFC 9112 §6.1, RFC 9110 §8.6).
enum RequestFraming: Equatable {
    /// No body, and no field about it.
    case none
    /// The field is sent, with 0 too.
    case length(Int64)
    case chunked

    init(_ request: Request) {
        guard let body = request.body else {
            // A method that normally has content says that there is none.
            self = request.method == .post || request.method == .put || request.method == .patch ? .length(0) : .none
            return
        }
        guard body.trailers == nil, let length = body.length else {
            self = .chunked
            return
        }
        self = length == 0 && request.method == .get ? .none : .length(length)
    }
}
