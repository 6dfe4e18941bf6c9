import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An object that makes purchases and delivers each paid purchase exactly once to its buyer, across crashes,
/// disconnections and repeated requests.
///
///     let store = try TillStore(TillConfiguration(server: "https://pay.example.com"))
///     await store.start()
///     await store.signIn(userID) { await session.token() }
///     let result = try await store.purchase("com.example.points.60")
///
/// Create one store and keep it for the whole life of the app. You can call its methods from any thread, concurrently.
public final class TillStore: Sendable {
    let components: StoreComponents
    let retryCoordinator: RetryCoordinator
    let checkout: Checkout
    let account: AccountState

    /// Creates a store for tests and simulations, which supply its environment.
    ///
    /// - Throws: `journal` if the list of orders is open in another instance (`disk_in_use`), was written by another
    ///   version (`journal_version`; the file is left unchanged), or can't be read.
    package init(
        _ configuration: TillConfiguration, access: StoreAccess, effects: Effects, files: DeviceFiles,
        transport: Transport
    ) throws(TillError) {
        do throws(JournalError) {
            components = try StoreComponents(
                configuration, access: access, effects: effects, files: files, transport: transport)
        } catch {
            throw TillError(.journal(error))
        }
        account = AccountState(components, cache: files.entitlements)
        // Weak, because the account holds the state: a cycle would keep the journal open after the store's end.
        components.state.connect(
            onFirstRead: { [weak account] in account?.refreshSoon() },
            entitlements: { [weak account] in account?.known(of: $0) })
        retryCoordinator = RetryCoordinator(components, account)
        checkout = Checkout(components, retryCoordinator: retryCoordinator)
    }

    deinit {
        // Running background work would keep the journal open, and the next instance would find it in use.
        let retryCoordinator = retryCoordinator
        components.effects.spawn { await retryCoordinator.stop() }
    }

    // MARK: App life cycle

    /// Starts the store. Call it at launch, before you show any content: it adds the only transaction observer for the
    /// life of the app, and begins to send purchases that an earlier launch left. It returns at once. Later calls do
    /// nothing.
    public func start() async { await retryCoordinator.start() }

    /// Stops the store. Call it when the app terminates: it removes the observer and ends the loops over `updates`.
    /// Nothing is lost: pending purchases stay on disk and in the store's queue. A stopped store can't be started
    /// again.
    public func stop() async { await retryCoordinator.stop() }

    /// The updates since launch and all later ones. None is lost if the loop over them begins late.
    public var updates: StoreUpdates { StoreUpdates(updateLog: components.updateLog) }

    // MARK: Users

    /// Signs in a user. Payments that another user made still go to that user, and purchases that wait for a sign-in
    /// are sent now, in the background.
    ///
    /// - Parameters:
    ///   - userID: the user's id at the app's backend, the `sub` of the token. For a guest, `guestID`.
    ///   - token: called before each request; returns the user token (a JWT) that the app's backend issued. If it
    ///     returns nil, the request is handled as if no user were signed in.
    public func signIn(_ userID: String, token: @escaping @Sendable () async -> String?) async {
        let user = UserID(userID)
        await components.signIn.enter(user, token: token)
        components.state.add(await components.journal.summaries(of: user), of: user)
        account.refreshSoon()
        await retryCoordinator.take(.signedIn)
    }

    /// Signs in to an account and merges the purchases of this installation's guest into it, including those in
    /// progress. Call it at launch too, instead of `signIn(_:token:)`: a failed merge is tried again, and after a
    /// complete merge no request is sent.
    ///
    /// - Parameters:
    ///   - userID: as in `signIn(_:token:)`. The sign-in takes effect at once, whatever the result of the merge.
    ///   - guestToken: called if the guest made purchases here; returns the user token that the app's backend issued
    ///     for `guestID`. It proves the guest's consent.
    ///   - token: as in `signIn(_:token:)`.
    /// - Returns: the result of the merge.
    @discardableResult
    public func signIn(
        _ userID: String, mergingGuest guestToken: @escaping @Sendable () async -> String?,
        token: @escaping @Sendable () async -> String?
    ) async -> GuestMerge {
        await signIn(userID, token: token)
        return await GuestMerger(components).merge(into: UserID(userID), token: guestToken)
    }

