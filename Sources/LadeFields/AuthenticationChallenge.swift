public import LadeCore

/// One challenge of `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110 §11.6.1): a scheme with its parameters.
///
/// ```swift
/// let challenges = AuthenticationChallenge.all(in: response.headers)
/// let realm = challenges.first { $0.scheme == "basic" }?["realm"]
/// ```
public struct AuthenticationChallenge: Sendable, Hashable {
    /// The scheme, in lower case: `basic`, `bearer`, `digest`.
    public let scheme: String
    /// The token of schemes without parameters, such as `negotiate`; nil for others.
    public let token: String?
    /// The parameters in order, names in lower case, values without quotes.
    public let parameters: [FieldParameter]

    /// The value of the first parameter of that name.
    public subscript(name: String) -> String? {
        parameters.first { $0.name.equalsIgnoringASCIICase(name) }?.value
    }

    /// Every challenge of a header section, in order; malformed ones are left out.
    public static func all(
        in headers: Headers,
        name: String = "WWW-Authenticate"
    ) -> [AuthenticationChallenge] {
        headers.all(name).flatMap { parse($0) }
    }

    /// Every challenge of one field value, in order.
    ///
    /// Challenges and their parameters are both separated by commas; a name that is followed by neither `=` nor `,`
    /// begins a new challenge.
    public static func parse(_ value: String) -> [AuthenticationChallenge] {
        var cursor = FieldCursor(value, field: "challenge")
        var found: [AuthenticationChallenge] = []
        // The challenge being read. Its parameters grow in place, because a server may send very many.
        var (scheme, token): (String?, String?) = (nil, nil)
        var parameters: [FieldParameter] = []
        func close() {
            guard let scheme else { return }
            found.append(AuthenticationChallenge(scheme: scheme, token: token, parameters: parameters))
            parameters = []
        }
        while true {
            cursor.skipEmptyMembers()
            guard !cursor.isAtEnd else {
                close()
                return found
            }
            guard let name = cursor.lowercasedToken() else {
                cursor.skip(to: .comma)
                continue
            }
            let hasSpace = cursor.next?.isFieldWhitespace == true
            cursor.skipWhitespace()
            if cursor.next == UInt8(ascii: "="), scheme != nil {
                if let parameter = parameter(name, &cursor) { parameters.append(parameter) }
            } else {
                close()
                (scheme, token) = (name, hasSpace ? token68(&cursor) : nil)
            }
        }
    }

    private static func parameter(_ name: String, _ cursor: inout FieldCursor) -> FieldParameter? {
        _ = cursor.take("=")
        cursor.skipWhitespace()
        let value: String
        if cursor.next == UInt8(ascii: "\"") {
            value = cursor.quotedString().text
        } else {
            value = cursor.text(cursor.take { $0 != UInt8(ascii: ",") && !$0.isFieldWhitespace })
        }
        cursor.skip(to: .comma)
        return value.isQuotable ? FieldParameter(checkedName: name, value: value) : nil
    }

    /// A `token68` value, which ends its challenge.
    ///
    /// A parameter name looks the same, but `=` and a value follow it.
    private static func token68(_ cursor: inout FieldCursor) -> String? {
        var ahead = cursor
        let range = ahead.take { $0 != UInt8(ascii: ",") && !$0.isFieldWhitespace }
        let text = ahead.text(range)
        let body = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        ahead.skipWhitespace()
        let endsHere = ahead.isAtEnd || ahead.next == UInt8(ascii: ",")
        guard !text.isEmpty, endsHere, text.utf8.dropFirst(body.count).allSatisfy({ $0 == UInt8(ascii: "=") }) else {
            return nil
        }
        cursor = ahead
        return text
    }
}
