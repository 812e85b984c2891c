extension Headers {
    /// The sizes of header fields in bytes.
    ///
    /// `Response.Metrics` reports the bytes that were transferred. These sizes are for comparison with other counters.
    package enum Size {
        /// The bytes of the fields in HTTP/1.1: name, colon, space, value, CR, LF.
        package static func onWire(_ headers: Headers) -> Int64 {
            headers.reduce(0) { $0 + Int64($1.name.utf8.count + $1.value.utf8.count + 4) }
        }
    }
}
