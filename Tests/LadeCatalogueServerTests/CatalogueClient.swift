import Foundation
import Lade
import LadeCatalogueServer

/// Asks a local catalogue as any program would.
struct CatalogueClient {
    let catalogue: LocalCatalogue
    private let loader: Loader

    init(_ catalogue: LocalCatalogue) throws {
        self.catalogue = catalogue
        var settings = Service.Settings()
        // Refused responses are results to check, and nothing is sent twice.
        settings.acceptableStatuses = .codes(200..<600)
        settings.retries.limit = 0
        loader = try Loader(settings)
    }

    init(_ options: LocalCatalogue.Options = LocalCatalogue.Options()) throws {
        try self.init(try LocalCatalogue(options))
    }

    func get(
        _ target: String,
        _ fields: [(String, String)] = [],
        method: Request.Method = .get,
        body: String? = nil
    ) async throws -> Response {
        var request = try Request(method, target.hasPrefix("http") ? target : catalogue.address(target))
        for (name, value) in fields { request.headers.set(name, value) }
        if let body { request.body = .text(body) }
        return try await loader.load(request)
    }

    /// The members of the object at a path below `integrationlayer/`.
    func object(_ path: String, status: Response.Status = 200) async throws -> [String: Any] {
        let response = try await get("/integrationlayer/\(path)")
        guard response.status == status, response.headers["Content-Type"] == "application/json" else {
            throw UnexpectedAnswer(path: path, status: response.status)
        }
        let object = try JSONSerialization.jsonObject(with: response.body.bytes ?? Data())
        return object as? [String: Any] ?? [:]
    }

    /// The objects of a list at a path below `integrationlayer/`.
    func list(_ path: String, _ root: String) async throws -> [[String: Any]] {
        try await object(path)[root] as? [[String: Any]] ?? []
    }

    /// What a refusal says.
    func refusal(_ path: String, status: Response.Status) async throws -> String {
        let said = try await object(path, status: status)["status"] as? [String: Any] ?? [:]
        guard said["code"] as? Int == status.code else { throw UnexpectedAnswer(path: path, status: status) }
        return said["msg"] as? String ?? ""
    }
}

struct UnexpectedAnswer: Error {
    var path: String
    var status: Response.Status
}
