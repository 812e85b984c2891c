/// A page that was loaded, with its content.
package struct PagePiece<Content: Sendable>: Sendable {
    package var content: Content
    /// The response's statements about other pages; nil when nothing can follow the page, because it has no value.
    package var facts: PageWalk.Facts?
    package var byteCount: Int
    /// The checksum of the content, to be compared with earlier pages; nil when it is not compared.
    package var checksum: UInt64?

    package init(content: Content, facts: PageWalk.Facts? = nil, byteCount: Int, checksum: UInt64? = nil) {
        self.content = content
        self.facts = facts
        self.byteCount = byteCount
        self.checksum = checksum
    }
}
