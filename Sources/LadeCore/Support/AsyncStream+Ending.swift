// The standard library's streams deliver their buffered elements also in a cancelled task. A stream from a closure ends
// immediately.

extension AsyncStream where Element: Sendable {
    /// The stream, which ends with the task of its reader, also where elements are buffered.
    package var endingWithTask: AsyncStream<Element> {
        AsyncStream {
            // The iterators of a stream share its buffer.
            var iterator = self.makeAsyncIterator()
            return await iterator.next()
        }
    }
}
