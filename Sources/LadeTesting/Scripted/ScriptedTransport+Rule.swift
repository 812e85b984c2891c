extension ScriptedTransport {
    /// A rule under construction: its requests are fixed, its responses are added.
    public struct Rule: Sendable {
        let transport: ScriptedTransport
        let index: Int

        /// Adds the first response; the same as ``then(_:)``, for readability.
        @discardableResult
        public func respond(_ response: ScriptedResponse) -> Rule {
            then(response)
        }

        /// Adds the next response.
        @discardableResult
        public func then(_ response: ScriptedResponse) -> Rule {
            transport.state.change { $0.rules[index].responses.append(response) }
            return self
        }

        /// Adds the next response, to be used a number of times.
        @discardableResult
        public func then(_ response: ScriptedResponse, times: Int) -> Rule {
            for _ in 0..<times { then(response) }
            return self
        }

        /// Gives the last response only once: later requests use later rules, or are unscripted.
        @discardableResult
        public func andNoMore() -> Rule {
            transport.state.change { $0.rules[index].repeatsLast = false }
            return self
        }

        /// The number of responses that the rule has given.
        public var givenCount: Int { transport.state.read { $0.rules[index].given } }
    }
}