    /// Signs out. Paid purchases that arrive while no user is signed in are stored, and sent at the next sign-in of any
    /// user.
    public func signOut() async { await components.signIn.leave() }

    /// The id of a buyer without an account on this installation, for which the app's backend may issue a token. It
    /// consists of `guest-` and a UUID, and changes after the guest is merged into an account.
    public var guestID: String { get async { await components.guest.userID.text } }

    /// Returns whether purchases are allowed on this device.
    public func canMakePayments() async -> Bool { await components.access.canMakePayments() }
}

/// The StoreKit API that the kit uses for purchases. All other behavior is the same.
public enum StoreKitGeneration: String, Hashable, Sendable, CaseIterable {
    /// StoreKit 2 if the system has it, else StoreKit 1.
    case automatic
    /// `SKPaymentQueue`, with Apple's signed copy or the app receipt as proof.
    case storeKit1
    /// `Transaction`, with Apple's signed transaction as proof.
    case storeKit2
}

/// The configuration of a store. Only the server has no default.
public struct TillConfiguration: Sendable {
    /// The URL of the purchase server: `https://pay.example.com`. `http://` is accepted for this machine only
    /// (127.0.0.0/8, ::1, localhost).
    public var server: String
    /// The StoreKit API that the kit uses.
    public var generation = StoreKitGeneration.automatic
    /// The directory of the kit's files; created if it doesn't exist. If nil, the kit chooses one of the app's own
    /// ([the client kit](client.md) lists it for each system); on tvOS, the system may empty it while the app is not
    /// running. Only one running `TillStore` may use it at a time. Don't put it in an app group's container: iOS
    /// terminates an app that holds a lock there while it is suspended.
    public var directory: String?
    /// The app's own name for this phone, at most 128 bytes. It is part of every order, beside a plan's device, and
    /// finds a payment whose order id the App Store lost. If nil, the kit creates one and stores it in the directory.
    public var phoneID: String?
    /// The language of the server's messages, as in `Accept-Language`; nil for the device's language. The kit's own
    /// messages exist in all languages.
    public var language: String?
    /// How long an entitlement without a newer answer of the server stays usable after its own end, in seconds. It
    /// covers a renewal that this device has not heard of because it is offline.
    public var offlineGrace: TimeInterval = 86_400
    /// Called with what the kit does, for the app's own log. It may be called on any thread, and must return at once.
    public var log: (@Sendable (LogEvent) -> Void)?

    /// Creates a configuration.
    ///
    /// - Parameter server: the URL of the purchase server, `https://pay.example.com`.
    public init(server: String) { self.server = server }

    var messageLanguage: Language { language.map(Language.init(preference:)) ?? .ofDevice }
}

/// Something that the kit did, for the app's log. It contains ids and codes, and no personal data.
public struct LogEvent: Hashable, Sendable {
    /// How much an event matters.
    public enum Level: String, Hashable, Sendable, CaseIterable {
        /// For developers only.
        case debug
        /// Normal operation.
        case info
        /// A purchase or request that failed or was refused.
        case warning
        /// A failure of the kit itself.
        case error
    }

    /// How much the event matters.
    public let level: Level
    /// A stable name, such as `purchase_completed`. [The client kit](client.md) lists them.
    public let name: String
    /// The order, if the event is about one.
    public var orderID: String?
    /// The product, if the event is about one.
    public var productID: String?
    /// Apple's transaction id, if there is one.
    public var transactionID: String?
    /// The code of the error or of the reason for waiting.
    public var code: String?
    /// The server's id of the request, for support.
    public var requestID: String?
}
