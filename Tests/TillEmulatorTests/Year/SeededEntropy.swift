import TillThreads

/// Random bytes that come again with the same seed, and that go on where they were after a restart.
final class SeededEntropy: Sendable {
    private let numbers: Locked<SeededNumbers>

    init(_ seed: UInt64) { numbers = Locked(SeededNumbers(state: seed)) }

    func bytes(_ count: Int) -> [UInt8] {
        numbers.withLock { numbers in
            (0..<count).map { _ in UInt8(truncatingIfNeeded: numbers.next() >> 24) }
        }
    }

    /// One of so many.
    func roll(_ sides: Int) -> Int { numbers.withLock { Int($0.next() % UInt64(sides)) } }

    /// Runs `body`, and afterwards it is as if nothing had been taken meanwhile.
    func aside<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        let kept = numbers.withLock { $0 }
        let value = try await body()
        numbers.withLock { $0 = kept }
        return value
    }
}
