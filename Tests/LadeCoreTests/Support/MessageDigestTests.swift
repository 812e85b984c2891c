import LadeCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MessageDigestTests {
    @Test(
        "SHA-256 gives the values of FIPS 180-4, whatever the padding",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (String(repeating: "a", count: 1000), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"),
        ]
    )
    func sha256(text: String, digest: String) {
        #expect(SHA256.hash(text.utf8).hexadecimalText == digest)
        var bytes = SHA256()
        for byte in text.utf8 { bytes.update([byte]) }
        #expect(bytes.finish().hexadecimalText == digest)
    }

    @Test("SHA-256 of a million bytes is the same in pieces of any size")
    func sha256InPieces() {
        var hash = SHA256()
        for _ in 0..<1000 { hash.update(repeatElement(UInt8(ascii: "a"), count: 1000)) }

        let digest = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        #expect(hash.finish().hexadecimalText == digest)
        #expect(hash.finish().hexadecimalText == digest)
    }

    @Test(
        "MD5 gives the values of RFC 1321",
        arguments: [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a"
            ),
            (String(repeating: "a", count: 55), "ef1772b6dff9a122358552954ad0df65"),
            (String(repeating: "a", count: 56), "3b0c8ac703f828b04c6c197006d17218"),
            (String(repeating: "a", count: 64), "014842d480b571495a4a0363793f7367"),
        ]
    )
    func md5(text: String, digest: String) {
        #expect(MD5.hash(text.utf8).hexadecimalText == digest)
    }
}
