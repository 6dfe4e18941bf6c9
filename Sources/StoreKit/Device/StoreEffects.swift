import Foundation

/// What an emulated device needs of the world, passed in, so that the same code runs in an app, in a test and in a
/// simulation. The way to the store is a ``StoreConnection``.
public struct StoreEffects: Sendable {
    /// Waits that many milliseconds, or less if the task is cancelled.
    public var pause: @Sendable (Int64) async -> Void
    /// As many unpredictable bytes as asked for.
    public var entropy: @Sendable (Int) -> [UInt8]
    /// Starts work that a synchronous call leaves behind: `Task { await work() }`, or the same on a seeded executor.
    public var spawn: @Sendable (_ work: @escaping @Sendable () async -> Void) -> Void
    /// Calls observers and delegates: on the main actor, as Apple's StoreKit does in practice, or in place.
    public var callback: @Sendable (_ call: @escaping @Sendable () -> Void) async -> Void
    /// Milliseconds between two looks at what happened elsewhere: approvals, renewals, refunds, other devices.
    public var pollInterval: Int64
    /// What the customer does at the payment sheet. Nil: what the account is set to (`paymentSheet` of
    /// `PUT /emulator/accounts/{id}`), which is to pay unless somebody said otherwise.
    public var paymentSheet: (@Sendable (PaymentSheet) async -> PaymentSheet.Answer)?

    public init(
        pause: @escaping @Sendable (Int64) async -> Void, entropy: @escaping @Sendable (Int) -> [UInt8],
        spawn: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Void,
        callback: @escaping @Sendable (@escaping @Sendable () -> Void) async -> Void, pollInterval: Int64 = 1_000,
        paymentSheet: (@Sendable (PaymentSheet) async -> PaymentSheet.Answer)? = nil
    ) {
        self.pause = pause
        self.entropy = entropy
        self.spawn = spawn
        self.callback = callback
        self.pollInterval = pollInterval
        self.paymentSheet = paymentSheet
    }
}

/// What a customer sees before paying.
public struct PaymentSheet: Sendable, Hashable {
    public enum Answer: String, Sendable, Hashable, CaseIterable {
        case pay = "purchased"
        case cancel = "cancelled"
        /// The bank says no.
        case fail = "failed"
        /// A parent is asked (Ask to Buy).
        case ask = "deferred"
        /// Something must be settled first: new terms, a card. The payment fails now and goes through later.
        case interrupt = "interrupted"
    }

    public let account: String
    public let productID: String
    public let quantity: Int
}
