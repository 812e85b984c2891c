// Everything here exists on Linux, and on Apple platforms only in versions that are newer than the oldest one of Package.swift.
import Observation
import Synchronization

func immediate() {
    _ = Task.immediate { 1 }  // error: is only available in
}

func immediateChild() async {
    await withTaskGroup(of: Int.self) { group in
        group.addImmediateTask { 1 }  // error: is only available in
    }
}

func inline(_ bytes: [4 of UInt8]) {  // error: is only available in
}

func span(_ bytes: [UInt8]) -> Int {
    bytes.span.count  // error: is only available in
}

func spanOfText(_ text: String) -> Int {
    text.utf8Span.count  // error: is only available in
}

func changes(_ value: @escaping @Sendable () -> Int) {
    _ = Observations { value() }  // error: is only available in
}
