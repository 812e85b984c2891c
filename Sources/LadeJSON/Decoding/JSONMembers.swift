/// The members of an object, looked up by name.
///
/// ``FastJSONDecoder/Reader/readMembers(_:_:)`` is the fastest way to read an object whose type knows all its members. Looking them
/// up lets several parts of a type read one object, each with the names that it knows. Names that are requested in the
/// document's order are found at the first comparison.
///
/// A value is valid until the closure that received it returns.
@usableFromInline
package struct JSONMembers {
    private let scope: Unmanaged<Scope>

    fileprivate init(_ scope: Unmanaged<Scope>) { self.scope = scope }

    /// A reader positioned at the value of a member; nil when the member is missing.
    package func reader(_ name: String) -> FastJSONDecoder.Reader? {
        let index = scope._withUnsafeGuaranteedRef { $0.find(name) }
        return index < 0 ? nil : FastJSONDecoder.Reader(scope, index)
    }

    /// Whether the object has a member.
    package func contains(_ name: String) -> Bool {
        scope._withUnsafeGuaranteedRef { $0.find(name) >= 0 }
    }

    /// The coding path of the object.
    package var path: [any CodingKey] {
        scope._withUnsafeGuaranteedRef { $0.core.path(to: $0.state.pointee.index) }
    }

    /// The values of the decoder for the types that it decodes.
    package var userInfo: [CodingUserInfoKey: Any] { scope._withUnsafeGuaranteedRef { $0.userInfo } }
}

extension FastJSONDecoder.Reader {
    /// Reads an object whose members are looked up by name.
    ///
    /// - Parameter body: Receives the members.
    /// - Throws: `DecodingError` when the value is not an object; also any error of the closure.
    @inlinable
    package mutating func lookUpMembers(_ body: (_ members: JSONMembers) throws -> Void) throws {
        let members = try enterObject()
        defer { leaveObject() }
        try body(members)
    }

    /// Enters the object; each call is followed by one of ``leaveObject()``.
    @usableFromInline
    package func enterObject() throws -> JSONMembers {
        guard word.kind == .object else { throw objectFailure() }
        return try scope._withUnsafeGuaranteedRef { scope in
            let child = scope.enterChild(index)
            do {
                try child._withUnsafeGuaranteedRef {
                    $0.state.pointee.key = ReaderKey()
                    try $0.prepareMembers()
                }
            } catch {
                scope.leaveChild()
                throw error
            }
            return JSONMembers(child)
        }
    }

    /// Leaves the object that was entered.
    @usableFromInline
    package func leaveObject() { scope._withUnsafeGuaranteedRef { $0.leaveChild() } }

    /// The number of elements of an array, at most 65,536, for reserving memory before they are read.
    @inlinable package var reservedCount: Int { word.kind == .array ? min(word.count, 1 << 16) : 0 }
}
