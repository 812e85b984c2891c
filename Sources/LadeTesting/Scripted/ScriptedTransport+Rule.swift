extension ScriptedTransport {
    /// A rule under construction: which requests it answers is fixed, its answers are added.
    public struct Rule: Sendable {
        let transport: ScriptedTransport
        let index: Int

        /// Adds the first answer; the same as ``then(_:)``, for reading.
        @discardableResult
        public func respond(_ answer: ScriptedAnswer) -> Rule {
            then(answer)
        }

        /// Adds the next answer.
        @discardableResult
        public func then(_ answer: ScriptedAnswer) -> Rule {
            transport.state.change { $0.rules[index].answers.append(answer) }
            return self
        }

        /// Adds the next answer, to be given so many times.
        @discardableResult
        public func then(_ answer: ScriptedAnswer, times: Int) -> Rule {
            for _ in 0..<times { then(answer) }
            return self
        }

        /// Does not repeat the last answer: later requests go to later rules, or are unscripted.
        @discardableResult
        public func andNoMore() -> Rule {
            transport.state.change { $0.rules[index].repeatsLast = false }
            return self
        }

        /// How many answers the rule has given.
        public var givenCount: Int { transport.state.read { $0.rules[index].given } }
    }
}
