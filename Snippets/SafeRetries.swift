// Retries an order that must not be made twice: the same key is sent with each attempt.
import Lade

let address = CommandLine.arguments.dropFirst().first ?? "https://shop.example.com"
var settings = Service.Settings()
settings.retries.limit = 3
settings.retries.backoff = .fullJitter(base: .milliseconds(10))
let loader = try Loader(settings)

var order = try Request(.post, address + "/orders", body: .text("one"))
order.idempotencyKey = .generated
do throws(LoadingError) {
    print(try await loader.load(order).text)
} catch {
    print("failed after", error.context.attempts, "attempts:", error)
}
