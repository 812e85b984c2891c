// Signs each request with a digest of its body, just before it is sent.
import Foundation
import Lade

/// Stands for the signature that a server asks for.
@Sendable
func signature(of bytes: Data) -> String {
    String(bytes.reduce(UInt32(5381)) { $0 &* 33 &+ UInt32($1) }, radix: 16)
}

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
var settings = Service.Settings()
settings.attemptInterceptors = [
    Chain.interceptor { request, next in
        var signed = request
        // Reading a request's body: bytes are there, a file is read, and a stream cannot be signed before it is sent.
        let bytes: Data =
            switch request.body?.content {
            case .bytes(let bytes): bytes
            case .file(let path, _): try Data(contentsOf: URL(filePath: path))
            case .stream, nil: Data()
            }
        signed.headers.set("X-Signature", secret: Secret(signature(of: bytes)))
        return try await next(signed)
    }
]
let loader = try Loader(settings)
print(try await loader.load(Request(.post, address + "/signed", body: .text("an order"))).text)
