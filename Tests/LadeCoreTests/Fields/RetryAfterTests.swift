import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@testable import LadeCore

@Suite("Retry-After", .timeLimit(.minutes(5)))
struct RetryAfterTests {
    private let now = Date(timeIntervalSince1970: 1_742_040_000)

    @Test(
        "Whole seconds and all forms of dates are read (RFC 9110 §10.2.3)",
        arguments: [
            ("120", .delay(.seconds(120))), ("0", .delay(.zero)), (" 60\t", .delay(.seconds(60))),
            ("007", .delay(.seconds(7))), ("2147483648", .delay(.seconds(2_147_483_648))),
            ("99999999999999999999999999999999", .delay(.seconds(2_147_483_648))),
            ("Fri, 31 Dec 1999 23:59:59 GMT", .date(Date(timeIntervalSince1970: 946_684_799))),
            ("Friday, 31-Dec-99 23:59:59 GMT", .date(Date(timeIntervalSince1970: 946_684_799))),
            ("Fri Dec 31 23:59:59 1999", .date(Date(timeIntervalSince1970: 946_684_799))),
        ] as [(String, Headers.RetryAfter)]
    )
    func reads(text: String, expected: Headers.RetryAfter) throws {
        #expect(try Headers.RetryAfter(text, now: now) == expected)
    }

    @Test(
        "Anything else is an error",
        arguments: [
            "", " ", "-5", "+5", "1.5", "1e3", "120abc", "120 s", "120, 60", "soon", "Fri, 31 Dec", "٣", "0x10",
        ]
    )
    func rejects(text: String) throws {
        let error = try #require(throws: Headers.FieldError.self) { try Headers.RetryAfter(text, now: now) }
        #expect(error.field == "Retry-After")
    }

    @Test("policies PL-13 a date is compared with the server's clock when the answer has a date")
    func serverClock() throws {
        let retry = try Headers.RetryAfter("Fri, 31 Dec 1999 23:59:59 GMT", now: now)
        let serverDate = Date(timeIntervalSince1970: 946_684_799 - 30)

        #expect(retry.delay(serverDate: serverDate, now: now) == .seconds(30))
        #expect(retry.delay(serverDate: nil, now: serverDate.addingTimeInterval(10)) == .seconds(20))
        #expect(Headers.RetryAfter.delay(.seconds(5)).delay(serverDate: serverDate, now: now) == .seconds(5))
    }

    @Test(
        "A wait for a date is never negative and never more than 2^31 seconds",
        arguments: [(0, 0), (1e300, 2_147_483_648), (.nan, 0), (.infinity, 2_147_483_648), (-.infinity, 0)]
            as [(Double, Int64)]
    )
    func dateBounds(seconds: Double, expected: Int64) {
        // The date is made here: Foundation traps when it prints such a date as the argument of a test.
        let retry = Headers.RetryAfter.date(Date(timeIntervalSince1970: seconds))
        #expect(retry.delay(serverDate: nil, now: now) == .seconds(expected))
    }

    @Test(
        "A delay is never negative and never more than 2^31 seconds",
        arguments: [(-1, 0), (Int64.max, 2_147_483_648), (Int64.min, 0), (5, 5)] as [(Int64, Int64)]
    )
    func delayBounds(seconds: Int64, expected: Int64) {
        #expect(Headers.RetryAfter.delay(.seconds(seconds)).delay(serverDate: nil, now: now) == .seconds(expected))
    }

    @Test("A delay is written in whole seconds, rounded up so that no client comes early")
    func writes() throws {
        #expect(Headers.RetryAfter.delay(.seconds(120)).description == "120")
        #expect(Headers.RetryAfter.delay(.milliseconds(1_001)).description == "2")
        #expect(Headers.RetryAfter.delay(.seconds(-3)).description == "0")
        #expect(
            Headers.RetryAfter.date(Date(timeIntervalSince1970: 946_684_799)).description
                == "Fri, 31 Dec 1999 23:59:59 GMT"
        )
    }

    @Test("Values survive writing and reading")
    func roundTrip() throws {
        var samples = FieldSamples()
        for _ in 0..<2_000 {
            let retry: Headers.RetryAfter =
                samples.bool()
                ? .delay(.seconds(samples.int64(0...FieldCursor.deltaSecondsLimit)))
                : .date(Date(timeIntervalSince1970: Double(samples.int64(-1_000_000_000...9_000_000_000))))
            #expect(try Headers.RetryAfter(retry.description, now: now) == retry, samples.note)
        }
    }

    @Test("Long hostile values end in a value or an error", arguments: hostileFields.indices)
    func hostile(index: Int) {
        let retry = try? Headers.RetryAfter(hostileFields[index].value, now: now)
        #expect(retry == (hostileFields[index].name == "digits" ? .delay(.seconds(2_147_483_648)) : nil))
    }
}
