import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@Suite("Reading a response", .timeLimit(.minutes(5)))
struct ResponseReadingTests {
    private func response(_ answer: ScriptedResponse, streamed: Bool = false) async throws -> Response {
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
        let answer = ScriptedResponse.bytes(Data(bytes), headers: ["Content-Type": type])

        #expect(try await response(answer).text == text)
    }

    @Test(
        "finding LF-14 a text is decoded by the label of its charset; a byte order mark has precedence",
        arguments: [
            ("text/plain; charset=windows-1252", [0x80, 0xE4], "€ä"), ("text/plain;charset=\"Latin1\"", [0x80], "€"),
            ("text/plain; charset=Shift_JIS", [0x93, 0xFA, 0x96, 0x7B], "日本"),
            ("text/html; charset=GBK", [0xD6, 0xD0, 0xCE, 0xC4], "中文"),
            ("text/html; charset=\" koi8-r \"", [0xCD, 0xC9, 0xD2], "мир"),
            ("text/plain; charset=gbk", [0xEF, 0xBB, 0xBF, 0xC3, 0xA4], "ä"), ("text/plain", [0xE4, 0x80], "ä€"),
            ("text/plain", [0xFF, 0xFE, 0x41, 0x00], "A"),
        ] as [(String, [UInt8], String)]
    )
    func charset(type: String, bytes: [UInt8], text: String) async throws {
        let answer = ScriptedResponse.bytes(Data(bytes), headers: ["Content-Type": type])

        #expect(try await response(answer).text == text)
    }

    @Test(
        "finding LF-14 an unknown charset is named, and bytes that are invalid in a known one are no text",
        arguments: [
            ("klingon", [0x41], .unknownCharacterSet("klingon")),
            ("iso-2022-cn", [0x41], .unknownCharacterSet("iso-2022-cn")),
            ("utf-8", [0xE4], .notText(characterSet: "utf-8")),
            ("shift_jis", [0x93], .notText(characterSet: "shift_jis")),
            ("euc-kr", [0xFF, 0x41], .notText(characterSet: "euc-kr")),
            ("utf-16", [0x41], .notText(characterSet: "utf-16")),
        ] as [(String, [UInt8], ProcessingError)]
    )
    func unreadable(label: String, bytes: [UInt8], fault: ProcessingError) async throws {
        let answer = ScriptedResponse.bytes(Data(bytes), headers: ["Content-Type": "text/plain; charset=\(label)"])
        let response = try await response(answer)

        let error = #expect(throws: LoadingError.self) { try response.text }

        #expect(error?.description.contains("\(fault)") == true, "\(String(describing: error))")
        #expect("\(ProcessingError.unknownCharacterSet("x"))" == "the charset “x” is not known here")
    }

    @Test("finding UF-6 the JSON of a response is a value, and what is no JSON an error with its place")
    func json() async throws {
        let object = try await response(.json(#"{"title": "Sea", "parts": [1, 2]}"#))
        #expect(try object.json["title"]?.string == "Sea")
        #expect(try object.json["parts"]?.array?.count == 2)

        for body in ["", "{", "<html>"] {
            let refused = try await response(.text(body))
            let error = #expect(throws: LoadingError.self) { try refused.json }
            guard case .decoding = error?.kind else { throw Unexpected() }
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
