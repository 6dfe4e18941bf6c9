import Foundation
import Testing

/// Slow tests: `make test` leaves them out and prints their number. `make test-all` and CI run them, and so does `make
/// test FILTER=…`, which selects them by name. docs/testing.md lists them.
enum SlowTests {
    static let areRun = ProcessInfo.processInfo.environment["TILL_SLOW_TESTS"] == "1"
}

extension Trait where Self == ConditionTrait {
    /// Marks a slow test, which runs in `make test-all`.
    static var slow: Self { .enabled(if: SlowTests.areRun, "slow: make test-all runs it") }
}
