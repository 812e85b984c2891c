import Lade
import Testing

@testable import LadeCommand

@Suite("The mask of secrets", .timeLimit(.minutes(5)))
struct SecretMaskTests {
    @Test("hides every form of all secrets, the earlier ones too, but no short text")
    func masks() {
        let mask = SecretMask()
        #expect(mask.masked("the word is hunter22") == "the word is hunter22")
        mask.add([Secret("hunter22"), Secret("abc")])
        mask.add([Secret("say \"yes\"")])

        #expect(mask.masked("the word is hunter22!") == "the word is <redacted>!")
        #expect(mask.masked(#"{"a":"say \"yes\"","b":"say "yes""}"#) == #"{"a":"<redacted>","b":"<redacted>"}"#)
        #expect(mask.masked("the alphabet begins with abc") == "the alphabet begins with abc")
        #expect(mask.masked("") == "")
        // Messages show such a character escaped.
        mask.add([Secret("left\u{202E}right")])
        #expect(mask.masked("it is " + "left\u{202E}right".escapedForDisplay()) == "it is <redacted>")
    }

    @Test("hides nothing when the user asks to see secrets")
    func shows() {
        let mask = SecretMask()
        mask.add([Secret("hunter22")])
        #expect(!mask.showsSecrets)
        mask.showSecrets()

        #expect(mask.showsSecrets)
        #expect(mask.masked("hunter22") == "hunter22")
    }
}
