import LadeCore

extension SeededRandom {
    /// A number in `0 ..< limit`.
    package func next(below limit: Int) -> Int { Int(next() % UInt64(limit)) }
}
