import TillAPI
import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The signed-in user's wallet and entitlements: read from the server when there is an occasion, and kept on the device
/// for the time without a network.
final class AccountState: Sendable {
    private let server: ServerAccess
    private let reads: ServerReads
    private let journal: OrderJournal
    private let catalog: ProductCatalog
    private let access: StoreAccess
    private let effects: Effects
    private let board: StateBoard
    private let cache: CacheFile
    private let log: StoreLog
    private let grace: TimeInterval
    private let file: Guarded<EntitlementFile>
    private let writing = Guarded<Void>()
    private let work = Guarded(Work())

    private struct Work {
        var isRunning = false
        var isWanted = false
    }

    init(_ components: StoreComponents, cache: CacheFile) {
        server = components.server
        reads = components.reads
        journal = components.journal
        catalog = components.catalog
        access = components.access
        effects = components.effects
        board = components.state
        log = components.log
        grace = components.configuration.offlineGrace
        self.cache = cache
        let url = components.server.url
        file = Guarded(cache.read().flatMap { EntitlementFile($0, server: url) } ?? EntitlementFile(server: url))
    }

    /// The current time, never earlier than a time that this device has shown since the server's last answer. Stored
    /// once an hour, because a launch begins with the stored time.
    var now: Instant {
        let clock = effects.clock()
        let (time, isDue) = file.withLock { file -> (Instant, Bool) in
            file.latest = max(file.latest, clock)
            let isDue = !file.records.isEmpty && file.latest >= file.stored.adding(milliseconds: 3_600_000)
            if isDue { file.stored = file.latest }
            return (file.latest, isDue)
        }
        if isDue { store() }
        return time
    }

    private func store() {
        // The last writer has the newest contents.
        writing.withLock { if let bytes = file.withLock({ $0.bytes }) { cache.replace(bytes) } }
    }

    /// What the device knows of a user, without a request.
    func known(of user: UserID) -> EntitlementSnapshot {
        snapshot(of: file.withLock { $0.record(of: user) }, filling: [])
    }

    /// Asks the server in the background, if the app uses the answer. Occasions while a request is under way lead to
    /// one more.
    func refreshSoon() {
        guard board.isInUse else { return }
        let begins = work.withLock { work in
            work.isWanted = true
            defer { work.isRunning = true }
            return !work.isRunning
        }
        guard begins else { return }
        effects.spawn {
            while self.work.withLock({ work in
                defer { work.isWanted = false }
                if !work.isWanted { work.isRunning = false }
                return work.isWanted
            }) {
                do throws(StoreError) {
                    try await self.refresh()
                } catch {
                    self.log.record(.info, "refresh_failed", code: error.code)
                }
            }
        }
    }

    /// Asks the server for wallet and entitlements, and shows both.
    func refresh() async throws(StoreError) {
        // One session for all requests: another user may sign in between them.
        guard let session = await server.session() else { throw .notSignedIn }
        let user = session.userID
        let rows: [EntitlementsResponse.Right]
        do throws(StoreError) {
            rows = try await reads.entitlementRows(as: session)
        } catch {
            await show(file.withLock { $0.record(of: user) }, of: user)
            throw error
        }
        // The answer holds for the clock as it is now, also after a time at which it was wrong.
        let record = EntitlementRecord(userID: user.text, updatedAt: effects.clock(), rows: rows)
        file.withLock { $0.keep(record) }
        store()
        await show(record, of: user)
        let points = try await reads.wallet(as: session)
        board.change { if $0.userID == user.text { $0.wallet = points } }
    }

    private func show(_ record: EntitlementRecord?, of user: UserID) async {
        let shown = snapshot(of: record, filling: await current(of: user, after: record?.updatedAt))
        board.change { if $0.userID == user.text { $0.entitlements = shown } }
    }

    /// The store's current purchases that this device knows to be the user's, by an order in the journal, and that the
    /// server's last answer does not include yet. The Apple Account may belong to several of the app's users, and each
    /// gets only their own.
    private func current(of user: UserID, after answer: Instant?) async -> [EntitlementsResponse.Right] {
        var rows: [EntitlementsResponse.Right] = []
        for purchase in await access.current() {
            guard let token = purchase.token, let entry = await journal[token], entry.userID == user,
                entry.status == .ongoing || entry.status == .completed && answer.map({ $0 < entry.updatedAt }) ?? true,
                let name = await catalog.entitlement(of: purchase.productID)
            else { continue }
            rows.append(EntitlementsResponse.Right(purchase, name, since: entry.createdAt))
        }
        return rows
    }

    private func snapshot(
        of record: EntitlementRecord?, filling: [EntitlementsResponse.Right]
    ) -> EntitlementSnapshot {
        let known = record?.rows ?? []
        let gaps = filling.filter { row in !known.contains { $0.covers(row) } }
        return EntitlementSnapshot(
            items: (known + gaps).map(Entitlement.init), updatedAt: record.map { Date($0.updatedAt) }, grace: grace)
    }
}

extension EntitlementsResponse.Right {
    /// Whether this grants the other's entitlement for at least as long.
    fileprivate func covers(_ other: Self) -> Bool {
        guard entitlement == other.entitlement else { return false }
        guard let end = expiresAt else { return true }
        return other.expiresAt.map { $0 <= end } ?? false
    }

    /// A purchase of which only the store's statement is known.
    init(_ purchase: CurrentPurchase, _ name: String, since: Instant) {
        entitlement = name
        productId = purchase.productID.text
        kind = (purchase.expires == nil ? Entitlement.Kind.lasting : .subscription).rawValue
        state = nil
        why = (purchase.expires == nil ? EntitlementReason.bought : .subscribed).rawValue
        sentence = nil
        plan = nil
        deviceId = nil
        deviceIds = nil
        self.since = since
        expiresAt = purchase.expires
        willRenew = nil
        transactionId = purchase.transactionID.text
        originalTransactionId = nil
    }
}
