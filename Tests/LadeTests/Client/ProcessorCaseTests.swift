#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

@Suite("Processors", .timeLimit(.minutes(5)))
struct ProcessorCaseTests {
    struct Broken: Error {}

    private func load<Value>(
        _ answer: ScriptedResponse,
        service change: (inout Service.Settings) -> Void = { _ in },
        _ make: (Endpoint<Data>) -> Endpoint<Value>
    ) async throws -> Result<Loader.Loaded<Value>, LoadingError> {
        let rig = Rig(change)
        rig.transport.onAnyRequest().respond(answer)
        let endpoint = make(try rig.endpoint())
        do throws(LoadingError) {
            return .success(try await rig.loader.loadValue(of: endpoint))
        } catch {
            return .failure(error)
        }
    }

    @Test("client CD-20 fails with the error of the first processor, and runs no other")
    func firstThrows() async throws {
        let ran = Locked(0)
        let result = try await load(.text("abc")) { endpoint in
            endpoint.map { _ -> Int in throw Broken() }.map { number in
                ran.withLock { $0 += 1 }
                return number
            }
        }
        guard case .failure(let error) = result, case .decoding = error.kind, error.underlyingError is Broken else {
            Issue.record("\(result)")
            return
        }
        #expect(ran.withLock { $0 } == 0)
        #expect(error.context.body == Data("abc".utf8))
        #expect(error.context.status == 200)
    }

    @Test("client CD-21 fails with the error of the second processor, after the first ran")
    func secondThrows() async throws {
        let ran = Locked(0)
        let result = try await load(.text("abc")) { endpoint in
            endpoint.map { data in
                ran.withLock { $0 += 1 }
                return data
            }.map { (_: Data) -> Int in throw Broken() }
        }
        guard case .failure(let error) = result, case .decoding = error.kind, error.underlyingError is Broken else {
            Issue.record("\(result)")
            return
        }
        #expect(ran.withLock { $0 } == 1)
    }

    private struct Title: Service.Processor {
        func process(_ input: JSONValue?, of response: Response) throws -> String { input?["a"]?.string ?? "-" }
    }

    private struct Upper: Service.Processor {
        func process(_ input: String, of response: Response) throws -> String { input.uppercased() }
    }

