// The part of a document on which no pointer depends, which is nearly all of it.
extension JSONSplitter {
    /// Continues over complete tokens, with the state of the grammar in local variables.
    ///
    /// It stops at the first byte that needs more work. Examples are a token that reaches the end of the piece, a violation of
    /// the grammar, and an item's end. A member or element that a watch may look for needs it, too. The state is then the state
    /// at this byte, and ``scan(_:)`` continues with the byte.
    @inline(never)
    mutating func scanOrdinary(
        _ from: UnsafePointer<UInt8>,
        _ run: inout UnsafePointer<UInt8>,
        _ piece: JSONPiece
    ) throws(JSONError) -> UnsafePointer<UInt8> {
        var position = from
        var state = state
        var depth = depth
        var isInArray = isArray[depth]
        let watchDepth = watchDepth
        let isInItem = isInItem
        // A container that ends at this depth is an item, a container on the path of a watch, or the document.
        let lowest = max(watchDepth, listDepth == .max ? 1 : listDepth + 1)
        // Every token is loaded by words.
        tokens: while piece.end - position >= 8 {
            let byte = position.pointee
            if byte <= 0x20 {
                guard Bytes.isSpace(byte) else { break }
                if isInItem { flush(run, position, piece) }
                position = piece.skipSpace(position + 1)
                run = position
                continue
            }
            switch state {
            case .comma where byte == UInt8(ascii: ","):
                position += 1
                state = isInArray ? .value : .name
            case .name where byte == UInt8(ascii: "\""), .nameOrEnd where byte == UInt8(ascii: "\""):
                // Members with a string follow each other so often that the loop is entered again only after them.
                repeat {
                    let first = position + 1
                    let last = Bytes.endOfASCIIText(first, piece.end)
                    guard last < piece.end, last.pointee == UInt8(ascii: "\"") else {
                        state = .name
                        guard depth > watchDepth else { break tokens }
                        guard let next = try string.scan(last, piece) else {
                            isName = true
                            state = .string
                            position = piece.end
                            break tokens
                        }
                        position = next
                        state = .colon
                        continue tokens
                    }
                    if depth == watchDepth,
                        wantedLengths & 1 << UInt64(min(last - first, 63)) != 0 || last - first > settings.valueLimit
                    {
                        state = .name
                        break tokens
                    }
                    position = last + 1
                    state = .colon
                    guard piece.end - position >= 8, position[0] == UInt8(ascii: ":") else { continue tokens }
                    position += 1
                    state = .value
                    guard position[0] == UInt8(ascii: "\"") else { continue tokens }
                    let end = Bytes.endOfASCIIText(position + 1, piece.end)
                    guard piece.end - end >= 3, end[0] == UInt8(ascii: "\"") else { continue tokens }
                    position = end + 1
                    state = .comma
                    guard position[0] == UInt8(ascii: ",") else { continue tokens }
                    position += 1
                    state = .name
                } while position[0] == UInt8(ascii: "\"")
            case .colon where byte == UInt8(ascii: ":"):
                position += 1
                state = .value
            case .value, .valueOrEnd:
                switch byte {
                case UInt8(ascii: "]") where state == .valueOrEnd && depth > lowest:
                    position += 1
                    depth &-= 1
                    isInArray = isArray[depth]
                    state = .comma
                    continue
                default: break
                }
                if depth == watchDepth, isInArray { break tokens }
                switch byte {
                case UInt8(ascii: "\""):
                    let first = position + 1
                    let last = Bytes.endOfASCIIText(first, piece.end)
                    if last < piece.end, last.pointee == UInt8(ascii: "\"") {
                        position = last + 1
                    } else if let next = try string.scan(last, piece) {
                        position = next
                    } else {
                        isName = false
                        state = .string
                        position = piece.end
                        break tokens
                    }
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    guard depth < settings.nestingLimit else { break tokens }
                    position += 1
                    depth &+= 1
                    isInArray = byte == UInt8(ascii: "[")
                    isArray[depth] = isInArray
                    state = isInArray ? .valueOrEnd : .nameOrEnd
                    continue
                case UInt8(ascii: "t") where Bytes.half(position) == 0x65_75_72_74,
                    UInt8(ascii: "n") where Bytes.half(position) == 0x6C_6C_75_6E:
                    position += 4
                case UInt8(ascii: "f") where Bytes.half(position + 1) == 0x65_73_6C_61: position += 5
                default:
                    guard let next = JSONNumberScanner.end(position, piece) else { break tokens }
                    position = next
                }
                state = .comma
            case .comma where byte == (isInArray ? UInt8(ascii: "]") : UInt8(ascii: "}")),
                .nameOrEnd where byte == UInt8(ascii: "}"):
                guard depth > lowest else { break tokens }
                position += 1
                depth &-= 1
                isInArray = isArray[depth]
                state = .comma
            default: break tokens
            }
        }
        self.state = state
        self.depth = depth
        return position
    }
}
