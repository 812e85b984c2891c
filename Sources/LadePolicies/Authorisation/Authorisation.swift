/// The authorisers of this module, and what they share: where credentials may go, when they expire, how they are renewed.
///
/// An authoriser of an app conforms to ``Authoriser``.
public enum Authorisation {}
