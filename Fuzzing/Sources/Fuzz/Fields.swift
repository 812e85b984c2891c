@testable import LadeCore
import LadeFields

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// 2025-03-15T12:00:00Z; a fixed moment, so that an input always gives the same result.
private let now = Date(timeIntervalSince1970: 1_742_040_000)

extension Target {
    static let httpDate = Target(name: "http-date") { bytes in
        guard let date = try? Headers.HTTPDate(bytes: bytes, now: now) else { return }
        let again = try? Headers.HTTPDate(date.description, now: now)
        expect(again == date, "\(date) is read as \(String(describing: again))")
        expect(Headers.HTTPDate(date.date) == date, "\(date) is not its own date")
        expect(date.description.utf8.count == 29, "\(date) is not 29 bytes long")
    }

    static let retryAfter = Target(name: "retry-after") { bytes in
        guard let retry = try? Headers.RetryAfter(bytes: bytes, now: now) else { return }
        let again = try? Headers.RetryAfter(retry.description, now: now)
        expect(again == retry, "\(retry) is read as \(String(describing: again))")
        for serverDate in [nil, Date.distantPast, Date.distantFuture] {
            let delay = retry.delay(serverDate: serverDate, now: now)
            expect(delay >= .zero && delay <= .seconds(1 << 31), "\(retry) waits for \(delay)")
        }
    }

    static let link = Target(name: "link") { bytes in
        guard let links = try? WebLink.parse(bytes: lines(bytes)) else { return }
        let again = try? WebLink.parse(links.map(\.description))
        expect(again == links, "\(links) is read as \(String(describing: again))")
        guard let base = URL(string: "https://example.org/a/b?c=d#e") else { return }
        for link in links {
            _ = (link.title, link.hreflang, link.type, link.media, link.anchor, link.resolved(against: base))
            expect(link.relationTypes.allSatisfy(link.hasRelation), "\(link) lacks its own relation")
        }
    }

    static let mediaType = Target(name: "media-type") { bytes in
        guard let media = try? MediaType(bytes: bytes) else { return }
        let again = try? MediaType(media.description)
        expect(again == media, "\(media) is read as \(String(describing: again))")
        _ = (media.charset, media.boundary, media.suffix, media.isJSON, media.isXML, media.isText)
    }

    static let contentDisposition = Target(name: "content-disposition") { bytes in
        guard let disposition = try? ContentDisposition(bytes: bytes) else { return }
        let again = try? ContentDisposition(disposition.description)
        expect(again == disposition, "\(disposition) is read as \(String(describing: again))")
        guard let safe = disposition.safeFilename else { return }
        let isSafe =
            !safe.isEmpty && safe.utf8.count <= ContentDisposition.safeFilenameLimit
            && safe.utf8.first != UInt8(ascii: ".")
            && safe.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\") }
        expect(isSafe, "\(safe) is not safe")
        expect(ContentDisposition.safeFilename(from: safe) == safe, "\(safe) is not safe already")
    }

    static let cacheControl = Target(name: "cache-control") { bytes in
        let control = CacheControl(bytes: lines(bytes))
        let again = CacheControl([control.description])
        expect(again == control, "\(control) is read as \(again)")
        expect(control.isEmpty == control.description.isEmpty, "\(control) is not written as what it says")
    }

    static let structuredField = Target(name: "structured-field") { bytes in
        let lines = lines(bytes)
        if let item = try? StructuredField.Item(bytes: lines) {
            let text = try? item.serialised()
            expect(text.flatMap { try? StructuredField.Item(parsing: [$0]) } == item, "\(item) does not survive")
        }
        if let list = try? StructuredField.List(bytes: lines) {
            let text = try? list.serialised()
            expect(text.flatMap { try? StructuredField.List(parsing: [$0]) } == list, "\(list) does not survive")
        }
        if let dictionary = try? StructuredField.Dictionary(bytes: lines) {
            let text = try? dictionary.serialised()
            let again = text.flatMap { try? StructuredField.Dictionary(parsing: [$0]) }
            expect(again == dictionary, "\(dictionary) does not survive")
        }
    }
}
