// The targets of the pointers: the list, wanted scalars, and the identity of each item.
extension JSONSplitter {
    /// Updates the watches after a container on the path of a watch has ended.
    mutating func leaveWatchedContainer() {
        watchDepth = 0
        for index in watches.indices {
            watches[index].matched = min(watches[index].matched, depth)
            watchDepth = max(watchDepth, watches[index].matched)
        }
    }

    /// Checks whether the value that begins here is an item or lies on the path of a watch.
    mutating func beginWatchedValue(
        _ byte: UInt8,
        _ position: UnsafePointer<UInt8>,
        _ piece: JSONPiece
    ) throws(JSONError) {
        if depth > 0, isArray[depth], depth <= watchDepth {
            for index in watches.indices where watches[index].matched == depth && depth > watches[index].base {
                let wanted = watches[index].indices[depth - 1 - watches[index].base]
                watches[index].isHit = wanted == elements[depth]
                if wanted == Watch.everyElement {
                    watches[index].isHit = true
                    // The content of an earlier element says nothing about the last one.
                    if case .value(let number) = watches[index].role { forget(number) }
                }
            }
            elements[depth] += 1
        }
        hasHit = false
        let isItem = depth == listDepth
        if isItem {
            isInItem = true
            itemStart = outputCount
        }
        isCapturing = false
        let isContainer = byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
        for index in watches.indices {
            if isItem, case .identity = watches[index].role {
                watches[index].base = depth
                watches[index].isHit = true
            }
            guard watches[index].isHit else { continue }
            watches[index].isHit = false
            if watches[index].names.count > depth - watches[index].base {
                guard isContainer else { continue }
                watches[index].matched = depth + 1
                watchDepth = max(watchDepth, depth + 1)
                continue
            }
            switch watches[index].role {
            case .list:
                try beginList(byte, position, piece)
            case .value(let number):
                forget(number)
                containers[number] = isContainer
                fallthrough
            case .identity:
                guard !isContainer else { continue }
                watches[index].isTarget = true
                if !isCapturing {
                    isCapturing = true
                    capture.removeAll(keepingCapacity: true)
                }
            }
        }
    }

    private mutating func forget(_ number: Int) {
        values[number] = nil
        containers[number] = false
    }

    private mutating func beginList(
        _ byte: UInt8,
        _ position: UnsafePointer<UInt8>,
        _ piece: JSONPiece
    ) throws(JSONError) {
        guard listState != .array else { throw piece.fault(.repeatedList, position) }
        switch byte {
        case UInt8(ascii: "["):
            listState = .array
            listDepth = depth + 1
        case UInt8(ascii: "n"): listState = .null
        default: listState = .other
        }
    }

    /// Compares the name that ends here with the names wanted in this object.
    @inline(__always)
    mutating func finishName(
        _ captured: UnsafePointer<UInt8>,
        _ position: UnsafePointer<UInt8>,
        _ piece: JSONPiece
    ) throws(JSONError) {
        isCapturing = false
        // The length excludes the closing quotation mark.
        let count = position - captured - 1
        // Also in one piece, so that the pieces do not decide whether the name is refused.
        guard capture.count + count <= settings.valueLimit else {
            throw piece.fault(.valueTooLarge(limit: settings.valueLimit), position)
        }
        if capture.isEmpty, !string.hasEscape, count >= 0 {
            // Most names differ in length from every wanted name.
            if wantedLengths & 1 << UInt64(min(count, 63)) != 0 {
                match(UnsafeBufferPointer(start: captured, count: count))
            }
            return
        }
        append(captured, position)
        capture.removeLast()
        let name = string.hasEscape ? Array(JSONText.replacingLoneSurrogates(capture[...]).utf8) : capture
        capture.removeAll(keepingCapacity: true)
        name.withUnsafeBufferPointer { match($0) }
    }

    private mutating func match(_ name: UnsafeBufferPointer<UInt8>) {
        for index in watches.indices {
            let base = watches[index].base
            guard watches[index].matched == depth, depth > base else { continue }
            watches[index].isHit = watches[index].names[depth - 1 - base].elementsEqual(name)
            if watches[index].isHit { hasHit = true }
        }
    }

    /// Adds bytes to the captured scalar.
    mutating func append(_ from: UnsafePointer<UInt8>, _ to: UnsafePointer<UInt8>) {
        capture.append(contentsOf: UnsafeBufferPointer(start: from, count: to - from))
    }

    /// Completes the captured scalar.
    mutating func finishCapture() {
        guard isCapturing else { return }
        isCapturing = false
        for index in watches.indices where watches[index].isTarget {
            watches[index].isTarget = false
            switch watches[index].role {
            case .value(let number): values[number] = JSONSplitter.Scalar(validated: capture)
            case .identity: if identities.count == identifiedItems { identities.append(CRC64.checksum(capture)) }
            case .list: break
            }
        }
        capture.removeAll(keepingCapacity: true)
    }
}
