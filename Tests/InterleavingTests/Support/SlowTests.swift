import Foundation
import Testing

/// Slow tests: `make test` skips and counts them. `make test-all` and CI run them, and so does `make test FILTER=…` for
/// those it names. docs/testing.md lists them.
enum SlowTests {
    static let areRun = ProcessInfo.processInfo.environment["TILL_SLOW_TESTS"] == "1"
}

extension Trait where Self == ConditionTrait {
    /// Marks a slow test, which runs in `make test-all`.
    static var slow: Self { .enabled(if: SlowTests.areRun, "slow: make test-all runs it") }
}
