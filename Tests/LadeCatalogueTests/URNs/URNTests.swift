import Testing

@testable import LadeCatalogue

@Suite("URNs", .timeLimit(.minutes(5)))
struct URNTests {
    private static func media(_ text: String) -> CatalogueURN? {
        CatalogueURN(text).flatMap { urn in if case .media = urn.kind { urn } else { nil } }
    }

    private static func show(_ text: String) -> CatalogueURN? {
        CatalogueURN(text).flatMap { urn in if case .show = urn.kind { urn } else { nil } }
    }

    private static func topic(_ text: String) -> CatalogueURN? {
        CatalogueURN(text).flatMap { urn in if case .topic = urn.kind { urn } else { nil } }
    }

    private static func module(_ text: String) -> CatalogueURN? {
        CatalogueURN(text).flatMap { urn in if case .module = urn.kind { urn } else { nil } }
    }

    @Test("catalogue IL-SEED3 a media URN has vendor, type and identifier")
    func media() throws {
        let urn = try #require(Self.media("urn:swi:video:41981254"))

        #expect((urn.uid, urn.kind, urn.vendor) == ("41981254", .media(.video, isLiveCenterEvent: false), .swi))
        #expect(urn.text == "urn:swi:video:41981254" && urn.description == urn.text)
        #expect(Self.media("urn:rts:video:1:2:3")?.uid == "1")
    }

    @Test(
        "catalogue IL-SEED4 scheme, vendor and type have any letter case",
        arguments: ["URN:rts:video:1", "urn:RTS:video:1", "urn:rts:VIDEO:1"]
    )
    func letterCase(text: String) throws {
        let urn = try #require(Self.media(text))

        #expect((urn.uid, urn.vendor, urn.text) == ("1", .rts, text))
    }

    @Test("catalogue IL-SEED5 an identifier keeps its letter case")
    func identifierCase() {
        #expect(Self.media("urn:rsi:video:livestream_La1")?.uid == "livestream_La1")
    }

    @Test("catalogue IL-SEED6 Swiss TXT has the vendor after the type, and is a live-centre event")
    func swissTXT() throws {
        let urn = try #require(Self.media("urn:swisstxt:video:srf:1749"))

        #expect((urn.uid, urn.kind, urn.vendor) == ("1749", .media(.video, isLiveCenterEvent: true), .srf))
        #expect(urn.text == "urn:swisstxt:video:srf:1749")
        #expect(Self.media("urn:SWISSTXT:video:srf:1749") == nil)
    }

    @Test(
        "catalogue IL-SEED7 a word between vendor and type is skipped",
        arguments: ["ssatr", "livestream", "scheduled_livestream"]
    )
    func extraWord(word: String) throws {
        let urn = try #require(Self.media("urn:rts:\(word):audio:rsp"))

        #expect((urn.uid, urn.kind, urn.vendor) == ("rsp", .media(.audio, isLiveCenterEvent: false), .rts))
        #expect(urn.text == "urn:rts:\(word):audio:rsp")
        #expect(Self.media("urn:rts:\(word.uppercased()):audio:rsp") == nil)
        #expect(Self.media("urn:rts:\(word):rsp") == nil)
    }

    @Test(
        "catalogue IL-SEED8 what has not the form of a media URN is none",
        arguments: [
            "xrn:rts:video:1", "rts:video:1", "rts:video", "urn:swisstxt:video:srf:", "urn:swisstxt",
            "urn:swisstxt:video:srf:1:2", "urn:swisstxt:video:srf",
            "urn:ssatr:audio:rts:rsp", "", ":", "urn", "urn:rts:video:", "urn:rts:film:1", "urn:abc:video:1",
            "urn:rts::1",
        ]
    )
    func malformedMedia(text: String) {
        #expect(Self.media(text) == nil)
    }

    @Test("catalogue IL-SEED9 media URNs are equal when their texts are")
    func mediaEquality() {
        #expect(Self.media("urn:rts:video:1") == Self.media("urn:rts:video:1"))
        #expect(Self.media("urn:rts:video:1")?.hashValue == Self.media("urn:rts:video:1")?.hashValue)
        for other in ["urn:srf:video:1", "urn:rts:audio:1", "urn:rts:video:2"] {
            #expect(Self.media("urn:rts:video:1") != Self.media(other))
        }
    }

