public import LadeCore

#if canImport(FoundationNetworking)
    public import Foundation
    public import FoundationNetworking
#else
    public import Foundation
#endif

extension Request {
    /// Makes a request from a `URLRequest`.
    ///
    /// It copies the address, method, fields, body bytes, cache policy and time-out (as the idle time-out). Foundation
    /// keeps no order of fields and joins repeated ones by commas; here they are sorted by name.
    ///
    /// - Throws: `LoadingError.Kind.invalidRequest` for a request without an address, and for one that breaks the rules
    ///   of `Request.validate()`. A body that is a stream is refused, too, because it could be read only once.
    public init(_ urlRequest: URLRequest) throws(LoadingError) {
        guard let url = urlRequest.url else {
            throw LoadingError(.invalidRequest(.url("", reason: "there is none")))
        }
        self.init(try Request.Method(urlRequest.httpMethod ?? "GET"), url)
        let fields = (urlRequest.allHTTPHeaderFields ?? [:]).sorted { $0.key.lowercased() < $1.key.lowercased() }
        headers = Headers(fields.map { ($0.key, $0.value) })
        guard urlRequest.httpBodyStream == nil else {
            throw LoadingError(
                .invalidRequest(.unsupportedFeature("form for the body stream of a URLRequest")),
                LoadingError.Context(self)
            )
        }
        body = urlRequest.httpBody.map { .bytes($0) }
        timeouts.idle = .seconds(saturating: urlRequest.timeoutInterval)
        cacheMode =
            switch urlRequest.cachePolicy {
            case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: .bypass
            case .reloadRevalidatingCacheData: .revalidate
            case .returnCacheDataElseLoad: .preferStored
            case .returnCacheDataDontLoad: .storedOnly
            default: .standard
            }
        try validate()
    }

    /// The request as a `URLRequest`, for code that needs one.
    ///
    /// Repeated fields are joined by commas, and their order is lost. Settings without an equivalent (limits, tags, the
    /// destination, time-outs other than the idle one) are left out. A whole file is passed as a body stream.
    ///
    /// - Throws: `LoadingError.Kind.invalidRequest` for a body that is neither bytes nor a whole file.
    public var urlRequest: URLRequest {
        get throws(LoadingError) {
            var result = URLRequest(url: url)
            result.httpMethod = method.rawValue
            for field in headers { result.addValue(field.value, forHTTPHeaderField: field.name) }
            if let idle = timeouts.idle { result.timeoutInterval = idle.inSeconds }
            result.cachePolicy =
                switch cacheMode {
                case .standard: .useProtocolCachePolicy
                case .bypass: .reloadIgnoringLocalCacheData
                case .revalidate: .reloadRevalidatingCacheData
                case .preferStored: .returnCacheDataElseLoad
                case .storedOnly: .returnCacheDataDontLoad
                }
            switch body?.content {
            case nil: break
            case .bytes(let bytes): result.httpBody = bytes
            case .file(let path, 0): result.httpBodyStream = InputStream(fileAtPath: path)
            case .file, .stream:
                let feature = "form of a URLRequest for a body that is written while it is sent"
                throw LoadingError(.invalidRequest(.unsupportedFeature(feature)), LoadingError.Context(self))
            }
            if let type = body?.contentType, !headers.contains("Content-Type") {
                result.setValue(type, forHTTPHeaderField: "Content-Type")
            }
            return result
        }
    }
}

extension Response {
    /// Makes a response from an `HTTPURLResponse` and its body.
    ///
    /// The fields are sorted by name; repeated ones stay joined by commas, except `Set-Cookie`, which is split.
    public init(_ response: HTTPURLResponse, body: Data = Data(), request: Request) {
        let head = PlatformHead(response)
        self.init(
            status: Response.Status(head.code),
            headers: Headers(head.fields),
            body: Response.Body(body),
            request: request
        )
    }

    /// The head as an `HTTPURLResponse`; repeated fields are joined by commas, even `Set-Cookie`.
    ///
    /// Nil when Foundation refuses to make one.
    public var httpURLResponse: HTTPURLResponse? {
        var fields: [String: String] = [:]
        var names: [String: String] = [:]
        for field in headers {
            // The first spelling of a name is kept.
            let name = names[field.name.lowercased()] ?? field.name
            names[field.name.lowercased()] = name
            fields[name] = fields[name].map { $0 + ", " + field.value } ?? field.value
        }
        return HTTPURLResponse(
            url: request.url,
            statusCode: status.code,
            httpVersion: version?.rawValue ?? Response.Version.http1_1.rawValue,
            headerFields: fields
        )
    }
}
