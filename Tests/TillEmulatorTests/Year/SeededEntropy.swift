import TillThreads

/// Random bytes that repeat with the same seed, and that continue after a restart.
final class SeededEntropy: Sendable {
    private let numbers: Locked<SeededNumbers>

    init(_ seed: UInt64) { numbers = Locked(SeededNumbers(state: seed)) }

    func bytes(_ count: Int) -> [UInt8] {
        numbers.withLock { numbers in
            (0..<count).map { _ in UInt8(truncatingIfNeeded: numbers.next() >> 24) }
        }
    }

    /// A number in 0..<sides.
    func draw(_ sides: Int) -> Int { numbers.withLock { Int($0.next() % UInt64(sides)) } }

    /// Runs `body` and restores the position of the random numbers afterwards.
    func aside<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        let stored = numbers.withLock { $0 }
        let value = try await body()
        numbers.withLock { $0 = stored }
        return value
    }
}
