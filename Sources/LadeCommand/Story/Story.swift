#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Prints the events of a call while they happen, without secrets (`--verbose`).
///
/// A line begins with `>` for sent data, `<` for received data, and `*` for everything else.
struct Story: Call.Observer {
    private let talk: LineLog
    private let isColoured: Bool
    private let showsSecrets: Bool

    /// Makes a story that is printed on a console.
    init(_ console: Console) {
        talk = console.talk
        isColoured = console.coloursTalk
        showsSecrets = console.secrets.showsSecrets
    }

    /// Prints a request: every field, including those that the transport adds, and the size of the body.
    func show(_ sent: SentRequest) {
        show([">", showsSecrets ? "\(sent.request.method) \(sent.request.url.absoluteString)" : "\(sent.request)"])
        for field in sent.fields { show(field, ">") }
        if let body = sent.bodyWords { show(["*", "sending \(body)"]) }
        guard let text = showsSecrets ? sent.wholeBodyText : sent.bodyText else { return }
        for line in text.utf8.split(separator: 0x0A) {
            talk.write("> \(String(decoding: line, as: UTF8.self).escapedForDisplay(limit: 4_000))\n")
        }
    }

    private func show(_ field: Headers.Field, _ sign: String) {
        let line = (showsSecrets ? "\(field.name): \(field.value)" : "\(field)").escapedForDisplay(limit: 4_000)
        talk.write("\(sign) \(isColoured ? HeadColour.field(line) : line)\n")
    }

    /// Prints the details that a lower layer gave for a failure.
    func show(_ error: LoadingError) {
        if let detail = error.context.detail { show(["*", detail]) }
    }

    /// Prints an event.
    func record(_ event: Call.Event, of call: Call) {
        switch event {
        // The command shows the request and the result of a call itself.
        case .callStarted, .callFinished, .bodyFinished, .callFailed, .cacheStoreUsed, .attemptStarted(1): break
        case .interimResponse(let status, let headers): show(status, headers, "interim response")
        case .headReceived(let status, let headers, let version): show(status, headers, version?.rawValue ?? "HTTP")
        default:
            let facts = EventFacts(event)
            show(["*", (call.hedge > 0 ? "hedge \(call.hedge): " : "") + facts.words])
            if let details = facts.details { show(["*", details]) }
        }
    }

    private func show(_ status: Response.Status, _ headers: Headers, _ version: String) {
        let line = "\(version) \(status.words)".escapedForDisplay(limit: 200)
        talk.write("< \(isColoured ? HeadColour.status(line, status) : line)\n")
        for field in headers { show(field, "<") }
    }

    private func show(_ words: [String]) {
        talk.write(words.joined(separator: " ").escapedForDisplay(limit: 4_000) + "\n")
    }
}
