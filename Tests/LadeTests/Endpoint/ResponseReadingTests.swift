import Foundation
import Lade
import LadeTesting
import Testing

@Suite("Reading a response", .timeLimit(.minutes(5)))
struct ResponseReadingTests {
    private func response(_ answer: ScriptedAnswer, streamed: Bool = false) async throws -> Response {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(answer)
        let request = try rig.request()
        return try await rig.loader.load(streamed ? request.streamed : request)
    }

    @Test(
        "finding UF-6 the text of a response is in the character set that it names",
        arguments: [
            ("text/plain; charset=utf-8", [0xC3, 0xA4], "ä"), ("text/plain; charset=iso-8859-1", [0xE4], "ä"),
            ("text/plain", [0xC3, 0xA4], "ä"), ("application/json", [], ""),
        ] as [(String, [UInt8], String)]
    )
    func text(type: String, bytes: [UInt8], text: String) async throws {
        let answer = ScriptedAnswer.bytes(Data(bytes), headers: ["Content-Type": type])

        #expect(try await response(answer).text == text)
    }

    @Test("finding UF-6 the JSON of a response is a value, and what is no JSON an error with its place")
    func json() async throws {
        let object = try await response(.json(#"{"title": "Sea", "parts": [1, 2]}"#))
        #expect(try object.json["title"]?.string == "Sea")
        #expect(try object.json["parts"]?.array?.count == 2)

        for body in ["", "{", "<html>"] {
            let refused = try await response(.text(body))
            let error = #expect(throws: LoadingError.self) { try refused.json }
            guard case .decoding = error.kind else { throw Unexpected() }
        }
    }

    @Test("finding UF-6 text that is not in its character set, and a streamed body, are errors that say so")
    func refused() async throws {
        let wrong = try await response(.bytes(Data([0xFF]), headers: ["Content-Type": "text/plain; charset=utf-8"]))
        #expect(throws: LoadingError.self) { try wrong.text }

        let streamed = try await response(.text("abc"), streamed: true)
        let error = #expect(throws: LoadingError.self) { try streamed.text }
        #expect(error?.description.contains("streamed body") == true)
        #expect(error?.description.contains("transport") == false)
        streamed.body.cancel()
    }

    @Test("finding UF-6 what callers guess is not the name of a private function of the types they meet first")
    func names() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources/Lade")
        for folder in ["API", "Endpoint", "Loader", "Account", "Service"] {
            let files = try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path())
            for file in files where file.hasSuffix(".swift") {
                let text = try String(contentsOf: root.appending(path: "\(folder)/\(file)"), encoding: .utf8)
                let guessed = /private (?:static )?func (decode|text|json|get|post|put|fetch|data|body|send)\b/
                #expect(text.firstMatch(of: guessed) == nil, "\(folder)/\(file)")
            }
        }
    }

    private struct Unexpected: Error {}
}
