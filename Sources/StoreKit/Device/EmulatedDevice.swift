import Foundation
import TillBilling
import TillThreads

/// A phone that is signed in to an account of an emulated App Store and runs one app.
///
/// The store keeps the state that outlives the app (the queue of transactions, the history, the signed-in account);
/// this value keeps the state that ends with the process. A new value with the same `id` is therefore a relaunch of the
/// app, and one with another `directory` as well is a reinstallation.
///
/// This type doesn't exist on Apple platforms: use it under `#if os(Linux)`.
public final class EmulatedDevice: Sendable {
    /// The device that StoreKit's types act for: the current task's, or the process's own.
    @TaskLocal public static var current = EmulatedDevice.process

    /// The receipts that the device fetches.
    public enum Receipts: Sendable {
        /// As a real device: the app receipt after each change, and each payment's own for StoreKit 1.
        case all
        /// The app receipt, for an app that reads no payment's own.
        case app
        /// None unless the app asks for one, for an app that reads no receipt.
        case requested
    }

    /// `identifierForVendor`.
    public let id: UUID
    public let bundleID: String
    /// The location of the app's receipt, like `Bundle.main.appStoreReceiptURL` on Apple platforms.
    public let receiptURL: URL
    let session: DeviceSession
    private let originalQueue = Locked<SKPaymentQueue?>(nil)

    /// - Parameters:
    ///   - account: the Apple Account to sign in with. Nil keeps the account that is signed in on this device.
    ///   - directory: the app's directory on this device; created when it is first needed.
    ///   - consumableHistory: whether the history contains finished consumables. Nil uses the app's
    ///     `SKIncludeConsumableInAppPurchaseHistory`, or `TILL_STORE_CONSUMABLE_HISTORY=1` in the environment.
    ///   - receipts: the receipts that the device fetches.
    public init(
        id: UUID, account: String?, bundleID: String, connection: StoreConnection, directory: URL,
        consumableHistory: Bool? = nil, receipts: Receipts = .all, effects: StoreEffects = .process
    ) {
        self.id = id
        self.bundleID = bundleID
        receiptURL = directory.appendingPathComponent("StoreKit/receipt")
        session = DeviceSession(
            client: EmulatorClient(connection: connection, device: id, bundleID: bundleID), account: account,
            receipt: ReceiptFile(url: receiptURL), receipts: receipts,
            consumableHistory: consumableHistory ?? Self.wantsConsumableHistory, effects: effects)
    }

    /// The number of `SKReceiptRefreshRequest`s that the app started since its launch.
    public var receiptRefreshes: Int { get async { await session.requestedRefreshes } }

    /// The queue of StoreKit 1; always the same one.
    var paymentQueue: SKPaymentQueue {
        originalQueue.withLock { queue in
            let made = queue ?? SKPaymentQueue(session: session)
            queue = made
            return made
        }
    }
}

/// An emulated device's connections to the outside world. They are passed in, so the same code runs in an app, in a
/// test and in a simulation. The connection to the store is a ``StoreConnection``.
public struct StoreEffects: Sendable {
    /// Waits this many milliseconds, or less if the task is cancelled.
    public var pause: @Sendable (Int64) async -> Void
    /// Returns the requested number of unpredictable bytes.
    public var entropy: @Sendable (Int) -> [UInt8]
    /// Starts the asynchronous part of a synchronous call: `Task { await work() }`, or the same on a seeded executor.
    public var spawn: @Sendable (_ work: @escaping @Sendable () async -> Void) -> Void
    /// Calls observers and delegates: on the main actor, as Apple's StoreKit does in practice, or directly.
    public var callback: @Sendable (_ call: @escaping @Sendable () -> Void) async -> Void
    /// Milliseconds between two polls for changes elsewhere: approvals, renewals, refunds, other devices.
    public var pollInterval: Int64
    /// The customer's action at the payment sheet. Nil uses the account's setting (`paymentSheet` of
    /// `PUT /emulator/accounts/{id}`), which is to pay by default.
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

/// The payment sheet's content.
public struct PaymentSheet: Sendable, Hashable {
    public enum Answer: String, Sendable, Hashable, CaseIterable {
        case pay = "purchased"
        case cancel = "cancelled"
        /// The bank refuses the payment.
        case fail = "failed"
        /// A parent is asked for approval (Ask to Buy).
        case ask = "deferred"
        /// The customer must act first, for example accept new terms. The payment fails now and is completed later.
        case interrupt = "interrupted"
    }

    public let account: String
    public let productID: String
    public let quantity: Int
}
