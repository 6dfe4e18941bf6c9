import Foundation
import TillBilling
import TillThreads

/// A phone that is signed in to an account of an emulated App Store, with one app running on it.
///
/// What outlives the app (the queue of transactions, the history, who is signed in) is kept by the store; what ends
/// with the process is kept here. So a new value with the same `id` is a relaunch of the app, one with another
/// `directory` as well is a reinstallation.
///
/// On Apple platforms there is no such type: use it under `#if os(Linux)`.
public final class EmulatedDevice: Sendable {
    /// The device that StoreKit's types act for: the one of this task, or the process's own.
    @TaskLocal public static var current = EmulatedDevice.process

    /// `identifierForVendor`.
    public let id: UUID
    public let bundleID: String
    /// Where the device keeps the app's receipt: what `Bundle.main.appStoreReceiptURL` is on Apple platforms.
    public let receiptURL: URL
    let session: DeviceSession
    private let originalQueue = Locked<SKPaymentQueue?>(nil)

    /// - Parameters:
    ///   - account: the Apple Account to sign in with. Nil: the one that is signed in on this device already.
    ///   - directory: of this app on this device; it is made when it is first needed.
    ///   - consumableHistory: whether finished consumables are in the history. Nil: as the app's
    ///     `SKIncludeConsumableInAppPurchaseHistory` says, or `TILL_STORE_CONSUMABLE_HISTORY=1` in the environment.
    public init(
        id: UUID, account: String?, bundleID: String, connection: StoreConnection, directory: URL,
        consumableHistory: Bool? = nil, effects: StoreEffects = .process
    ) {
        self.id = id
        self.bundleID = bundleID
        receiptURL = directory.appendingPathComponent("StoreKit/receipt")
        session = DeviceSession(
            line: StoreLine(connection: connection, device: id, bundleID: bundleID), account: account,
            receipt: ReceiptFile(url: receiptURL), consumableHistory: consumableHistory ?? Self.wantsConsumableHistory,
            effects: effects)
    }

    /// The number of `SKReceiptRefreshRequest`s that the app started since its launch.
    package var receiptRefreshes: Int { get async { await session.requestedRefreshes } }

    /// The queue of StoreKit 1; the same one always.
    var paymentQueue: SKPaymentQueue {
        originalQueue.withLock { queue in
            let made = queue ?? SKPaymentQueue(session: session)
            queue = made
            return made
        }
    }
}

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
