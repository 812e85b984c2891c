package import LadeCore

extension Request {
    /// The request, with streamed delivery.
    package var streamed: Request {
        var copy = self
        copy.delivery = .streamed
        return copy
    }
}
