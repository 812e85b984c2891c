import LadeCore
import LadePolicies
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RetryBudgetTests {
    let key = ServiceKey("service")

    @Test("policies PL-14 takes 5 for a retry, refunds what it took, and 1 for a first-try success")
    func keepsAccount() {
        let budget = RetryBudget()
        #expect(budget.withdraw(for: key))
        #expect(budget.withdraw(for: key, cost: 10))
        #expect(budget.left(for: key) == 485)
        budget.refund(for: key, 0)
        #expect(budget.left(for: key) == 486)
        budget.refund(for: key, 15)
        #expect(budget.left(for: key) == 500)
        #expect(budget.keyCount == 0)
    }

    @Test("policies PL-14 refuses withdrawals from an empty budget, and keeps the budgets of services apart")
    func runsEmpty() {
        let budget = RetryBudget()
        for _ in 0..<100 { #expect(budget.withdraw(for: key)) }
        #expect(!budget.withdraw(for: key))
        #expect(budget.withdraw(for: ServiceKey("other")))
    }

    @Test("policies PL-14 keeps no more budgets than allowed")
    func boundsKeys() {
        var settings = RetryBudget.Settings()
        settings.keyLimit = 100
        let budget = RetryBudget(settings)
        for number in 0..<10_000 { #expect(budget.withdraw(for: ServiceKey("service \(number)"))) }
        #expect(budget.keyCount <= 100)
        #expect(budget.left(for: ServiceKey("service 9999")) == 495)
    }

    @Test("policies PL-14 forgets the budgets first that were not used for the longest time")
    func forgetsUnused() {
        var settings = RetryBudget.Settings()
        settings.keyLimit = 4
        let budget = RetryBudget(settings)
        for name in ["a", "b", "c", "d", "a", "e"] { #expect(budget.withdraw(for: ServiceKey(name))) }

        // A budget that was forgotten is full again.
        #expect(["a", "b", "c", "d", "e"].map { budget.left(for: ServiceKey($0)) } == [490, 500, 500, 500, 495])
    }
}
