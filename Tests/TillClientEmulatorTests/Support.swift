import TillThreads

/// Ends a test at an unexpected outcome.
struct Unexpected: Error {
    let what: String
    init(_ what: String) { self.what = what }
}

extension Locked {
    /// The current value.
    var now: Value { withLock { $0 } }
}
