// How a test waits for a model: for one load, for a state on the way, and for a failure, without a network.
import Foundation
import LadeContent
import LadeTesting

let transport = ScriptedTransport()
let go = Signal()
transport.on(.get, "/shows").respond(.json(#"["Sea"]"#).after(go)).then(.status(404))
let loader = Service(transport: transport).anonymous.makeLoader()
let model = ListContentModel<Void, [String]> { [loader] _ in
    try await loader.load(Endpoint("https://api.example.com/shows"))
}

model.refresh()
_ = try await transport.request(at: 0)
print("loading:", model.isLoading)
go.raise()
for await snapshot in model.snapshots() where !snapshot.isLoading { break }
print("loaded:", model.content ?? [])

let state = await model.load()
print("failed:", state.error?.localizedDescription ?? "nothing")
print("still there:", model.content ?? [])
