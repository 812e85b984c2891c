import LadeCore
import Synchronization

/// Whether a body that can be sent only once was read: then its request must not be sent again.
final class TouchMark: Sendable {
    private let flag = Atomic(false)
    var isTouched: Bool { flag.load(ordering: .acquiring) }
    func touch() { flag.store(true, ordering: .releasing) }
}

private enum TouchTag: Request.Tag {
    static let defaultValue: TouchMark? = nil
}

extension Request {
    /// Begins to watch whether the body is read.
    ///
    /// - Returns: The mark of a body that can be sent only once; the known mark where the body is watched already. Nil for
    ///   every other body.
    mutating func watchBody() -> TouchMark? {
        guard hasBody, let body, !body.isReplayable, case .stream(let write) = body.content else { return nil }
        if let mark = self[TouchTag.self] { return mark }
        let mark = TouchMark()
        var watched = Request.Body.writer(length: body.length, contentType: body.contentType) { writer in
            mark.touch()
            try await write(writer)
        }
        watched.trailers = body.trailers
        self.body = watched
        self[TouchTag.self] = mark
        return mark
    }
}
