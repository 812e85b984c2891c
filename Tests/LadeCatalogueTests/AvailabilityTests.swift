import Foundation
import Testing

@testable import LadeCatalogue

@Suite("Blocking and availability", .timeLimit(.minutes(1)))
struct AvailabilityTests {
    typealias Row = (from: Int?, to: Int?, reason: String?, blocking: BlockingReason, availability: TimeAvailability)

    static let cases: [Case<Row>] = [
        Case("IL-AVL1", (nil, nil, nil, .none, .available)),
        Case("IL-AVL2", (-10, 10, nil, .none, .available)),
        Case("IL-AVL3", (-10, nil, nil, .none, .available)),
        Case("IL-AVL4", (nil, 10, nil, .none, .available)),
        Case("IL-AVL5", (10, nil, nil, .startDate, .notYetAvailable)),
        Case("IL-AVL6", (nil, nil, "STARTDATE", .startDate, .notYetAvailable)),
        Case("IL-AVL7", (nil, -10, nil, .endDate, .notAvailableAnymore)),
        Case("IL-AVL8", (nil, nil, "ENDDATE", .endDate, .notAvailableAnymore)),
        Case("IL-AVL9", (-10, nil, "STARTDATE", .startDate, .notYetAvailable)),
        Case("IL-AVL10", (nil, -5, "STARTDATE", .startDate, .notYetAvailable)),
        Case("IL-AVL11", (nil, 10, "ENDDATE", .endDate, .notAvailableAnymore)),
        Case("IL-AVL12", (5, nil, "ENDDATE", .endDate, .notAvailableAnymore)),
        Case("IL-AVL13", (-10, 10, "LEGAL", .legal, .available)),
        Case("IL-AVL14", (5, 10, "LEGAL", .legal, .notYetAvailable)),
        Case("IL-AVL15", (-10, -5, "LEGAL", .legal, .notAvailableAnymore)),
        Case("IL-AVL16", (-10, nil, "LEGAL", .legal, .available)),
        Case("IL-AVL17", (nil, nil, "LEGAL", .legal, .available)),
        Case("IL-AVL18", (nil, nil, "A_REASON_OF_TOMORROW", .unknown, .available)),
    ]

    @Test("catalogue IL-AVL1 to IL-AVL18: dates and the reason of the service decide", arguments: cases)
    func availability(_ entry: Case<Row>) throws {
        let now = try date("2024-05-01T12:00:00Z")
        var members: [String] = []
        for (key, offset) in [("validFrom", entry.row.from), ("validTo", entry.row.to)] {
            guard let offset else { continue }
            members.append("\"\(key)\": \"\(now.addingTimeInterval(Double(offset)).ISO8601Format())\"")
        }
        if let reason = entry.row.reason { members.append("\"blockReason\": \"\(reason)\"") }
        let json = "{\(members.joined(separator: ", "))}"

        let media = try decoded(Media.self, json)
        let chapter = try decoded(Chapter.self, json)
        let segment = try decoded(Segment.self, json)

        #expect(media.blockingReason(at: now) == entry.row.blocking)
        #expect(media.timeAvailability(at: now) == entry.row.availability)
        #expect(media.isPlayable(at: now) == (entry.row.blocking == .none))
        #expect(chapter.blockingReason(at: now) == entry.row.blocking)
        #expect(chapter.timeAvailability(at: now) == entry.row.availability)
        #expect(segment.blockingReason(at: now) == entry.row.blocking)
        #expect(segment.timeAvailability(at: now) == entry.row.availability)
    }

    @Test("both dates belong to the time that something is available")
    func boundaries() throws {
        let start = try date("2024-05-01T12:00:00Z")
        let end = try date("2024-05-02T12:00:00Z")
        var media = Media()
        media.startDate = start
        media.endDate = end

        #expect(media.timeAvailability(at: start) == .available && media.blockingReason(at: start) == .none)
        #expect(media.timeAvailability(at: end) == .available && media.blockingReason(at: end) == .none)
        #expect(media.blockingReason(at: start.addingTimeInterval(-0.001)) == .startDate)
        #expect(media.blockingReason(at: end.addingTimeInterval(0.001)) == .endDate)

        var program = Program()
        program.startDate = start
        program.endDate = end
        #expect(program.timeAvailability(at: start) == .available && program.timeAvailability(at: end) == .available)
        #expect(program.timeAvailability(at: start.addingTimeInterval(-0.001)) == .notYetAvailable)
        #expect(program.timeAvailability(at: end.addingTimeInterval(0.001)) == .notAvailableAnymore)
    }

    @Test("catalogue IL-PRG1, IL-PRG2, IL-PRG3: the image of a program is none when it stands in for a missing one")
    func programImage() throws {
        let image = #""imageUrl": "https://img.example.org/p.jpg""#

        #expect(try decoded(Program.self, "{\(image), \"imageIsFallbackUrl\": false}").image != nil)
        #expect(try decoded(Program.self, "{\(image), \"imageIsFallbackUrl\": true}").image == nil)
        #expect(try decoded(Program.self, "{\"imageIsFallbackUrl\": true}").image == nil)
        #expect(try decoded(Program.self, "{\(image)}").image != nil)
    }
}
