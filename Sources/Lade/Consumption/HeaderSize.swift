/// How many bytes header fields have.
///
/// `Metrics` has what really went over the wire; these are for comparing with other counters.
public enum HeaderSize {
    /// The bytes of the fields on the wire of HTTP/1.1: name, colon, space, value, CR, LF.
    public static func onWire(_ headers: Headers) -> Int64 {
        headers.reduce(0) { $0 + Int64($1.name.utf8.count + $1.value.utf8.count + 4) }
    }

    /// The count that the reference (SPTDataLoader) reports: three bytes more than name and value for each field, and
    /// nothing for a field whose name or value is no text.
    ///
    /// `Authorisation: Basic thisismytoken` → 35. Source: `service-loader.md` §19, D-32.
    public static func compatible(_ fields: some Sequence<(Any, Any)>) -> Int64 {
        fields.reduce(0) { sum, field in
            guard let name = field.0 as? String, let value = field.1 as? String else { return sum }
            return sum + Int64(name.utf8.count + value.utf8.count + 3)
        }
    }
}
