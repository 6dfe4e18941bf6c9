import TillBilling

/// What the client needs of the world, passed in, so that the same code runs on a phone, in a test and in a
/// simulation. The disk and the store's queue are passed to those who use them.
package struct Effects: Sendable {
    /// The time now. May jump: people set their clocks.
    package var clock: @Sendable () -> Instant
    /// As many unpredictable bytes as asked for.
    package var entropy: @Sendable (Int) -> [UInt8]
    /// Waits that many milliseconds, or less if the task is cancelled.
    package var pause: @Sendable (Int64) async -> Void
    /// Begins work that nobody waits for.
    package var spawn: @Sendable (@escaping @Sendable () async -> Void) -> Void
    /// Calls the app back, where it wants to be called.
    package var callback: @Sendable (@escaping @Sendable () -> Void) async -> Void

    package init(
        clock: @escaping @Sendable () -> Instant, entropy: @escaping @Sendable (Int) -> [UInt8],
        pause: @escaping @Sendable (Int64) async -> Void,
        spawn: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Void,
        callback: @escaping @Sendable (@escaping @Sendable () -> Void) async -> Void = { $0() }
    ) {
        self.clock = clock
        self.entropy = entropy
        self.pause = pause
        self.spawn = spawn
        self.callback = callback
    }
}
