/// A first-in, first-out queue with removal from the middle in constant time: a removed element leaves a hole.
///
/// The array is compacted only when more than half of it lies before the head. Each operation therefore takes constant
/// time on average, and the memory stays bounded even when the queue is never empty.
package struct WaitingLine<Element: Sendable>: Sendable {
    private var elements: [Element?] = []
    private var head = 0
    /// The number of the element at index 0.
    private var firstNumber = 0
    /// The number of waiting elements.
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// The number of stored positions, holes included.
    package var places: Int { elements.count }

    /// The next element.
    package var first: Element? {
        mutating get {
            skipHoles()
            return head < elements.count ? elements[head] : nil
        }
    }

    /// Adds an element at the end, and returns the number that removes it.
    @discardableResult
    package mutating func append(_ element: Element) -> Int {
        elements.append(element)
        count += 1
        return firstNumber + elements.count - 1
    }

    /// Adds an element before all others, and returns the number that removes it.
    package mutating func prepend(_ element: Element) -> Int {
        if head == 0 {
            elements.insert(element, at: 0)
            firstNumber -= 1
        } else {
            head -= 1
            elements[head] = element
        }
        count += 1
        return firstNumber + head
    }

    package mutating func popFirst() -> Element? {
        skipHoles()
        guard head < elements.count, let element = elements[head] else { return nil }
        elements[head] = nil
        head += 1
        count -= 1
        compact()
        return element
    }

    /// Removes an element; has no effect when it was removed already.
    package mutating func remove(_ number: Int) {
        let index = number - firstNumber
        guard index >= head, index < elements.count, elements[index] != nil else { return }
        elements[index] = nil
        count -= 1
        compact()
    }

    package mutating func removeAll() {
        elements = []
        firstNumber += head
        head = 0
        count = 0
    }

    private mutating func skipHoles() {
        while head < elements.count, elements[head] == nil { head += 1 }
    }

    private mutating func compact() {
        let behind = count == 0 ? elements.count : head
        guard count == 0 || (behind > 64 && behind > elements.count / 2) else { return }
        elements.removeFirst(behind)
        firstNumber += behind
        head = 0
    }
}
