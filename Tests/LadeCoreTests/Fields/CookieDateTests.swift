import Foundation
import LadeCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CookieDateTests {
    @Test(
        "reads the dates of cookies in whatever order and shape (RFC 6265bis §5.1.1)",
        arguments: [
            "Wed, 09 Jun 2021 10:18:14 GMT", "Wed, 09-Jun-21 10:18:14 GMT", "Wed Jun  9 10:18:14 2021",
            "9 june 2021 10:18:14", "10:18:14 2021 JUNE 9th", "junebug;9;21;10:18:14xyz",
        ]
    )
    func reads(text: String) {
        #expect(CookieDate.date(text) == Date(timeIntervalSince1970: 1_623_233_894))
    }

    @Test(
        "refuses texts that are not dates",
        arguments: [
            "", "tomorrow", "09 Jun 2021", "10:18 09 Jun 2021", "10:18:14 09 Jun", "10:18:14 31 Feb 2021",
            "24:00:00 09 Jun 2021", "10:60:14 09 Jun 2021", "10:18:14 09 Jun 1600", "10:18:14 09 Abc 2021",
        ]
    )
    func refuses(text: String) {
        #expect(CookieDate.date(text) == nil)
    }

    @Test(
        "treats two digits below 70 as a year of this century",
        arguments: [("69", 3_139_862_400.0), ("70", 15_638_400.0)]
    )
    func century(year: String, seconds: Double) {
        #expect(CookieDate.date("01 Jul \(year) 00:00:00") == Date(timeIntervalSince1970: seconds))
    }
}