    @Test("catalogue IL-SEED10 a show URN has vendor, transmission and identifier")
    func show() throws {
        let urn = try #require(Self.show("urn:srf:show:online:Ab-1"))

        #expect(
            (urn.uid, urn.kind, urn.vendor, urn.text) == ("Ab-1", .show(.online), .srf, "urn:srf:show:online:Ab-1")
        )
        for text in [
            "URN:srf:show:online:x", "urn:SRF:show:online:x", "urn:srf:SHOW:online:x", "urn:srf:show:ONLINE:x",
        ] {
            #expect(Self.show(text)?.kind == .show(.online), "\(text)")
        }
    }

    @Test(
        "catalogue IL-SEED11 what has not the form of a show URN is none",
        arguments: [
            "xrn:srf:show:tv:1", "urn:srf:tv:1", "urn:srf:show:tv:", "urn:srf:topic:tv:1", "urn:srf:show:cable:1",
            "urn:srf:show:unknown:1", "urn:srf:show:tv:1:2", "urn:xyz:show:tv:1",
        ]
    )
    func malformedShow(text: String) {
        #expect(Self.show(text) == nil)
    }

    @Test("catalogue IL-SEED12 show URNs are equal when their texts are")
    func showEquality() {
        #expect(Self.show("urn:srf:show:tv:1") == Self.show("urn:srf:show:tv:1"))
        for other in ["urn:rts:show:tv:1", "urn:srf:show:tv:2", "urn:srf:show:radio:1"] {
            #expect(Self.show("urn:srf:show:tv:1") != Self.show(other))
        }
    }

    @Test("catalogue IL-SEED13 a topic URN is as a show URN with another word")
    func topic() throws {
        let urn = try #require(Self.topic("urn:rts:topic:tv:Ab"))

        #expect((urn.uid, urn.kind, urn.vendor, urn.text) == ("Ab", .topic(.tv), .rts, "urn:rts:topic:tv:Ab"))
        #expect(Self.topic("URN:RTS:TOPIC:TV:Ab")?.uid == "Ab")
        for text in [
            "xrn:rts:topic:tv:1", "urn:rts:tv:1", "urn:rts:topic:tv:", "urn:rts:show:tv:1", "urn:rts:topic:x:1",
        ] {
            #expect(Self.topic(text) == nil, "\(text)")
        }
        for other in ["urn:srf:topic:tv:Ab", "urn:rts:topic:tv:Ac", "urn:rts:topic:radio:Ab"] {
            #expect(Self.topic("urn:rts:topic:tv:Ab") != Self.topic(other))
        }
    }

    @Test("catalogue IL-SEED14 a module URN may name a section")
    func module() throws {
        let module = try #require(Self.module("urn:rts:module:event:m1"))
        let section = try #require(Self.module("urn:rts:module:event:m1:s2"))

        #expect((module.uid, module.kind, module.vendor) == ("m1", .module(.event, sectionUid: nil), .rts))
        #expect((section.uid, section.kind, section.vendor) == ("m1", .module(.event, sectionUid: "s2"), .rts))
        #expect(module.text == "urn:rts:module:event:m1" && section.text == "urn:rts:module:event:m1:s2")
    }

    @Test("catalogue IL-SEED15 the words of a module URN have any letter case, its identifiers their own")
    func moduleLetterCase() throws {
        for text in [
            "URN:rts:module:event:Ab:Cd", "urn:RTS:module:event:Ab:Cd", "urn:rts:MODULE:event:Ab:Cd",
            "urn:rts:module:EVENT:Ab:Cd",
        ] {
            let urn = try #require(Self.module(text))
            #expect((urn.uid, urn.kind) == ("Ab", .module(.event, sectionUid: "Cd")), "\(text)")
        }
    }

    @Test(
        "catalogue IL-SEED16 what has not the form of a module URN is none",
        arguments: [
            "xrn:rts:module:event:1", "urn:rts:event:1", "urn:rts:module:event:", "urn:rts:modules:event:1",
            "urn:rts:module:feast:1", "urn:rts:module:event:1:", "urn:rts:module:event:1:2:3",
        ]
    )
    func malformedModule(text: String) {
        #expect(Self.module(text) == nil)
    }

    @Test("catalogue IL-SEED17 module URNs are equal when their texts are")
    func moduleEquality() {
        #expect(Self.module("urn:rts:module:event:1:2") == Self.module("urn:rts:module:event:1:2"))
        for other in ["urn:srf:module:event:1:2", "urn:rts:module:event:1", "urn:rts:module:event:1:3"] {
            #expect(Self.module("urn:rts:module:event:1:2") != Self.module(other))
        }
    }
}
