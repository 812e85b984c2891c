import Testing

@testable import LadeCore

private let directives: [(rule: String, line: String, change: @Sendable (inout CacheControl) -> Void)] = [
    ("RFC 9111 §5.2.2.1", "max-age=604800", { $0.maxAge = .seconds(604_800) }),
    ("§5.2.2.10", "s-maxage=10", { $0.sharedMaxAge = .seconds(10) }),
    ("§5.2.1.2", "max-stale=10", { $0.maxStale = .upTo(.seconds(10)) }),
    ("§5.2.1.2 without a number", "max-stale", { $0.maxStale = .any }),
    ("§5.2.1.3", "min-fresh=20", { $0.minFresh = .seconds(20) }),
    ("§5.2.2.4", "no-cache", { $0.noCache = .everything }),
    ("§5.2.2.4 fields", #"no-cache="Set-Cookie, X-A""#, { $0.noCache = .fields(["set-cookie", "x-a"]) }),
    ("§5.2.2.4 one field unquoted", "no-cache=Set-Cookie", { $0.noCache = .fields(["set-cookie"]) }),
    ("§5.2.2.7", "private", { $0.privateScope = .everything }),
    ("§5.2.2.7 fields", #"private=" a ,, b,a ""#, { $0.privateScope = .fields(["a", "b"]) }),
    ("§5.2.2.5", "no-store", { $0.noStore = true }),
    ("§5.2.2.6", "no-transform", { $0.noTransform = true }),
    ("§5.2.1.7", "only-if-cached", { $0.onlyIfCached = true }),
    ("§5.2.2.2", "must-revalidate", { $0.mustRevalidate = true }),
    ("§5.2.2.8", "proxy-revalidate", { $0.proxyRevalidate = true }),
    ("§5.2.2.3", "must-understand", { $0.mustUnderstand = true }),
    ("§5.2.2.9", "public", { $0.isPublic = true }),
    ("RFC 8246 §2", "immutable", { $0.isImmutable = true }),
    ("RFC 5861 §3", "stale-while-revalidate=30", { $0.staleWhileRevalidate = .seconds(30) }),
    ("RFC 5861 §4", "stale-if-error=1200", { $0.staleIfError = .seconds(1_200) }),
    (
        "§5.2 any case", "Max-Age=1, NO-STORE",
        {
            $0.maxAge = .seconds(1); $0.noStore = true
        }
    ),
    ("§5.2 quoted number", #"max-age="60""#, { $0.maxAge = .seconds(60) }),
    ("§1.2.2 saturation", "max-age=99999999999999999999", { $0.maxAge = .seconds(2_147_483_648) }),
    (
        "§5.2.3 extension", #"community="UCI Ü", x=1, y"#,
        {
            $0.extensions = [
                .init(checkedName: "community", argument: "UCI Ü"), .init(checkedName: "x", argument: "1"),
                .init(checkedName: "y", argument: nil),
            ]
        }
    ),
    ("RFC 9110 §5.6.1.2 empty members", " ,, no-store ,\t,", { $0.noStore = true }),
    ("nothing", "", { _ in }),
]

private let contradictions: [(rule: String, line: String, change: @Sendable (inout CacheControl) -> Void)] = [
    ("first of two", "max-age=10, max-age=20", { $0.maxAge = .seconds(10) }),
    ("broken first", "max-age=x, max-age=20", { $0.maxAge = .zero }),
    ("negative", "max-age=-1", { $0.maxAge = .zero }),
    ("fraction", "max-age=1.5", { $0.maxAge = .zero }),
    ("no number", "max-age", { $0.maxAge = .zero }),
    ("empty", "max-age=", { $0.maxAge = .zero }),
    ("tail", "max-age=10s", { $0.maxAge = .zero }),
    ("two numbers", "max-age=10 20", { $0.maxAge = .zero }),
    ("semicolon", "max-age=10; no-store", { $0.maxAge = .zero }),
    ("shared", "s-maxage=x", { $0.sharedMaxAge = .zero }),
    ("broken max-stale", "max-stale=x", { _ in }),
    ("broken max-stale", "max-stale=", { _ in }),
    ("broken min-fresh", "min-fresh=x", { _ in }),
    ("broken stale-if-error", "stale-if-error, stale-while-revalidate=-1", { _ in }),
    ("no-cache wins", #"no-cache="a", no-cache"#, { $0.noCache = .everything }),
    ("no-cache wins", #"no-cache, no-cache="a""#, { $0.noCache = .everything }),
    ("names are joined", #"private="a, b", private="c, a""#, { $0.privateScope = .fields(["a", "b", "c"]) }),
    ("broken names", #"private="a b""#, { $0.privateScope = .everything }),
    ("broken names", #"private="a, @""#, { $0.privateScope = .everything }),
    ("no names", #"no-cache="""#, { $0.noCache = .everything }),
    ("no names", "no-cache=", { $0.noCache = .everything }),
    ("open string", #"private="a, no-store"#, { $0.privateScope = .everything }),
    (
        "argument where none belongs", #"no-store=1, must-revalidate="x""#,
        {
            $0.noStore = true; $0.mustRevalidate = true
        }
    ),
    ("blank in between", "no store, no-store x", { $0.noStore = true }),
    ("blank around =", "max-age = 10", { $0.maxAge = .zero }),
    (
        "blank before =", "max-age =10, s-maxage\t=10",
        {
            $0.maxAge = .zero; $0.sharedMaxAge = .zero
        }
    ),
    ("blank after =", "max-age= 10", { $0.maxAge = .zero }),
    ("blank in the string", #"max-age=" 10", min-fresh="1 ""#, { $0.maxAge = .zero }),
    ("blank at =", "max-stale =1, min-fresh= 1, stale-if-error = 1, stale-while-revalidate =1, x = y", { _ in }),
    (
        "blank at =", #"no-cache ="a", private= "a""#,
        {
            $0.noCache = .everything; $0.privateScope = .everything
        }
    ),
    ("garbage", "=1, \"max-age=3, public\", @, no-store", { $0.noStore = true }),
    ("control in an extension", "x=\"\u{1}\"", { _ in }),
]

@Suite("Cache-Control", .timeLimit(.minutes(5)))
struct CacheControlTests {
    @Test(
        "Each directive is read",
        arguments: directives
    )
    func reads(rule: String, line: String, change: @Sendable (inout CacheControl) -> Void) {
        var expected = CacheControl()
        change(&expected)
        #expect(CacheControl([line]) == expected, "\(rule)")
    }

    @Test(
        "Contradictions and malformed values are read in the way that reuses less (RFC 9111 §4.2.1)",
        arguments: contradictions
    )
    func restricts(rule: String, line: String, change: @Sendable (inout CacheControl) -> Void) {
        var expected = CacheControl()
        change(&expected)
        #expect(CacheControl([line]) == expected, "\(rule)")
    }

    @Test("Several lines are one field, and an open string does not run into the next line")
    func lines() {
        let control = CacheControl(["max-age=10", #"x="open"#, "", "no-store, max-age=20"])

        #expect(control.maxAge == .seconds(10))
        #expect(control.noStore)
    }

    @Test("A field is written in full, and nothing as nothing")
    func writes() throws {
        var control = CacheControl()
        #expect(control.description.isEmpty)
        #expect(control.isEmpty)

        control.noStore = true
        control.maxAge = .milliseconds(1_999)
        control.sharedMaxAge = .seconds(-1)
        control.staleIfError = .seconds(Int64.max)
        control.maxStale = .any
        control.noCache = .fields(["set-cookie", "x y", "x-a"])
        control.privateScope = .fields([])
        control.extensions = [try .init(name: "X", argument: "a b"), try .init(name: "y")]

        #expect(
            control.description == """
                no-store, max-age=1, s-maxage=0, stale-if-error=2147483648, max-stale, \
                no-cache="set-cookie, x-a", private, x="a b", y
                """
        )
        #expect(!control.isEmpty)
    }

    @Test(
        "An extension directive is none of those with a property of their own",
        arguments: ["Max-Age", "private", "no-cache", "a b", ""]
    )
    func extensionNames(name: String) {
        #expect(throws: Headers.FieldError.self) { try CacheControl.ExtensionDirective(name: name) }
        #expect(throws: Headers.FieldError.self) { try CacheControl.ExtensionDirective(name: "x", argument: "\n") }
    }

    @Test("Fields survive writing and reading")
    func roundTrip() throws {
        var samples = FieldSamples()
        for _ in 0..<2_000 {
            var control = CacheControl()
            let duration = { (samples: inout FieldSamples) in
                Duration.seconds(samples.int64(0...FieldCursor.deltaSecondsLimit))
            }
            let scope = { (samples: inout FieldSamples) in
                let names = samples.array(0...3) { $0.text("abc-!", 1...5) }
                return names.isEmpty ? CacheControl.Scope.everything : .fields(Set(names).sorted())
            }
            control.maxAge = samples.optional(duration)
            control.sharedMaxAge = samples.optional(duration)
            control.minFresh = samples.optional(duration)
            control.staleIfError = samples.optional(duration)
            control.staleWhileRevalidate = samples.optional(duration)
            control.maxStale = samples.optional { $0.bool() ? .any : .upTo(duration(&$0)) }
            control.noCache = samples.optional(scope)
            control.privateScope = samples.optional(scope)
            control.noStore = samples.bool()
            control.isPublic = samples.bool()
            control.isImmutable = samples.bool()
            control.mustUnderstand = samples.bool()
            control.extensions = try (0..<samples.int(0...3)).map { _ in
                try .init(name: "x-" + samples.token(), argument: samples.bool() ? samples.value() : nil)
            }
            #expect(CacheControl([control.description]) == control, samples.note)
        }
    }

    @Test("Long hostile values end", arguments: hostileFields.indices)
    func hostile(index: Int) {
        let value = hostileFields[index].value
        for line in [value, "private=\"\(value)\"", "max-age=\(value)", "no-cache=\"\(value)"] {
            #expect(CacheControl([CacheControl([line]).description]) == CacheControl([line]))
        }
    }
}
