import Foundation
import LadeCore
import LadePolicies
import LadeTesting
import LadeWire
import Testing

/// Fail-over between real servers.
@Suite(.timeLimit(.minutes(5)))
struct HostsPeerTests {
    private func port(_ origin: String) throws -> Int { try Origin(origin).port }

    @Test(
        "when the first server is stopped, the same call goes on to the second, under the same name: service D-07 policies PL-34"
    )
    func failsOver() async throws {
        let backup = try port(try Peers.origin("nginxHTTP"))
        let primary = try LoopbackServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nprimary")
        let (time, transport) = (VirtualTime(), try Peers.transport())
        let directory = HostDirectory([
            "svc.test": [
                HostDirectory.Address("127.0.0.1", port: Int(primary.port)),
                HostDirectory.Address("127.0.0.1", port: backup),
            ]
        ])
        let chain = Chain([AttemptInterceptor(hosts: directory)], transport: transport)
        let request = try Request("http://svc.test/connection")
        func text() async throws -> String {
            let response = try await chain.send(request, call: Call(time: time))
            return String(decoding: response.body.bytes ?? Data(), as: UTF8.self)
        }

        #expect(try await text() == "primary")
        primary.stop()
        let answer = try await text()
        #expect(answer.contains("svc.test"), "nginx reports the requested name: \(answer)")

        // When it listens again, one probe finds it after the mark has ended.
        var options = LoopbackServer.Options()
        options.address = .ipv4(port: primary.port)
        let again = try LoopbackServer(
            options,
            script: [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain"), .close]
        )
        #expect(try await text() != "again")
        time.advance(by: .seconds(30))
        #expect(try await text() == "again")
        again.stop()
        await transport.shutDown()
    }

    @Test("the certificate is checked for the name of the host, wherever it is dialled: service D-07 policies PL-33")
    func checksName() async throws {
        let (tls, authority) = (try port(try Peers.origin("nginxTLS")), try Peers.text("ca"))
        let transport = try Peers.transport { $0.tls.authorities = [.file(authority)] }
        let list = [HostDirectory.Address("127.0.0.1", port: tls)]
        let directory = HostDirectory(["localhost": list, "elsewhere.test": list])
        let chain = Chain([AttemptInterceptor(hosts: directory)], transport: transport)

        let response = try await chain.send(Request("https://localhost/small.json"), call: Call())
        #expect(response.status == 200)
        let error = await #expect(throws: LoadingError.self) {
            _ = try await chain.send(Request("https://elsewhere.test/small.json"), call: Call())
        }
        guard case .untrustedServer(let fault) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.cause == .wrongHost)
        await transport.shutDown()
    }
}
