import TillBilling

/// The one face of the client kit: purchases that are paid arrive exactly once, to whoever paid, whatever crashes,
/// disconnects or repeats on the way.
///
///     let store = try Store(StoreConfiguration(server: "https://pay.example.com"))
///     await store.start()
///     await store.signIn(userID) { await session.token() }
///     let outcome = await store.purchase("com.example.points.60")
///
/// One for the whole life of the app. Its calls may be made from anywhere, and at the same time.
public final class Store: Sendable {
    let rooms: Rooms
    let upkeep: Upkeep
    let checkout: Checkout

    /// For tests and simulations, which bring the world along.
    ///
    /// - Throws: `journal`: the list of orders is open in another instance (`disk_in_use`), was written by another
    ///   version (`journal_version`; then nothing in it is touched), or can't be read.
    package init(
        _ configuration: StoreConfiguration, access: StoreAccess, effects: Effects, files: DeviceFiles,
        transport: Transport
    ) throws(StoreError) {
        do throws(JournalFault) {
            rooms = try Rooms(
                configuration, access: access, effects: effects, files: files, transport: transport)
        } catch {
            throw .journal(error)
        }
        upkeep = Upkeep(rooms)
        checkout = Checkout(rooms, upkeep: upkeep)
    }

    deinit {
        // What goes on by itself would hold the journal for ever, and the next instance would find it in use.
        let upkeep = upkeep
        rooms.effects.spawn { await upkeep.stop() }
    }

    // MARK: The app's life

    /// At launch, before anything is shown: adds the one observer of the store for the app's whole life (G1, T10), and
    /// begins to send again what an earlier launch left (P6, O6). Returns at once. A second call does nothing.
    public func start() async { await upkeep.start() }

    /// At termination (P7): removes the observer and ends the loops over `updates`. Nothing is lost: what is paid and
    /// not settled stays on the disk and in the store's queue. A stopped store is not started again.
    public func stop() async { await upkeep.stop() }

    /// The app heard that the network is back: what waits is sent now (P6). Returns at once.
    public func networkReturned() async { await upkeep.take(.networkReturned) }

    /// What happens by itself, and what happened since the launch: nothing is lost because nobody listened yet (P7).
    public var updates: StoreUpdates { StoreUpdates(board: rooms.board) }

    // MARK: Who

    /// Whoever uses the app from now on. What another user paid still arrives to them (P8), and what waited for
    /// anybody's sign-in is sent now; nobody waits for that here.
    ///
    /// - Parameters:
    ///   - userID: as the app's backend calls them: the `sub` of the token. For a guest, `guestID`.
    ///   - token: asked for before each request; the user token that the app's backend issued (a JWT). Nil if there is
    ///     none now: then it is as if nobody were signed in.
    public func signIn(_ userID: String, token: @escaping @Sendable () async -> String?) async {
        await rooms.signIn.enter(UserID(userID), token: token)
        await upkeep.take(.signedIn)
    }

    /// Signs in to an account, and brings along what the guest of this installation bought (P12): all of it is the
    /// account's then, also what is still on its way. To be called at launches too, as `signIn` is: what failed before
    /// is tried again, and once it is done nothing is asked any more.
    ///
    /// - Parameters:
    ///   - userID: as in `signIn(_:token:)`. The sign-in counts at once, whatever becomes of the guest.
    ///   - guestToken: asked for if the guest bought anything here: the user token that the app's backend issues for
    ///     `guestID`. It proves that the guest agrees.
    ///   - token: as in `signIn(_:token:)`.
    @discardableResult
    public func signIn(
        _ userID: String, mergingGuest guestToken: @escaping @Sendable () async -> String?,
        token: @escaping @Sendable () async -> String?
    ) async -> GuestMerge {
        await signIn(userID, token: token)
        return await MergeGuest(rooms)(into: UserID(userID), token: guestToken)
    }

    /// Paid purchases that arrive while nobody is signed in are kept, and sent at the next sign-in of anybody.
    public func signOut() async { await rooms.signIn.leave() }

    /// The name of a buyer without an account, one for this installation (P12): what the app's backend may issue a
    /// token for. `guest-` and a UUID; another one after the guest became part of an account.
    public var guestID: String { get async { await rooms.guest.userID.text } }

    /// False: purchases are forbidden on this device (L3).
    public func canMakePayments() async -> Bool { await rooms.access.canMakePayments() }

    // MARK: Orders

    /// What opening the list of orders on this device found: how many, and whether a torn or damaged stretch was cut
    /// out of the file. Everything around it is there, and a copy of the file lies beside it, with `-damaged` to its
    /// name. Worth a line in a log if it is not clean.
    public var recovery: JournalRecovery { rooms.journal.recovery }

    /// The orders of whoever is signed in, newest first (L6); none while nobody is.
    public func orders() async -> [OrderSummary] { await orders(all: false) }

    /// - Parameter all: also those of others who used this installation, and those whose owner nobody knows yet.
    public func orders(all: Bool) async -> [OrderSummary] {
        if all { return await rooms.journal.summaries() }
        guard let user = await rooms.signIn.userID else { return [] }
        return await rooms.journal.summaries(of: user)
    }

    /// Sends the proof of one order again (补充值, L6). Of an order that is not ongoing it says how it stands.
    ///
    /// - Parameter orderID: `OrderSummary.orderNumber`.
    public func resubmit(_ orderID: String) async -> PurchaseOutcome {
        guard let id = OrderID(orderID) else { return .failed(nil, .unknownOrder) }
        return await checkout.resubmit(id)
    }

    /// Sends everything again that is paid and not settled, and comes back when each was answered or given up for now
    /// (C9). To be called whenever the buyer enters what they may have paid for.
    public func checkOrderStatus() async { await upkeep.checkAll() }

    /// Asks the store for what the customer owns, and the server to give it back (P10, T11): non-consumables and
    /// auto-renewables. The store may ask the customer to sign in. What belongs to another of the app's users is dealt
    /// with as the server is configured.
    public func restore() async -> RestoreOutcome { await checkout.restoreAll() }
}

/// The language of sentences for the buyer.
public typealias StoreLanguage = Language

/// Which of Apple's two interfaces the kit buys through. Everything else is the same for both.
public enum StoreKitGeneration: String, Hashable, Sendable, CaseIterable {
    /// StoreKit 2 where the system has it, else StoreKit 1.
    case automatic
    /// `SKPaymentQueue`, with the app receipt as proof.
    case storeKit1
    /// `Transaction`, with Apple's signed transaction as proof.
    case storeKit2
}

/// What an app tells the kit once. Only the server has no default.
public struct StoreConfiguration: Hashable, Sendable {
    /// The purchase server: `https://pay.example.com`. `http://` is refused, except to this machine (127.0.0.0/8, ::1,
    /// localhost).
    public var server: String
    /// Through which StoreKit the kit buys.
    public var generation = StoreKitGeneration.automatic
    /// Where the list of orders, the cached product list and the device's id are kept; made if it is not there. Nil:
    /// `Till` in the app's Application Support; on Linux `till` in `XDG_STATE_HOME` or `~/.local/state`. One running
    /// `Store` may use it at a time. Keep it out of an app group's container, where iOS ends an app that holds a lock
    /// while it is suspended.
    public var directory: String?
    /// The app's own name for this device, at most 128 bytes. Nil: one is made and kept in the directory.
    public var deviceID: String?
    /// Of the server's sentences. The kit's own come in every language.
    public var language = StoreLanguage.ofDevice

    /// - Parameter server: the purchase server, `https://pay.example.com`.
    public init(server: String) { self.server = server }
}
