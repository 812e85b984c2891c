import LadeCore
import Testing

@Suite("Status sets", .timeLimit(.minutes(5)))
struct StatusSetTests {
    private static let rows: [(Response.StatusSet, String)] = [
        (Response.StatusSet.successful, "200–299"),
        (Response.StatusSet(arrayLiteral: .successful, 404), "200–299, 404"),
        (Response.StatusSet(arrayLiteral: 404, .successful), "200–299, 404"),
        (Response.StatusSet(arrayLiteral: 200, 201, .codes(202...204)), "200–204"),
        (Response.StatusSet(arrayLiteral: .codes(200..<250), .codes(240..<300)), "200–299"),
        (Response.StatusSet(arrayLiteral: .codes(200..<300), .codes(240..<250), 299), "200–299"),
        (Response.StatusSet.none, "none"),
        (Response.StatusSet(arrayLiteral: .none, 304), "304"),
        (Response.StatusSet(503..<503), "none"),
        (Response.StatusSet(Set([504, 502, 408])), "408, 502, 504"),
        (Response.StatusSet.all, "100–999"),
        (
            Response.StatusSet(arrayLiteral: .informational, .redirection, .clientError, .serverError),
            "100–199, 300–599"
        ),
        (
            Response.StatusSet.serverError.subtracting(Response.StatusSet(arrayLiteral: 501, .codes(505...599))),
            "500, 502–504"
        ),
        (Response.StatusSet.all.subtracting(.all), "none"),
        (Response.StatusSet.successful.subtracting(.clientError), "200–299"),
        (Response.StatusSet.successful.union(.successful), "200–299"),
    ]

    @Test("a status set holds ranges and single codes, and shows them in order", arguments: rows)
    func shows(set: Response.StatusSet, text: String) {
        #expect(set.description == text)
    }

    @Test("a status set contains the codes at its borders and none beside them")
    func contains() {
        let set: Response.StatusSet = [.successful, 404, .codes(500...503)]
        let inside = (0...1_000).filter { set.contains($0) }
        #expect(inside == Array(200...299) + [404] + Array(500...503))
        #expect(set.contains(Response.Status(404)))
        #expect(!set.contains(Response.Status(403)))
        #expect(!Response.StatusSet.none.contains(0))
        #expect(set == [404, .codes(500..<504), .successful])
        #expect(Response.StatusSet.none.isEmpty)
        #expect(!set.isEmpty)
    }
}
