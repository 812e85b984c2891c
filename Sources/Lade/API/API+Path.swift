import LadeCore

extension API {
    /// A path below the base of an ``API``.
    ///
    /// In a literal, a slash separates components. An interpolated value is one component: every character in it that
    /// is not unreserved (RFC 3986 §2.3) is percent-encoded. An identifier that contains a slash or a question mark
    /// cannot reach another resource.
    ///
    /// ```swift
    /// let path: API.Path = "shows/\(id)/episodes"   // id "a/b" gives shows/a%2Fb/episodes
    /// ```
    ///
    /// An interpolated component that is empty, `.` or `..` makes the path invalid: servers and proxies remove such
    /// components and then reach another resource (RFC 3986 §5.2.4). The method that makes an endpoint from the path
    /// throws.
    public struct Path: Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
        enum Fault: Sendable, Hashable {
            case empty
            case dots(String)

            func error(_ address: String) -> LoadingError {
                let reason =
                    switch self {
                    case .empty: "a component of its path is empty"
                    case .dots(let text): "a component of its path is “\(text)”"
                    }
                return LoadingError(.invalidRequest(.url(address, reason: reason)))
            }
        }

        /// Collects the parts of a literal.
        public struct StringInterpolation: StringInterpolationProtocol {
            // The positions of the values in the text show whether a value is a whole component.
            fileprivate var text = ""
            fileprivate var hasValue = false
            fileprivate var fault: Fault?

            /// Makes an empty interpolation.
            public init(literalCapacity: Int, interpolationCount: Int) {
                text.reserveCapacity(literalCapacity + interpolationCount * 16)
            }

            /// Appends a literal part, in which slashes separate components.
            public mutating func appendLiteral(_ literal: String) {
                var components = literal.parts(at: "/")[...]
                guard let first = components.popFirst() else { return }
                text += first.pathEncoded
                for component in components {
                    endComponent()
                    text += "/" + component.pathEncoded
                }
            }

            /// Appends a value, percent-encoded, as a component or as a part of a component.
            public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
                hasValue = true
                text += value.description.queryEncoded
            }

            // Called at the end of each component: only a component that contains a value can be invalid.
            fileprivate mutating func endComponent() {
                defer { hasValue = false }
                guard hasValue, fault == nil else { return }
                let component = text.parts(at: "/").last ?? ""
                fault = component.isEmpty ? .empty : component == "." || component == ".." ? .dots("\(component)") : nil
            }
        }

        /// The octets that a component may have beside unreserved ones (RFC 3986 §3.3).
        fileprivate static let kept: StaticString = "!$&'()*+,;=:@"

        /// The encoded path, without a leading slash.
        let text: String
        let fault: Fault?

        /// Makes a path from a literal without values.
        public init(stringLiteral value: String) {
            var interpolation = StringInterpolation(literalCapacity: value.utf8.count, interpolationCount: 0)
            interpolation.appendLiteral(value)
            self.init(stringInterpolation: interpolation)
        }

        /// Makes a path from a literal with values.
        public init(stringInterpolation: StringInterpolation) {
            var interpolation = stringInterpolation
            interpolation.endComponent()
            self.init(text: interpolation.text, fault: interpolation.fault)
        }

        /// Makes a path from a text that is no literal, such as a line of a file.
        ///
        /// Slashes separate its components. Every other character that a path does not allow is percent-encoded, a percent sign and a
        /// question mark too. A component that is `.` or `..` makes the path invalid, and so does an empty one between two others.
        public init(_ text: String) {
            let components = text.parts(at: "/")
            var interpolation = StringInterpolation(literalCapacity: text.utf8.count, interpolationCount: 0)
            for (index, component) in components.enumerated() {
                if index > 0 { interpolation.text += "/" }
                interpolation.text += component.utf8.percentEncoded(keeping: Self.kept)
                interpolation.hasValue = !component.isEmpty || index > 0 && index < components.count - 1
                interpolation.endComponent()
            }
            self.init(text: interpolation.text, fault: interpolation.fault)
        }

        /// Makes a path of components, each of them percent-encoded.
        public init(_ components: [any CustomStringConvertible]) {
            self = Path(text: "", fault: nil).appending(components)
        }

        private init(text: String, fault: Fault?) {
            self.text = String(text.drop { $0 == "/" })
            self.fault = fault
        }

        /// The path with further components, each of them percent-encoded.
        func appending(_ components: [any CustomStringConvertible]) -> Path {
            components.reduce(self) { path, component in
                var interpolation = StringInterpolation(literalCapacity: path.text.utf8.count, interpolationCount: 1)
                interpolation.text = path.text.isEmpty ? "" : path.text + (path.text.hasSuffix("/") ? "" : "/")
                interpolation.fault = path.fault
                interpolation.appendInterpolation(component.description)
                interpolation.endComponent()
                return Path(text: interpolation.text, fault: interpolation.fault)
            }
        }

        /// The encoded path.
        public var description: String { text }
    }
}

extension StringProtocol {
    /// A component of a path with the octets percent-encoded that a path does not allow (RFC 3986 §3.3).
    fileprivate var pathEncoded: String { utf8.percentEncoded(keeping: API.Path.kept, keepsTriples: true) }
}