    @Test("finding LX-2 client CD-19 an array of processors of any types runs in order, as in the seed")
    func arrays() async throws {
        let list: [any Service.Processor] = [Service.JSONProcessor(), Title(), Upper()]
        let loaded = try await load(.json(#"{"a": "sea"}"#)) { $0.processing(with: list, as: String.self) }.get()
        #expect(loaded.value == "SEA")
        let after = try await load(.text("sea")) { $0.text().processing(with: [Upper(), Upper()], as: String.self) }
            .get()
        #expect(after.value == "SEA")
        let none = try await load(.text("sea")) { $0.processing(with: [], as: Data.self) }.get()
        #expect(none.value == Data("sea".utf8))
        let image = try await load(.text("sea")) { endpoint in
            endpoint.processing(
                with: [Service.ImageProcessor { String(decoding: $0, as: UTF8.self) }],
                as: String?.self
            )
        }
        #expect(try image.get().value == "sea")
        let endpoint = try Endpoint("https://a.example.com/").processing(with: list, as: String.self)
        #expect(endpoint.processorNames == ["JSONProcessor", "Title", "Upper"])
    }

    @Test("finding LX-2 an array whose types do not fit together fails with both types")
    func unfitArrays() async throws {
        let input = try await load(.json("{}")) {
            $0.processing(with: [Service.JSONProcessor(), Upper()], as: String.self)
        }
        let output = try await load(.json("{}")) {
            $0.processing(with: [Service.JSONProcessor(), Title()], as: Int.self)
        }
        guard case .failure(let first) = input, case .failure(let second) = output else {
            Issue.record("\(input) \(output)")
            return
        }
        #expect(
            first.underlyingError as? ProcessingError == .wrongInput(expected: "String", found: "Optional<JSONValue>")
        )
        #expect(second.underlyingError as? ProcessingError == .wrongOutput(expected: "Int", found: "String"))
        #expect(second.description.contains("the last processor gave String, not Int"))
    }

    @Test("client CD-22 makes dictionaries and arrays of JSON")
    func json() async throws {
        let object = try await load(.json(#"{"a": 1}"#)) { $0.jsonObject() }.get().value
        let array = try await load(.json(#"[true, "b"]"#)) { $0.jsonArray() }.get().value
        #expect(object == ["a": .integer(1)])
        #expect(array == [.bool(true), .string("b")])
        #expect(throws: LoadingError.self) {
            try Endpoint("https://a.example.com/").jsonArray().value(from: Self.answer("{}"))
        }
    }

    private static func answer(_ text: String) throws -> Response {
        Response(status: 200, body: Response.Body(Data(text.utf8)), request: try Request("https://a.example.com/"))
    }

    @Test("client CD-23 fails over JSON that cannot be parsed, and says where")
    func invalidJSON() async throws {
        guard case .failure(let error) = try await load(.json("{null}"), { $0.json() }), case .decoding = error.kind,
            let fault = error.underlyingError as? JSONError
        else {
            Issue.record("no fault")
            return
        }
        #expect(fault.offset == 1)
    }

    @Test("client CD-24 fails and names the types when a processor receives a value of the wrong type")
    func wrongInput() async throws {
        let chain = ProcessorChain([Service.processor { (_: Data, _) in 7 }, Service.JSONProcessor()])
        guard
            case .failure(let error) = try await load(
                .text("1"),
                { $0.processing(with: chain) }
            ), case .decoding = error.kind, let fault = error.underlyingError as? ProcessingError
        else {
            Issue.record("no fault")
            return
        }
        #expect(fault == .wrongInput(expected: "Data", found: "Int"))
    }

    @Test("runs a list of processors that is put together at run time")
    func chain() async throws {
        let chain = ProcessorChain([TextProcessor(), Service.processor { (text: String, _) in text.count }])
        #expect(try await load(.text("abc")) { $0.processing(with: chain) }.get().value as? Int == 3)
    }

    @Test("client CD-25 returns nil for bytes that are not an image, or an error where one is required")
    func image() async throws {
        let decode: @Sendable (Data) throws -> Int? = { $0.count == 3 ? 3 : nil }
        #expect(try await load(.text("abc")) { $0.image(decode) }.get().value == 3)
        #expect(try await load(.text("ab")) { $0.image(decode) }.get().value == nil)
        #expect(try await load(.text("ab")) { $0.image { _ -> Int? in throw Broken() } }.get().value == nil)
        guard
            case .failure(let error) = try await load(
                .text("ab"),
                { $0.requiredImage(decode) }
            ), case .decoding = error.kind
        else {
            Issue.record("no failure")
            return
        }
    }

    @Test("client D-14 returns nil for an empty body, or an error where a value is required")
    func empty() async throws {
        #expect(try await load(.status(204)) { $0.json() }.get().value == nil)
        #expect(try await load(.status(204)) { $0.decodingIfPresent(Int.self) }.get().value == nil)
        guard
            case .failure(let error) = try await load(
                .status(204),
                { $0.decoding(Int.self) }
            ), case .decoding = error.kind
        else {
            Issue.record("no failure")
            return
        }
    }

    @Test("client D-17 runs the service's processors before the endpoint's")
    func serviceProcessors() async throws {
        let unwrap = Service.processor { (data: Data, _) in data.dropFirst(4) }
        let result = try await load(.text(")]}'7"), service: { $0.processors = [unwrap] }) { $0.decoding(Int.self) }
        #expect(try result.get().value == 7)
    }

    @Test("runs the service's processors in their order, and gives the answer with the body that they make")
    func orderOfServiceProcessors() async throws {
        let mark = { (mark: String) in Service.processor { (data: Data, _) in data + Data(mark.utf8) } }

        let loaded = try await load(.text("a"), service: { $0.processors = [mark("b"), mark("c")] }) { $0.text() }.get()

        #expect(loaded.value == "abc")
        #expect(loaded.response.body.bytes == Data("abc".utf8))
        #expect(loaded.response.body.metrics.responseBodyBytes == 1)
    }

    @Test("keeps the trailers of a body that the service's processors change")
    func trailers() throws {
        let body = Response.Body(Data("a".utf8), trailers: ["X-Sum": "1"], metrics: Response.Metrics())
        let response = Response(status: 200, body: body, request: try Request("https://a.example.com/"))
        let upper = Service.processor { (data: Data, _) in Data(String(decoding: data, as: UTF8.self).uppercased().utf8)
        }

        let loaded = try Endpoint(response.request).conversion(after: [upper]).make(response)

        #expect(loaded.value == Data("A".utf8))
        #expect(loaded.response.body.trailers == ["X-Sum": "1"])
    }

    @Test("client D-13 runs the service's processors alone on the body of a refused answer")
    func refusedWithServiceProcessors() async throws {
        let unwrap = Service.processor { (data: Data, _) in data.dropFirst(4) }
        let result = try await load(.status(404, ")]}'gone"), service: { $0.processors = [unwrap] }) { $0 }

        guard case .failure(let error) = result, case .unacceptableStatus(404) = error.kind else {
            Issue.record("\(result)")
            return
        }
        #expect(error.context.processedBody as? Data == Data("gone".utf8))
        #expect(error.context.body == Data(")]}'gone".utf8))
    }

    @Test("passes on an error of loading that a processor throws, as it is")
    func loadingErrorOfProcessor() async throws {
        let context = LoadingError.Context(try Request("https://a.example.com/"))
        let result = try await load(.text("a")) { $0.map { _ -> Int in throw LoadingError(.timedOut(.idle), context) } }

        guard case .failure(let error) = result, case .timedOut(.idle) = error.kind else {
            Issue.record("\(result)")
            return
        }
    }

    @Test("an error keeps 64 KiB of the body")
    func bodyOfError() async throws {
        let body = String(repeating: "x", count: 100_000)
        guard case .failure(let error) = try await load(.status(404, body), { $0 }),
            case .unacceptableStatus(404) = error.kind
        else {
            Issue.record("no failure")
            return
        }
        #expect(error.context.body?.count == 65_536)
    }

    @Test("client CD-18 receives the answer to a streamed request whole")
    func streamedRequest() async throws {
        let result = try await load(.text("abc")) { endpoint in
            endpoint.request { $0.delivery = .streamed }
        }

        #expect(try result.get().value == Data("abc".utf8))
    }

    @Test(
        "reads text in the character set of the answer",
        arguments: [
            ("text/plain; charset=iso-8859-1", [0xE4], "ä"), ("text/plain", [0xC3, 0xA4], "ä"),
            ("text/plain", [0xE4], "ä"),
            ("text/plain; charset=\"UTF-8\"", [0xC3, 0xA4], "ä"), ("text/plain; charset=ISO-8859-1", [0xE4], "ä"),
            ("text/plain; charset=us-ascii", [0xE4], "ä"),
            ("text/plain; charset=klingon", [0x41], nil),
        ] as [(String, [UInt8], String?)]
    )
    func text(_ type: String, _ bytes: [UInt8], _ text: String?) async throws {
        let result = try await load(.bytes(Data(bytes), type: type)) { $0.text() }
        #expect((try? result.get().value) == text)
    }

    @Test("client CD-30 client D-13 keeps the raw bytes of an error's page behind a JSON processor")
    func statusWithPage() async throws {
        guard
            case .failure(let error) = try await load(.status(404, "<html>"), { $0.json() }),
            case .unacceptableStatus(404) = error.kind
        else {
            Issue.record("no failure")
            return
        }
        #expect(error.context.body == Data("<html>".utf8))
        #expect(error.context.processedBody == nil)
        #expect(error.context.processingError is LoadingError == false)
        #expect(error.context.processingError is JSONError)
    }

    @Test("client CD-31 gives the parsed body of a refused answer with its error")
    func statusWithJSON() async throws {
        let answer = ScriptedResponse.json(#"{"why": "gone"}"#, status: 404)
        guard case .failure(let error) = try await load(answer, { $0.jsonObject() }),
            case .unacceptableStatus(404) = error.kind
        else {
            Issue.record("no failure")
            return
        }
        #expect(error.context.processedBody as? [String: JSONValue] == ["why": .string("gone")])
    }

    @Test("client CD-32 runs no processor when there was no answer")
    func transportError() async throws {
        let ran = Locked(0)
        let result = try await load(.fails(LoadingError(.cannotConnect(host: "a", reason: .refused)))) { endpoint in
            endpoint.map { data in
                ran.withLock { $0 += 1 }
                return data
            }
        }
        guard case .failure(let error) = result, case .cannotConnect = error.kind else {
            Issue.record("\(result)")
            return
        }
        #expect(ran.withLock { $0 } == 0)
    }
}
