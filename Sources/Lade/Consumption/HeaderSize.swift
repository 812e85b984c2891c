/// The sizes of header fields in bytes.
///
/// `Metrics` reports the bytes that were transferred. These sizes are for comparison with other counters.
public enum HeaderSize {
    /// The bytes of the fields in HTTP/1.1: name, colon, space, value, CR, LF.
    public static func onWire(_ headers: Headers) -> Int64 {
        headers.reduce(0) { $0 + Int64($1.name.utf8.count + $1.value.utf8.count + 4) }
    }

    /// The size that SPTDataLoader reports: the bytes of name and value plus three for each field.
    ///
    /// A field whose name or value is not valid text counts zero bytes. `Authorisation: Basic thisismytoken` counts 35.
    public static func compatible(_ fields: some Sequence<(Any, Any)>) -> Int64 {
        fields.reduce(0) { sum, field in
            guard let name = field.0 as? String, let value = field.1 as? String else { return sum }
            return sum + Int64(name.utf8.count + value.utf8.count + 3)
        }
    }
}
