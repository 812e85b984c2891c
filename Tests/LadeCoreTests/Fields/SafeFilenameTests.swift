import Testing

@testable import LadeCore
@testable import LadeFields

@Suite("Safe file names", .timeLimit(.minutes(5)))
struct SafeFilenameTests {
    @Test(
        "command CM-06 file names from a server are sanitised",
        arguments: [
            ("report.pdf", "report.pdf"), ("Übersicht 2024.pdf", "Übersicht 2024.pdf"), ("漢字.txt", "漢字.txt"),
            ("../../etc/passwd", "passwd"), (#"..\..\windows\win.ini"#, "win.ini"), (#"C:\dir\a.txt"#, "a.txt"),
            ("/etc/shadow", "shadow"), ("dir/", nil), ("..", nil), (".", nil), ("...", nil), ("", nil), ("   ", nil),
            (".bashrc", "bashrc"), ("..hidden", "hidden"), (" . .x", "x"), ("a.txt. . ", "a.txt"),
            ("a\0b.txt", "ab.txt"), ("a\r\nb", "ab"), ("\u{1B}[31mred", "[31mred"), ("a\u{7F}\u{9B}b", "ab"),
            ("invoice\u{202E}fdp.exe", "invoicefdp.exe"), ("a\u{200B}\u{FEFF}\u{2028}b", "ab"),
            (#"a<b>c:d"e|f?g*h"#, "a_b_c_d_e_f_g_h"), ("a:b", "a_b"),
            ("-rf", "_rf"), ("--help", "_-help"), ("a-b", "a-b"), ("~root", "~root"),
            ("CON", "_CON"), ("con.txt", "_con.txt"), ("nul.tar.gz", "_nul.tar.gz"), ("COM1", "_COM1"),
            ("lpt9.log", "_lpt9.log"), ("COM¹.txt", "_COM¹.txt"), ("AUX .txt", "_AUX .txt"), ("CONIN$", "_CONIN$"),
            ("console", "console"), ("COM10", "COM10"), ("common", "common"), ("com", "com"),
            ("\u{301}", "\u{301}"), ("%2e%2e%2fpasswd", "%2e%2e%2fpasswd"),
        ] as [(String, String?)]
    )
    func sanitises(name: String, expected: String?) {
        #expect(ContentDisposition.safeFilename(from: name) == expected)
    }

    @Test("command CM-06 a name that is too long is cut before its extension")
    func length() throws {
        let long = try #require(ContentDisposition.safeFilename(from: String(repeating: "a", count: 300) + ".tar"))
        let wide = try #require(ContentDisposition.safeFilename(from: String(repeating: "漢", count: 300) + ".txt"))
        let bare = try #require(ContentDisposition.safeFilename(from: String(repeating: "x", count: 300)))
        let marks = try #require(
            ContentDisposition.safeFilename(from: "a" + String(repeating: "\u{301}", count: 9_000))
        )

        #expect(long.utf8.count == 200)
        #expect(long.hasSuffix("aaa.tar"))
        #expect(wide.utf8.count <= 200)
        #expect(wide.hasSuffix("漢.txt"))
        #expect(bare.utf8.count == 200)
        #expect(marks.utf8.count <= 200)
        #expect(marks.unicodeScalars.first == "a")
    }

    @Test("A long extension does not remove the name")
    func longExtension() throws {
        let name = "a." + String(repeating: "x", count: 300)
        #expect(try #require(ContentDisposition.safeFilename(from: name)).hasPrefix("a.x"))
    }

    @Test("The name of the field is sanitised as it was decoded")
    func decoded() throws {
        let disposition = try ContentDisposition("attachment; filename*=UTF-8''..%2F..%2F.ssh%2Fauthorized_keys%00")
        #expect(disposition.safeFilename == "authorized_keys")
        #expect(try ContentDisposition("attachment").safeFilename == nil)
    }

    @Test("Whatever the name, the safe one keeps all rules, and is safe already")
    func properties() {
        var samples = FieldSamples()
        for _ in 0..<5_000 {
            let name = samples.text("ab./\\ -:\0\n\u{202E}漢é\"COMNUL1*~\u{301}", 0...300)
            guard let safe = ContentDisposition.safeFilename(from: name) else { continue }

            #expect(!safe.isEmpty, samples.note)
            #expect(safe.utf8.count <= 200, samples.note)
            #expect(
                !safe.unicodeScalars.contains { #"/\:"*"#.unicodeScalars.contains($0) || $0.value < 0x20 },
                samples.note
            )
            #expect(
                !safe.hasPrefix(".") && !safe.hasPrefix("-") && !safe.hasSuffix(".") && !safe.hasSuffix(" "),
                samples.note
            )
            #expect(ContentDisposition.safeFilename(from: safe) == safe, samples.note)
        }
    }
}
