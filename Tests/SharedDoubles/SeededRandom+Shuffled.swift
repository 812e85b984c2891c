import LadeCore

extension SeededRandom {
    /// The elements in another order.
    package func shuffled<Element>(_ elements: [Element]) -> [Element] {
        var result = elements
        for index in result.indices.reversed() { result.swapAt(index, next(below: index + 1)) }
        return result
    }
}
