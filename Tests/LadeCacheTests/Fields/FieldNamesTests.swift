import LadeCache
import LadeCore
import SharedDoubles
import Testing

@Suite("Names of fields that mean something to a cache", .timeLimit(.minutes(5)))
struct FieldNamesTests {
    private static let table: [(String, FieldNames)] = [
        ("Connection", .connection), ("TE", .hopByHop), ("Trailer", .hopByHop), ("Upgrade", .hopByHop),
        ("Keep-Alive", .hopByHop), ("Proxy-Connection", .hopByHop), ("Transfer-Encoding", .hopByHop),
        ("Proxy-Authenticate", .hopByHop), ("Proxy-Authorization", .hopByHop),
        ("Proxy-Authentication-Info", .hopByHop), ("Cache-Control", .cacheControl), ("Pragma", .pragma),
        ("Age", .age), ("Date", .date), ("Expires", .expires), ("Last-Modified", .lastModified),
        ("ETag", .entityTag), ("Vary", .vary), ("Content-Length", .contentLength),
        ("Content-Encoding", .contentEncoding), ("Set-Cookie", .setCookie), ("Clear-Site-Data", .clearSiteData),
        ("Repr-Digest", .digest), ("Content-Digest", .digest), ("Range", .range), ("If-None-Match", .condition),
        ("If-Modified-Since", .condition), ("If-Match", .condition), ("If-Unmodified-Since", .condition),
        ("If-Range", .condition), ("Authorization", .authorization), ("Host", .host),
        ("Accept-Encoding", .acceptEncoding),
    ]

    @Test("cache CA-30 CA-51 a name is found in any case, and no other name is taken for it", arguments: table)
    func finds(name: String, member: FieldNames) {
        for spelling in [name, name.lowercased(), name.uppercased()] {
            #expect(FieldNames([spelling: "1"]) == member)
        }
        for index in name.indices {
            var other = name
            other.replaceSubrange(index...index, with: "x")
            #expect(FieldNames([other: "1"]).isEmpty || other.lowercased() == name.lowercased(), "\(other)")
        }
        #expect(FieldNames(["\(name)x": "1"]).isEmpty)
        #expect(FieldNames(["x\(name)": "1"]).isEmpty)
    }

    @Test("cache CA-30 the names of a section are those of all its fields, also of a received one")
    func joins() {
        var builder = HeaderBlock.Builder()
        for line in ["Age: 1", "X-Other: 2", "vary: a"] {
            let octets = Array(line.utf8)
            let colon = octets.firstIndex(of: UInt8(ascii: ":")) ?? 0
            octets.withUnsafeBufferPointer { builder.append($0, name: colon, value: colon + 2..<octets.count) }
        }

        #expect(FieldNames(Headers(checked: builder.block)) == [.age, .vary])
        #expect(FieldNames(["Age": "1", "X-Other": "2", "vary": "a"]) == [.age, .vary])
        #expect(FieldNames([:]).isEmpty)
    }
}
