import LadeCore
import LadePolicies
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ServiceKeyTests {
    @Test(
        "policies PL-20 uses host, effective port and first path component as the default key",
        arguments: [
            ("https://API.example.com/v1/shows?x=1", "api.example.com:443/v1"),
            ("https://api.example.com:443/v1", "api.example.com:443/v1"),
            ("http://api.example.com", "api.example.com:80/"),
            ("http://api.example.com/", "api.example.com:80/"),
            ("http://api.example.com//a/b", "api.example.com:80/a"),
            ("http://api.example.com.:8080/a", "api.example.com:8080/a"),
            ("http://api.example.com:1?x=/y", "api.example.com:1/"), ("http://[::1]:65535/a#b", "[::1]:65535/a"),
            ("data:,x", "data:"), ("file:///etc/hosts", ":0/etc"),
        ]
    )
    func takesHostPortAndFirstComponent(url: String, key: String) throws {
        #expect(try ServiceKey(Request(url)).description == key)
    }
}
