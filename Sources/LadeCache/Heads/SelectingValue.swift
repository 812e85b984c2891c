/// The value that a field of the request had when a response was requested, in the form that is compared.
package struct SelectingValue: Sendable, Hashable {
    /// The name in lower case.
    package let name: String
    /// The value; see ``SelectingFields``.
    package let form: Form

    /// A value, or the digest that stands for a secret value.
    package enum Form: Sendable, Hashable {
        /// The request had no such field.
        case absent
        /// The normalised value.
        case value([UInt8])
        /// The digest of the normalised value, which is a credential.
        case digest([UInt8])
        /// An authoriser of the account set it, to whatever value.
        case authorised
    }

    /// Makes a value.
    package init(name: String, form: Form) {
        self.name = name
        self.form = form
    }
}
