import Foundation
import Testing

/// The Swift code in the README, in `Documentation/`, in the DocC catalogues and in documentation comments.
@Suite("Code in the documentation", .timeLimit(.minutes(5)))
struct DocumentedCodeTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    private static let root = folder.appending(path: "../..").standardized

    /// The code is that of another library, or a part of a manifest.
    private static let foreign = ["Get", "Alamofire"]

    /// A paragraph of code and the document that it is in.
    private struct Paragraph {
        var document: String
        var code: String
    }

    /// The types of the libraries that Lade continues, as their documentation names them.
    private static let seeds: [(page: String, types: String)] = [
        (
            "BBCHTTPClient",
            """
            BBCHTTPClient BBCHTTPNetworkClient BBCHTTPNetworkRequest BBCHTTPTask BBCHTTPResponse BBCHTTPError
            BBCHTTPClientSuccess BBCHTTPClientFailure BBCHTTPUserAgent BBCHTTPDefaultUserAgent BBCHTTPLibraryUserAgent
            BBCHTTPStringUserAgent BBCHTTPRequestDecorator BBCHTTPOAuthRequestDecorator BBCHTTPSAMLRequestDecorator
            BBCHTTPResponseProcessor BBCHTTPJSONResponseProcessor BBCHTTPImageResponseProcessor
            """
        ),
        (
            "SPTDataLoader",
            """
            SPTDataLoader SPTDataLoaderService SPTDataLoaderFactory SPTDataLoaderRequest SPTDataLoaderResponse
            SPTDataLoaderDelegate SPTDataLoaderAuthoriser SPTDataLoaderAuthoriserOAuth SPTDataLoaderRateLimiter
            SPTDataLoaderResolver SPTDataLoaderExponentialTimer SPTDataLoaderConsumptionObserver
            """
        ),
        (
            "SRGDataProvider",
            """
            SRGDataProvider SRGIntegrationLayerProductionServiceURL SRGDataProviderBusinessUnitIdentifierRTS SRGMedia
            SRGMediaComposition SRGRequest SRGFirstPageRequest SRGPageRequest SRGPage SRGRequestQueue
            """
        ),
        (
            "SRGNetwork",
            """
            SRGRequest SRGRequestOptionCancellationErrorsEnabled SRGRequestOptionBackgroundCompletionEnabled
            SRGFirstPageRequest SRGPageRequest SRGPage SRGRequestQueue SRGNetworkActivityManagement
            """
        ),
        (
            "TDCContentLoading",
            """
            ContentLoadingViewModel ContentLoadingState ListLoadingViewModel PagingContentLoadingViewModel URLStore
            ViewLifetimeSignal ReactiveAppearanceViewController SignalProducer MutableProperty
            """
        ),
    ]

    @Test("finding LX-2 every type of a library that Lade continues stands in the table of its page", arguments: seeds)
    func seedTypes(page: String, types: String) throws {
        let lines = try Self.text("Documentation/ComingFrom\(page).md").split(separator: "\n")
        let table = lines.filter { $0.hasPrefix("| ") }.compactMap { $0.split(separator: "|").first }.joined(
            separator: " "
        )
        let named = Set(table.matches(of: /[A-Za-z]+/).map { String($0.output) })
        for type in types.split(whereSeparator: \.isWhitespace) where !named.contains(String(type)) {
            Issue.record("\(type) has no line")
        }
    }

    /// The code without comments at the ends of lines and without white space, so that the layout does not count.
    private static func normal(_ code: some StringProtocol) -> String {
        code.split(separator: "\n").map { line -> String in
            let line = String(line)
            if line.hasPrefix("//") { return "" }
            let end = line.range(of: " //")?.lowerBound ?? line.endIndex
            return String(line[..<end]).filter { !$0.isWhitespace }
        }
        .joined()
    }

    /// The paragraphs of the Swift blocks of a text, without imports.
    private static func paragraphs(of text: String, in document: String) -> [Paragraph] {
        var paragraphs: [Paragraph] = []
        var lines: [Substring]?
        var heading = ""
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if let block = lines {
                guard line.hasPrefix("```") else {
                    lines = block + [line]
                    continue
                }
                lines = nil
                let isForeign = foreign.contains { heading.hasPrefix("\($0):") || heading.hasPrefix("\($0), ") }
                guard !isForeign, block.first?.hasPrefix(".package(") != true else { continue }
                for part in block.split(whereSeparator: { $0.allSatisfy(\.isWhitespace) }) {
                    let code = normal(part.filter { !$0.hasPrefix("import ") }.joined(separator: "\n"))
                    if !code.isEmpty { paragraphs.append(Paragraph(document: document, code: code)) }
                }
            } else if line == "```swift" {
                lines = []
            } else if !line.isEmpty {
                heading = String(line)
            }
        }
        return paragraphs
    }

    /// The documentation comments of a source, as one document.
    private static func documentation(in source: String) -> String {
        source.split(separator: "\n").compactMap { line -> Substring? in
            let text = line.drop { $0 == " " }
            return text.hasPrefix("///") ? text.dropFirst(text.hasPrefix("/// ") ? 4 : 3) : nil
        }
        .joined(separator: "\n")
    }

    /// The paths below the root of files with an extension in some folders.
    private static func files(_ suffix: String, in folders: [String]) throws -> [String] {
        try folders.flatMap { folder in
            let names = try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path())
            return names.filter { $0.hasSuffix(suffix) }.map { "\(folder)/\($0)" }
        }
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// A build of a part of the package may leave all snippets out.
    private static let hasSnippets: Bool = {
        let names = try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: "Snippets").path())
        return names?.isEmpty == false
    }()

    @Test(
        "each paragraph of code in articles and comments is compiled, here or as a snippet",
        .enabled(if: hasSnippets)
    )
    func compiled() throws {
        let sources = try Self.files(".swift", in: ["Tests/LadeDocumentationTests", "Snippets"])
        let code = try sources.map { Self.normal(try Self.text($0)) }
        let catalogues = try Self.files(".md", in: ["Sources"]).filter { $0.contains(".docc/") }
        let documents = try catalogues + Self.files(".md", in: ["Documentation"]) + ["README.md"]
        let articles = try documents.flatMap { (document: String) in
            let text = try Self.text(document)
            #if !canImport(SwiftUI)
                // Such an article says that its code is not built on this platform.
                if text.contains("import SwiftUI") { return [Paragraph]() }
            #endif
            return Self.paragraphs(of: text, in: document)
        }

        let comments = try Self.files(".swift", in: ["Sources"]).flatMap { (file: String) in
            Self.paragraphs(of: Self.documentation(in: try Self.text(file)), in: file)
        }

        #expect(articles.count > 40 && comments.count > 60)
        for paragraph in articles + comments where !code.contains(where: { $0.contains(paragraph.code) }) {
            Issue.record("\(paragraph.document) has code that is not compiled: \(paragraph.code)")
        }
    }
}
