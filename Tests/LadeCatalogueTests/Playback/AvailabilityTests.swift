import Foundation
import Testing

@testable import LadeCatalogue

@Suite("Blocking and availability", .timeLimit(.minutes(5)))
struct AvailabilityTests {
    private func expect(
        from: Int? = nil,
        to: Int? = nil,
        reason: String? = nil,
        _ blocking: Catalogue.BlockingReason,
        _ availability: Catalogue.TimeAvailability,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let now = try date("2024-05-01T12:00:00Z")
        var members: [String] = []
        for (key, offset) in [("validFrom", from), ("validTo", to)] {
            guard let offset else { continue }
            members.append("\"\(key)\": \"\(now.addingTimeInterval(Double(offset)).ISO8601Format())\"")
        }
        if let reason { members.append("\"blockReason\": \"\(reason)\"") }
        let json = "{\(members.joined(separator: ", "))}"

        let media = try decoded(Catalogue.Media.self, json)
        let chapter = try decoded(Catalogue.Chapter.self, json)
        let segment = try decoded(Catalogue.Segment.self, json)

        #expect(media.isPlayable(at: now) == (blocking == .none), sourceLocation: location)
        let reasons = [media.blockingReason(at: now), chapter.blockingReason(at: now), segment.blockingReason(at: now)]
        #expect(reasons == [blocking, blocking, blocking], sourceLocation: location)
        let times = [
            media.timeAvailability(at: now), chapter.timeAvailability(at: now), segment.timeAvailability(at: now),
        ]
        #expect(times == [availability, availability, availability], sourceLocation: location)
    }

    @Test("catalogue IL-AVL1 without dates and reason everything is available")
    func availability1() throws {
        try expect(.none, .available)
    }

    @Test("catalogue IL-AVL2 between its dates a media is available")
    func availability2() throws {
        try expect(from: -10, to: 10, .none, .available)
    }

    @Test("catalogue IL-AVL3 after its first date a media is available")
    func availability3() throws {
        try expect(from: -10, .none, .available)
    }

    @Test("catalogue IL-AVL4 before its last date a media is available")
    func availability4() throws {
        try expect(to: 10, .none, .available)
    }

    @Test("catalogue IL-AVL5 before its first date a media is not yet available")
    func availability5() throws {
        try expect(from: 10, .startDate, .notYetAvailable)
    }

    @Test("catalogue IL-AVL6 the reason STARTDATE alone is not yet available")
    func availability6() throws {
        try expect(reason: "STARTDATE", .startDate, .notYetAvailable)
    }

    @Test("catalogue IL-AVL7 after its last date a media is not available anymore")
    func availability7() throws {
        try expect(to: -10, .endDate, .notAvailableAnymore)
    }

    @Test("catalogue IL-AVL8 the reason ENDDATE alone is not available anymore")
    func availability8() throws {
        try expect(reason: "ENDDATE", .endDate, .notAvailableAnymore)
    }

    @Test("catalogue IL-AVL9 the reason STARTDATE overrides a first date that has passed")
    func availability9() throws {
        try expect(from: -10, reason: "STARTDATE", .startDate, .notYetAvailable)
    }

    @Test("catalogue IL-AVL10 the reason STARTDATE overrides a last date that has passed")
    func availability10() throws {
        try expect(to: -5, reason: "STARTDATE", .startDate, .notYetAvailable)
    }

    @Test("catalogue IL-AVL11 the reason ENDDATE overrides a last date to come")
    func availability11() throws {
        try expect(to: 10, reason: "ENDDATE", .endDate, .notAvailableAnymore)
    }

    @Test("catalogue IL-AVL12 the reason ENDDATE overrides a first date to come")
    func availability12() throws {
        try expect(from: 5, reason: "ENDDATE", .endDate, .notAvailableAnymore)
    }

    @Test("catalogue IL-AVL13 another reason blocks a media that is available")
    func availability13() throws {
        try expect(from: -10, to: 10, reason: "LEGAL", .legal, .available)
    }

    @Test("catalogue IL-AVL14 another reason blocks a media that is not yet available")
    func availability14() throws {
        try expect(from: 5, to: 10, reason: "LEGAL", .legal, .notYetAvailable)
    }

    @Test("catalogue IL-AVL15 another reason blocks a media that is not available anymore")
    func availability15() throws {
        try expect(from: -10, to: -5, reason: "LEGAL", .legal, .notAvailableAnymore)
    }

    @Test("catalogue IL-AVL16 another reason blocks a media with a first date that has passed")
    func availability16() throws {
        try expect(from: -10, reason: "LEGAL", .legal, .available)
    }

    @Test("catalogue IL-AVL17 another reason blocks a media without dates")
    func availability17() throws {
        try expect(reason: "LEGAL", .legal, .available)
    }

    @Test("catalogue IL-AVL18 a reason that is not listed is unknown")
    func availability18() throws {
        try expect(reason: "A_REASON_OF_TOMORROW", .unknown, .available)
    }

    @Test("both dates belong to the time that something is available")
    func boundaries() throws {
        let start = try date("2024-05-01T12:00:00Z")
        let end = try date("2024-05-02T12:00:00Z")
        var media = Catalogue.Media()
        media.startDate = start
        media.endDate = end

        #expect(media.timeAvailability(at: start) == .available && media.blockingReason(at: start) == .none)
        #expect(media.timeAvailability(at: end) == .available && media.blockingReason(at: end) == .none)
        #expect(media.blockingReason(at: start.addingTimeInterval(-0.001)) == .startDate)
        #expect(media.blockingReason(at: end.addingTimeInterval(0.001)) == .endDate)

        var program = Catalogue.Program()
        program.startDate = start
        program.endDate = end
        #expect(program.timeAvailability(at: start) == .available && program.timeAvailability(at: end) == .available)
        #expect(program.timeAvailability(at: start.addingTimeInterval(-0.001)) == .notYetAvailable)
        #expect(program.timeAvailability(at: end.addingTimeInterval(0.001)) == .notAvailableAnymore)
    }

    private func programImage(_ members: String) throws -> CatalogueImage? {
        try decoded(Catalogue.Program.self, "{\(members)}").image
    }

    @Test("catalogue IL-PRG1 a program has the image of its address")
    func ownImage() throws {
        #expect(try programImage(#""imageUrl": "https://img.example.org/p.jpg", "imageIsFallbackUrl": false"#) != nil)
        #expect(try programImage(#""imageUrl": "https://img.example.org/p.jpg""#) != nil)
    }

    @Test("catalogue IL-PRG2 an image that stands in for a missing one is none")
    func fallbackImage() throws {
        #expect(try programImage(#""imageUrl": "https://img.example.org/p.jpg", "imageIsFallbackUrl": true"#) == nil)
    }

    @Test("catalogue IL-PRG3 a program without an address has no image")
    func noImage() throws {
        #expect(try programImage(#""imageIsFallbackUrl": true"#) == nil)
    }
}
