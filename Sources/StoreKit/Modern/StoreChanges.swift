/// How one iterator of StoreKit's sequences listens: from its first question on, until it is dropped or its task is
/// cancelled.
struct StoreChanges {
    let session: DeviceSession
    private var iterator: AsyncStream<StoreChange>.Iterator?

    init(_ session: DeviceSession) { self.session = session }

    /// Nil once the task is cancelled.
    mutating func next() async -> StoreChange? {
        if iterator == nil { iterator = await session.changes().makeAsyncIterator() }
        return await iterator?.next()
    }
}

extension DeviceSession {
    /// Asks again and again while the store is out of reach.
    ///
    /// - Returns: nil if it refuses, or once the task is cancelled.
    func answer<Answer: Sendable>(
        _ question: @Sendable () async throws(StoreFault) -> Answer
    ) async -> Answer? {
        while !Task.isCancelled {
            do throws(StoreFault) { return try await question() } catch {
                if case .refused = error { return nil }
            }
            await effects.pause(effects.pollInterval)
        }
        return nil
    }
}
