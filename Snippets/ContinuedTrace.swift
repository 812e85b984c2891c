// A service continues the trace of the request that it received.
import Lade

let incoming = [
    "traceparent": ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"], "tracestate": ["vendor=1"],
]
let showsURL = CommandLine.arguments.dropFirst().first ?? "https://api.example.com/shows"
var settings = Service.Settings()
settings.tracing = Tracing()
let loader = try Loader(settings)

let context = TraceContext(parents: incoming["traceparent"] ?? [], states: incoming["tracestate"] ?? [])
try await TraceContext.$current.withValue(context) {
    let shows: [String] = try await loader.load(Endpoint(showsURL))
    print(shows)
}
