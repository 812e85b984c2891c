/// The position of an item in a list with sections.
public struct ListIndex: Sendable, Hashable, Comparable {
    /// The section, from 0.
    public var section: Int
    /// The item within its section, from 0.
    public var item: Int

    /// Makes an index.
    public init(item: Int, section: Int = 0) {
        self.section = section
        self.item = item
    }

    /// The order of a table: sections first.
    public static func < (lhs: ListIndex, rhs: ListIndex) -> Bool {
        (lhs.section, lhs.item) < (rhs.section, rhs.item)
    }
}

/// Content that is a list, in one section or several.
///
/// Look-ups never trap: an index out of range returns nil, and a section out of range has no items. Source:
/// TDCContentLoading, `ListLoading`.
public protocol ListContent<Item> {
    /// The type of the items.
    associatedtype Item

    /// How many sections there are.
    var sectionCount: Int { get }
    /// How many items a section has; 0 for a section that does not exist.
    func itemCount(inSection section: Int) -> Int
    /// The item at an index; nil where there is none.
    func item(at index: ListIndex) -> Item?
}

extension ListContent {
    /// The number of items in all sections.
    public var totalItemCount: Int {
        (0..<max(0, sectionCount)).reduce(0) { $0 + itemCount(inSection: $1) }
    }
}

extension Array: ListContent {
    /// One: an array is a single section.
    public var sectionCount: Int { 1 }

    /// The number of elements for section 0, and 0 for every other.
    public func itemCount(inSection section: Int) -> Int { section == 0 ? count : 0 }

    /// The element; nil out of range.
    public func item(at index: ListIndex) -> Element? {
        index.section == 0 && indices.contains(index.item) ? self[index.item] : nil
    }
}

/// A list in sections.
public struct SectionedContent<Item: Sendable>: ListContent, Sendable {
    /// The sections with their items.
    public var sections: [[Item]]

    /// Makes a list of sections.
    public init(_ sections: [[Item]]) {
        self.sections = sections
    }

    /// How many sections there are.
    public var sectionCount: Int { sections.count }

    /// How many items a section has; 0 for a section that does not exist.
    public func itemCount(inSection section: Int) -> Int {
        sections.indices.contains(section) ? sections[section].count : 0
    }

    /// The item at an index; nil where there is none.
    public func item(at index: ListIndex) -> Item? {
        guard sections.indices.contains(index.section) else { return nil }
        return sections[index.section].item(at: ListIndex(item: index.item))
    }
}

extension SectionedContent: Equatable where Item: Equatable {}

// A model of a list is itself a list: the list in its content, and empty without content.
extension ContentModel where Value: ListContent {
    /// How many sections the content has; 0 without content.
    public var sectionCount: Int { content?.sectionCount ?? 0 }
    /// How many items the content has in total; 0 without content.
    public var totalItemCount: Int { content?.totalItemCount ?? 0 }

    /// How many items a section of the content has; 0 without content.
    public func itemCount(inSection section: Int) -> Int { content?.itemCount(inSection: section) ?? 0 }

    /// The item at an index; nil without content or where there is none.
    public func item(at index: ListIndex) -> Value.Item? { content?.item(at: index) }
}

/// A model of a list, which is empty when the list has no items.
open class ListContentModel<Input: Sendable, List: ListContent & Sendable>: ContentModel<Input, List> {
    /// Whether the list has no items.
    open override func isEmpty(_ value: List) -> Bool { value.totalItemCount == 0 }
}
