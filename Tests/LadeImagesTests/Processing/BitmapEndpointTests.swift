#if os(Linux)
    import Foundation
    import Lade
    import LadeImages
    import LadeTesting
    import SharedDoubles
    import Testing

    @Suite(.timeLimit(.minutes(5)))
    struct BitmapEndpointTests {
        private func load<Value>(
            _ body: Data,
            _ build: (Endpoint<Data>) -> Endpoint<Value>
        ) async throws(LoadingError) -> Value {
            let transport = ScriptedTransport()
            transport.on(.get, "/cover").respond(.bytes(body))
            return try await transport.makeLoader().load(
                build(Endpoint(try Request("https://svc.example.com/cover")))
            )
        }

        private let file = Sample.png.file(Sample.png.picture(20, 10))

        @Test("client CD-25 an image is a bitmap; other bytes give no value, and the call succeeds")
        func lenient() async throws {
            #expect(try await load(file) { $0.bitmap() }?.width == 20)
            #expect(try await load(Data("no image".utf8)) { $0.bitmap() } == nil)
            #expect(try await load(file) { $0.bitmap(ImageDecoder(limits: .init(pixels: 199))) } == nil)
        }

        @Test("client CD-25 where an image is required, bytes that are none fail with what is wrong with them")
        func strict() async throws {
            let decoder = ImageDecoder(maximumPixelSize: 5)
            #expect(try await load(file) { $0.requiredBitmap(decoder) }.height == 3)
            let half = file.prefix(file.count / 2)

            let error = await #expect(throws: LoadingError.self) {
                _ = try await load(half) { $0.requiredBitmap() }
            }

            guard case .decoding = error?.kind, let fault = error?.underlyingError as? ImageError else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(fault == .truncated(.png))
        }
    }
#endif
