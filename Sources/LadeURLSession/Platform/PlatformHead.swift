import Foundation
import LadeCore

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A head as the platform delivers it: a status code, and unordered fields with repeated ones joined by commas.
struct PlatformHead: Sendable {
    var code: Int
    var fields: [(String, String)]

    init(code: Int, fields: [(String, String)] = []) {
        self.code = code
        self.fields = fields
    }

    /// Splits a head.
    ///
    /// Fields are sorted by name, because the platform keeps no order and a stable order is better.
    init(_ response: HTTPURLResponse) {
        code = response.statusCode
        fields = []
        for (key, value) in response.allHeaderFields {
            guard let name = key as? String, let value = value as? String else { continue }
            if name.equalsIgnoringASCIICase("Set-Cookie") {
                fields += Self.cookies(in: value).map { (name, $0) }
            } else {
                fields.append((name, value))
            }
        }
        fields.sort { $0.0.lowercased() < $1.0.lowercased() }
    }

    /// An estimate of the head's size: a colon, a space and a line end for each field besides name and value.
    var size: Int { fields.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + 4 } }

    /// Makes the checks that the platform leaves out, and determines how the body is framed.
    ///
    /// - Parameters:
    ///   - request: The request of the exchange.
    ///   - limits: The limits on the size of a head.
    ///   - context: For the error.
    /// - Returns: The head, or its fault.
    func checked(
        for request: Request,
        limits: TransportSettings.ResponseLimits,
        context: LoadingError.Context
    ) -> Result<TransferState.Head, LoadingError> {
        let headers = Headers(fields)
        if let fault = headers.fault {
            let rule: LoadingError.MalformedResponse.Rule =
                fault.reason == .invalidValue ? .fieldValue : .fieldName
            return .failure(LoadingError(.malformedResponse(.init(rule, excerpt: fault.field)), context))
        }
        if fields.count > limits.headFields {
            return .failure(LoadingError(.headTooLarge(.fields(limits.headFields)), context))
        }

        var length: Int64?
        if let written = headers.joined("Content-Length") {
            guard let agreed = headers.contentLength else {
                return .failure(LoadingError(.malformedResponse(.init(.contentLength, excerpt: written)), context))
            }
            if let coding = headers["Transfer-Encoding"] {
                return .failure(
                    LoadingError(.malformedResponse(.init(.lengthWithTransferCoding, excerpt: coding)), context)
                )
            }
            length = agreed
        }
        let hasBody = request.method != .head && code != 204 && code != 304
        let coding = hasBody ? headers.joined("Content-Encoding").flatMap { Self.isDecoded($0) ? $0 : nil } : nil
        return .success(
            TransferState.Head(
                status: Response.Status(code),
                headers: headers,
                decodedCoding: coding,
                announcedLength: hasBody ? length : nil,
                hasBody: hasBody
            )
        )
    }

    /// The codings that the platform decodes.
    ///
    /// For other codings it delivers the coded body, or fails.
    private static let codings: Set<String> = {
        #if canImport(FoundationNetworking)
            ["gzip", "x-gzip", "deflate", "br", "zstd"]
        #else
            ["gzip", "x-gzip", "deflate", "br"]
        #endif
    }()

    private static func isDecoded(_ field: String) -> Bool {
        let names = Headers.codings(in: [field])
        return !names.isEmpty && names.allSatisfy(codings.contains)
    }

    /// Splits a joined `Set-Cookie` at the commas that start a new cookie: those followed by a name and an equals sign.
    ///
    /// The comma within `Expires=Wed, 21 Oct 2030 …` is not followed by one.
    static func cookies(in joined: String) -> [String] {
        let joined = joined.unicodeScalars
        var cookies: [String] = []
        var start = joined.startIndex
        var searched = start
        while let comma = joined[searched...].firstIndex(of: ",") {
            searched = joined.index(after: comma)
            let rest = joined[searched...].drop { $0 == " " }
            let name = rest.prefix { $0 != "=" && $0 != ";" && $0 != "," }
            if name.endIndex < rest.endIndex, rest[name.endIndex] == "=", !name.isEmpty,
                String(name).utf8.allSatisfy(\.isTokenCharacter)
            {
                cookies.append(String(joined[start..<comma]))
                start = rest.startIndex
            }
        }
        cookies.append(String(joined[start...]))
        return cookies
    }
}
