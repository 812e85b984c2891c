import FoundationEssentials
import LadeJSON

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The peak memory of decoding a document, the document itself included, as a multiple of its size.
///
/// Each measurement needs its own process, so that memory freed by another one is not used again:
/// `JSONSpeed --memory fast|foundation NAME`. Needs `/proc`.
enum Memory {
    static let names = ["medias", "Twitter", "citm", "canada", "canada as a value"]

    static func run(_ name: String, isFast: Bool) throws {
        switch name {
        case "medias": try measure(name, [Plain.MediaPage].self, Documents.medias(), isFast)
        case "Twitter": try measure(name, [Timeline].self, Documents.timeline(), isFast)
        case "citm": try measure(name, [EventCatalogue].self, Documents.events(), isFast)
        case "canada": try measure(name, [FeatureCollection].self, Documents.polygons(), isFast)
        case "canada as a value": try measure(name, [JSONValue].self, Documents.polygons(), isFast)
        default: print("no document \(name); there are \(names.joined(separator: ", "))")
        }
    }

    /// Decodes an array of copies, about 32 MB, so that what its making has freed hardly counts.
    private static func measure<T: Decodable>(_ name: String, _ type: T.Type, _ part: Data, _ isFast: Bool) throws {
        let count = max(1, (32 << 20) / part.count)
        var document = Data(capacity: count * (part.count + 1) + 2)
        for index in 0..<count {
            document.append(index == 0 ? UInt8(ascii: "[") : UInt8(ascii: ","))
            document.append(part)
        }
        document.append(UInt8(ascii: "]"))
        guard let file = fopen("/proc/self/clear_refs", "w"), let before = status("VmRSS") else {
            print("memory is measured only where there is /proc")
            return
        }
        // 5 resets the peak.
        fputs("5", file)
        fclose(file)
        let value: T
        if isFast {
            var decoder = FastJSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            value = try decoder.decode(type, from: document)
        } else {
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            value = try decoder.decode(type, from: document)
        }
        let (peak, after) = (status("VmHWM") ?? 0, status("VmRSS") ?? 0)
        withExtendedLifetime((value, document)) {
            let size = Double(document.count)
            func times(_ bytes: Int) -> String {
                String(((Double(bytes - before) / size + 1) * 100).rounded() / 100)
            }
            let decoder = isFast ? "LadeJSON" : "Foundation"
            print("| \(name) | \(document.count) | \(decoder) | \(times(peak)) × | \(times(after)) × |")
        }
    }

    private static func status(_ name: String) -> Int? {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return line.flatMap { Int($0.filter(\.isNumber)) }.map { $0 << 10 }
    }
}
