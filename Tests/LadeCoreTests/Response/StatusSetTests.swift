import LadeCore
import Testing

@Suite("Status sets", .timeLimit(.minutes(5)))
struct StatusSetTests {
    private static let rows: [(StatusSet, String)] = [
        (StatusSet.successful, "200–299"),
        (StatusSet(arrayLiteral: .successful, 404), "200–299, 404"),
        (StatusSet(arrayLiteral: 404, .successful), "200–299, 404"),
        (StatusSet(arrayLiteral: 200, 201, .codes(202...204)), "200–204"),
        (StatusSet(arrayLiteral: .codes(200..<250), .codes(240..<300)), "200–299"),
        (StatusSet(arrayLiteral: .codes(200..<300), .codes(240..<250), 299), "200–299"),
        (StatusSet.none, "none"),
        (StatusSet(arrayLiteral: .none, 304), "304"),
        (StatusSet(503..<503), "none"),
        (StatusSet(Set([504, 502, 408])), "408, 502, 504"),
        (StatusSet.all, "100–999"),
        (StatusSet(arrayLiteral: .informational, .redirection, .clientError, .serverError), "100–199, 300–599"),
        (StatusSet.serverError.subtracting(StatusSet(arrayLiteral: 501, .codes(505...599))), "500, 502–504"),
        (StatusSet.all.subtracting(.all), "none"),
        (StatusSet.successful.subtracting(.clientError), "200–299"),
        (StatusSet.successful.union(.successful), "200–299"),
    ]

    @Test("a status set holds ranges and single codes, and shows them in order", arguments: rows)
    func shows(set: StatusSet, text: String) {
        #expect(set.description == text)
    }

    @Test("a status set contains the codes at its borders and none beside them")
    func contains() {
        let set: StatusSet = [.successful, 404, .codes(500...503)]
        let inside = (0...1_000).filter { set.contains($0) }
        #expect(inside == Array(200...299) + [404] + Array(500...503))
        #expect(set.contains(HTTPStatus(404)))
        #expect(!set.contains(HTTPStatus(403)))
        #expect(!StatusSet.none.contains(0))
        #expect(set == [404, .codes(500..<504), .successful])
        #expect(StatusSet.none.isEmpty)
        #expect(!set.isEmpty)
    }
}
