import LadeCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PercentCodingTests {
    @Test(
        "decodes both digits of every triple, and leaves what is none",
        arguments: [
            ("a%20b", "a b"), ("%2F", "/"), ("%2f", "/"), ("%7E%41", "~A"), ("100%", "100%"), ("%4", "%4"),
            ("%zz%41", "%zzA"), ("%C3%A4", "ä"), ("", ""),
        ]
    )
    func decodes(written: String, decoded: String) {
        #expect(String(decoding: written.percentDecodedBytes, as: UTF8.self) == decoded)
    }
}
