package import LadeCore
import LadeFields

/// A challenge of the Digest scheme to which this client can respond (RFC 7616 §3.3).
package struct DigestChallenge: Equatable, Sendable {
    /// The hash function, and whether the hash covers the session's nonces too.
    package struct Algorithm: Equatable, Sendable {
        package enum Hash: Equatable, Sendable {
            case md5
            case sha256
        }

        var hash: Hash
        var isSession: Bool
        /// The name as the response repeats it; nil when the challenge had none.
        var name: String?

        /// The algorithm of that name; MD5 for nil; fails for an unknown name.
        init?(_ name: String?) {
            self.name = name
            switch name?.lowercased() {
            case nil, "md5": (hash, isSession) = (.md5, false)
            case "md5-sess": (hash, isSession) = (.md5, true)
            case "sha-256": (hash, isSession) = (.sha256, false)
            case "sha-256-sess": (hash, isSession) = (.sha256, true)
            default: return nil
            }
        }

        func digest(_ text: String) -> String {
            switch hash {
            case .md5: MD5.hash(text.utf8).hexadecimalText
            case .sha256: SHA256.hash(text.utf8).hexadecimalText
            }
        }
    }

    var realm: String
    /// The nonce of the server.
    package var nonce: String
    var opaque: String?
    var algorithm: Algorithm
    /// Whether the response contains a count and a client nonce; false for servers that predate RFC 2617.
    var hasQuality: Bool
    package var isStale: Bool
    var hashesUser: Bool

    /// Reads a challenge; fails for another scheme and for one with unsupported requirements.
    init?(_ challenge: AuthenticationChallenge) {
        guard challenge.scheme == "digest", let realm = challenge["realm"], let nonce = challenge["nonce"],
            let algorithm = Algorithm(challenge["algorithm"])
        else { return nil }
        let qualities = challenge["qop"].map { text in
            text.parts(at: ",", omitsEmpty: true).map { $0.trimmedOfSpace.asciiLowercased }
        }
        if let qualities, !qualities.contains("auth") { return nil }
        self.realm = realm
        self.nonce = nonce
        self.algorithm = algorithm
        opaque = challenge["opaque"]
        hasQuality = qualities != nil
        isStale = challenge["stale"]?.asciiLowercased == "true"
        hashesUser = challenge["userhash"]?.asciiLowercased == "true"
    }

    /// The best challenge of a response: the first of those with the strongest hash.
    package static func best(in headers: Headers, name: String = "WWW-Authenticate") -> DigestChallenge? {
        let all = AuthenticationChallenge.all(in: headers, name: name).compactMap(DigestChallenge.init)
        return all.first { $0.algorithm.hash == .sha256 } ?? all.first
    }

    /// The value of `Authorization` for one request (RFC 7616 §3.4).
    ///
    /// - Parameters:
    ///   - user: The user name.
    ///   - password: The password.
    ///   - method: The method.
    ///   - target: The request target as it is sent.
    ///   - count: How many times the nonce was used, including this time.
    ///   - clientNonce: The nonce of the client.
    /// - Returns: The value, with the proof in place of the password.
    package func answer(
        user: String,
        password: Secret,
        method: Request.Method,
        target: String,
        count: Int,
        clientNonce: String
    ) -> Secret {
        var key = algorithm.digest("\(user):\(realm):\(password.reveal())")
        if algorithm.isSession { key = algorithm.digest("\(key):\(nonce):\(clientNonce)") }
        let subject = algorithm.digest("\(method):\(target)")
        let digits = String(count, radix: 16)
        let countText = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        let proof =
            hasQuality
            ? algorithm.digest("\(key):\(nonce):\(countText):\(clientNonce):auth:\(subject)")
            : algorithm.digest("\(key):\(nonce):\(subject)")
        var parts = [userPart(user), "realm=\(realm.quoted)", "nonce=\(nonce.quoted)", "uri=\(target.quoted)"]
        if let name = algorithm.name { parts.append("algorithm=\(name)") }
        if hasQuality { parts += ["qop=auth", "nc=\(countText)"] }
        if hasQuality || algorithm.isSession { parts.append("cnonce=\(clientNonce.quoted)") }
        parts.append("response=\(proof.quoted)")
        if let opaque { parts.append("opaque=\(opaque.quoted)") }
        if hashesUser { parts.append("userhash=true") }
        return Secret("Digest " + parts.joined(separator: ", "))
    }

    private func userPart(_ user: String) -> String {
        if hashesUser { return "username=\(algorithm.digest("\(user):\(realm)").quoted)" }
        // Names beyond ASCII use another parameter (RFC 7616 §3.4).
        return user.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
            ? "username=\(user.quoted)" : "username*=UTF-8''\(user.formEncoded)"
    }
}

extension String {
    /// The text as a quoted string (RFC 9110 §5.6.4).
    fileprivate var quoted: String {
        "\"" + replacingEach("\\", with: "\\\\").replacingEach("\"", with: "\\\"") + "\""
    }
}
