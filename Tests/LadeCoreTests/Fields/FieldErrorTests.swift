import Testing

@testable import LadeCore

@Suite("Field errors", .timeLimit(.minutes(5)))
struct FieldErrorTests {
    @Test(
        "A field error says in one sentence what is wrong and where",
        arguments: [
            (
                Headers.FieldError.Reason.expected("a digit"),
                "The Age value cannot be read: expected a digit at byte 7."
            ),
            (.outOfRange("the day"), "The Age value cannot be read: the day at byte 7 is out of range."),
            (.trailingBytes, "The Age value cannot be read: it should end at byte 7."),
            (.limitExceeded(3), "The Age value cannot be read: more than 3 members at byte 7."),
            (.notWritable("the key"), "The Age value cannot be written: the key is not allowed there."),
        ]
    )
    func description(reason: Headers.FieldError.Reason, expected: String) {
        #expect(Headers.FieldError(field: "Age", reason: reason, offset: 7).description == expected)
    }
}
