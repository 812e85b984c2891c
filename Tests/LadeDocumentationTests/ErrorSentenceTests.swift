import Foundation
import LadeCache
import LadeCatalogue
import LadeConformance
import LadeContent
import LadeCallbacks
import LadeHarvest
import LadeImages
import LadeTraffic
import Testing

@testable import Lade

/// What `localizedDescription` says of every public error.
@Suite("Sentences of errors", .timeLimit(.minutes(5)))
struct ErrorSentenceTests {
    /// Errors, and the text that each shows; nil for any sentence.
    private static let errors: [(any Error, String?)] = {
        let context = LoadingError.Context()
        let timedOut = LoadingError(.timedOut(.whole), context)
        let refused = LoadingError(.unacceptableStatus(404), context)
        var errors: [(any Error, String?)] = [
            (timedOut, timedOut.text()), (refused, Response.Status(404).text()),
            (LoadingError(.cancelled, context), nil),
            (LoadingError(.invalidSetting(name: "a", reason: "b"), context), nil),
            (NetworkError.transport(timedOut, looksLikePublicWiFi: false), timedOut.text()),
            (CatalogueError.request(timedOut), timedOut.text()), (CatalogueError.emptyQuery, nil),
        ]
        for cause in [PageError.Cause.loading(refused), .loop, .insecure(URL(filePath: "/"))] {
            let failure = PageError(page: PagedEndpoint<Data>.probe, cause: cause)
            let text = if case .loading = cause { refused.text() } else { NetworkError.pagination(failure).text() }
            errors.append((failure, text))
            errors.append((cause, text))
            errors.append((HarvestError.page(failure), text))
        }
        errors.append((HarvestError.outputClosed, HarvestError.outputClosed.description))
        errors.append((HarvestError.diskFull(path: "/a"), nil))
        errors.append((ProcessingError.mediaType(expected: "a/b", found: nil), nil))
        errors.append((ProcessingError.emptyBody, "The body is empty."))
        errors.append((ImageError.unknownFormat, "The bytes are no PNG, JPEG or WebP image."))
        errors.append((CatalogueError.noStreamToken(host: "a"), nil))
        errors.append((JSONError(.invalidPointer, offset: 0), nil))
        errors.append((Headers.FieldError(field: "Date", reason: .trailingBytes, offset: 1), nil))
        errors.append((CacheError(.closed), "The cache store is closed"))
        errors.append((HARFault(entry: 3, reason: "it has no host"), "entry 3: it has no host"))
        errors.append((ConformanceError.skipped("not here"), "not here"))
        return errors
    }()

    @Test("finding SF-5 the localised description of an error is its sentence", arguments: errors.indices)
    func sentence(index: Int) throws {
        let (error, expected) = Self.errors[index]
        let text = error.localizedDescription

        #expect(!text.contains("could not be completed") && !text.contains("error ") && !text.isEmpty)
        #expect(expected.map { $0 == text } ?? true, "\(text)")
        // As Foundation gives it to `NSError`, with which Apple's interfaces show it.
        #expect((error as NSError).localizedDescription == text)
    }

    @Test("finding SF-5 a JSON fault, an unknown list and a header fault have one, too")
    func thrown() {
        for make: () throws -> Void in [
            { _ = try JSONValue(parsing: Data("[".utf8)) }, { _ = try Catalogue("nowhere") },
            { _ = try Request("http://a b/") },
            { throw ProcessingError.missingList(.init(pointer: ["a"], found: .missing)) },
        ] {
            let error = #expect(throws: (any Error).self) { try make() }
            #expect(error?.localizedDescription.contains("could not be completed") == false)
        }
    }

    @Test("finding SF-5 every public error of the modules has a sentence")
    func everyOne() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources").standardized
        var declared: Set<String> = []
        var sentences: Set<String> = []
        let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(
                of: /(?m)^ *public (?:indirect )?(?:enum|struct|final class) (\w+): [^{]*\bError\b/
            ) {
                declared.insert(String(match.1))
            }
            for match in text.matches(of: /extension ([\w.]+): [^{]*\bLocalizedError\b/) {
                sentences.insert(String(match.1.split(separator: ".").last ?? ""))
            }
        }
        // Another public error is a decision: most are a case of one that there is.
        #expect((10...15).contains(declared.count), "\(declared.sorted())")
        #expect(declared.subtracting(sentences).sorted() == [])
    }
}

extension PagedEndpoint where Value == Data {
    fileprivate static var probe: PageRequest {
        let request = Request(URL(filePath: "/list"))
        return PagedEndpoint(Endpoint(request), paginator: Pages.Paginator { _ in nil }).firstPage()
    }
}
