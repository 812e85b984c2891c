import Lade
import LadeFields

extension Charset {
    /// The charset that a content type names, for output on a terminal; UTF-8 where it names none that is known.
    init(shown contentType: String?) {
        // A content type that cannot be parsed names no charset.
        let label = contentType.flatMap { try? MediaType($0) }?.charset
        self = label.flatMap { Charset(label: $0) } ?? .utf8
    }
}
