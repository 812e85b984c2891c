extension Pages {
    /// A loaded page, with the page after it.
    ///
    /// The members of the content are members of the page: `page.value` and `page.response` of a ``Pages/Sequence`` and of
    /// ``Loader/load(_:of:)``, and `outcome.error` of a handle.
    @dynamicMemberLookup
    public struct Page<Content: Sendable>: Sendable {
        /// The page that was requested.
        public let page: PageRequest
        /// The page after it; nil after the last, after a failure, and when ``nextFailure`` says why there is none.
        public let next: PageRequest?
        /// Why the next page that the response names cannot be loaded; nil when it can, and when there is none.
        public let nextFailure: PageError?
        /// The number of items on all pages; nil when the response does not say.
        public let total: Int?
        /// The content of the page.
        public let content: Content

        /// Makes a loaded page from its parts.
        public init(
            page: PageRequest,
            next: PageRequest? = nil,
            nextFailure: PageError? = nil,
            total: Int? = nil,
            content: Content
        ) {
            self.page = page
            self.next = next
            self.nextFailure = nextFailure
            self.total = total
            self.content = content
        }

        /// A member of the content.
        public subscript<Member>(dynamicMember member: KeyPath<Content, Member>) -> Member {
            content[keyPath: member]
        }
    }
}

extension Pages.Page {
    init(_ delivery: PageFeed<Content>.Delivery) {
        self.init(
            page: delivery.page,
            next: delivery.nextFailure == nil ? delivery.next : nil,
            nextFailure: delivery.nextFailure,
            total: delivery.total,
            content: delivery.piece.content
        )
    }
}
