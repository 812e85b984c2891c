import LadeCore

@testable import LadeExchange

extension Target {
    /// The heads of an exchange, cut into lines as the wire library does: each with its line feed, but maybe the last.
    static let responseHead = Target(name: "response-head") { bytes in
        for tolerances in [TransportSettings.Tolerances(), TransportSettings.Tolerances(rawValue: ~0)] {
            var limits = TransportSettings.ResponseLimits()
            limits.headBytes = 4_096
            limits.headFields = 16
            var vetting = HeadVetting(limits: limits, tolerances: tolerances)
            var rest = bytes[...]
            while !rest.isEmpty {
                let end = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.endIndex
                let line = Array(rest[..<end])
                rest = rest[end...]
                guard let finding = try? line.withUnsafeBufferPointer({ try vetting.take($0) }) else { break }
                check(finding, limits, isStrict: tolerances.isEmpty)
            }
            expect(tolerances.isEmpty ? vetting.tolerated.isEmpty : true, "a breach was tolerated unasked")
            for field in vetting.takeTrailers() { check(field) }
        }
    }

    private static func check(
        _ finding: HeadVetting.Finding,
        _ limits: TransportSettings.ResponseLimits,
        isStrict: Bool
    ) {
        switch finding {
        case .more: break
        case .interim(let status, let headers):
            expect(status.statusClass == .informational && status != 101, "\(status) is no interim status")
            for field in headers { check(field) }
        case .final(let head):
            expect((200...999).contains(head.status.code), "\(head.status) is no final status")
            expect(head.headers.count <= limits.headFields, "\(head.headers.count) fields were taken")
            expect(!(isStrict && head.isChunked && head.contentLength != nil), "a head has two kinds of framing")
            expect((head.contentLength ?? 0) >= 0, "a length is negative")
            for field in head.headers { check(field) }
        }
    }

    /// Whatever was taken could be sent on as it is: nothing in it ends a line.
    private static func check(_ field: Headers.Field) {
        let again = Headers([(field.name, field.value)])
        expect(again.fault == nil, "\(field.name) is taken and may not be sent")
    }
}
