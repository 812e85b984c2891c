package import LadeCore

/// A decision with the rule that made it and the numbers it used.
package struct Explained<Decision: Sendable>: Sendable {
    /// The decision.
    package let decision: Decision
    /// The rule that made it.
    package let rule: Response.CacheRule
    /// The lifetime and age that were compared; nil where none were.
    package let freshness: ResponseCache.Freshness?

    /// Makes a decision.
    package init(_ decision: Decision, _ rule: Response.CacheRule, _ freshness: ResponseCache.Freshness? = nil) {
        self.decision = decision
        self.rule = rule
        self.freshness = freshness
    }
}

extension Explained: Equatable where Decision: Equatable {}
