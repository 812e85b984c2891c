// Errors by their kind: in a function, a task, a group, at the top of a program, and beside other calls that throw.
import Lade

struct Show: Decodable, Sendable {
    var title: String
}

/// A show; nil when there is none.
func show(_ address: String, with loader: Loader) async throws(LoadingError) -> Show? {
    do throws(LoadingError) {
        return try await loader.load(Endpoint(address))
    } catch {
        guard error.kind == .unacceptableStatus(404) else { throw error }
        return nil
    }
}

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
let loader = try Loader()
print("function:", try await show(address + "/missing", with: loader)?.title ?? "none")

let task = Task {
    do throws(LoadingError) {
        let show: Show = try await loader.load(Endpoint(address + "/missing"))
        print("task:", show.title)
    } catch {
        print("task:", error.kind == .unacceptableStatus(404) ? "none" : error.description)
    }
}
await task.value

await withTaskGroup(of: Void.self) { group in
    group.addTask {
        do throws(LoadingError) {
            let show: Show = try await loader.load(Endpoint(address + "/missing"))
            print("group:", show.title)
        } catch {
            print("group:", error.context.status?.code ?? 0, error.localizedDescription)
        }
    }
}

do throws(LoadingError) {
    let show: Show = try await loader.load(Endpoint(address + "/shows/1"))
    print("program:", show.title)
} catch {
    print("program:", error)
}

do {
    let show: Show = try await loader.load(Endpoint(address + "/missing"))
    try await Task.sleep(for: .seconds(1))
    print("beside:", show.title)
} catch let error as LoadingError where error.kind == .unacceptableStatus(404) {
    print("beside: none")
} catch {
    print("beside:", error)
}
