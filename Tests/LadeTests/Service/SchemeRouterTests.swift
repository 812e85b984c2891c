import Lade
import LadeTesting
import Testing

@Suite("Scheme routers", .timeLimit(.minutes(5)))
struct SchemeRouterTests {
    @Test(
        "a request goes to the transport of its scheme in either case, else to the default one",
        arguments: [("memo", "memo"), ("Memo", "mEMO"), ("memo", "MEMO"), ("MEMO", "memo"), ("memo", "https")]
    )
    func schemes(registered: String, requested: String) async throws {
        let (own, otherwise) = (ScriptedTransport(), ScriptedTransport())
        for transport in [own, otherwise] { transport.onAnyRequest().respond(.text("ok")) }
        let router = SchemeRouter([registered: own], otherwise: otherwise)

        _ = try await router.send(Request("\(requested)://host/a"), call: Call())

        let isOwn = requested != "https"
        #expect(own.requests.count == (isOwn ? 1 : 0))
        #expect(otherwise.requests.count == (isOwn ? 0 : 1))
    }
}
