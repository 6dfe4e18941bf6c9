import Foundation
import Testing

/// Tests that take long: `make test` leaves them out and says how many they are. `make test-all` and CI run them, and
/// so does `make test FILTER=…`, which asks for them by name. docs/testing.md lists them.
enum SlowTests {
    static let areRun = ProcessInfo.processInfo.environment["TILL_SLOW_TESTS"] == "1"
}

extension Trait where Self == ConditionTrait {
    /// What is declared so takes long, and runs in `make test-all`.
    static var slow: Self { .enabled(if: SlowTests.areRun, "slow: make test-all runs it") }
}
