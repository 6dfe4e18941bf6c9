import TillAPI
import TillBilling

/// Compares the device's list of orders with the server's, in both directions. Apple reports to the server what this
/// device may never see: payments, and refunds, which StoreKit 1 does not report. Only this device knows that a
/// purchase was cancelled, or waits for approval.
struct ServerOrders: Sendable {
    private let journal: OrderJournal
    private let purchase: OrderPreparation
    private let server: ServerAccess
    private let effects: Effects

    /// In seconds. Older unpaid orders are not compared.
    private static let reach: Int64 = 30 * 86_400
    /// In seconds: how long a refund may be reversed.
    private static let reversalPeriod: Int64 = 180 * 86_400
    /// The number of single orders that one comparison reads or reports.
    private static let width = 5

    init(journal: OrderJournal, purchase: OrderPreparation, server: ServerAccess, effects: Effects) {
        self.journal = journal
        self.purchase = purchase
        self.server = server
        self.effects = effects
    }

    /// Sends at most one request for the newest orders, if one of them was never paid here, and one for the refunded
    /// orders, however old, if the first one did not cover them. After a failure, the next occasion compares again.
    ///
    /// - Returns: whether the server has granted or revoked something that this device did not know.
    func check() async -> Bool {
        guard let session = await server.session() else { return false }
        let user = session.userID
        var hasChanged = false
        let open = await journal.neverPaid(by: user, since: effects.clock().adding(seconds: -Self.reach))
        if !open.isEmpty {
            guard let page = await orders("limit=100", as: session) else { return false }
            var reports = 0
            for order in page.data {
                guard let entry = await entry(of: order, user) else { continue }
                if await apply(order, to: entry) { hasChanged = true }
                guard reports < Self.width, entry.isNews(beside: OrderStatus(name: order.status)) else { continue }
                reports += 1
                await purchase.report(entry)
            }
            if !page.hasMore { return hasChanged }
        }
        let (completed, refunded) = (await journal.paid(by: user, .completed), await journal.paid(by: user, .refunded))
        guard !completed.isEmpty || !refunded.isEmpty else { return hasChanged }
        guard let page = await orders("status=refunded&limit=100", as: session) else { return hasChanged }
        for order in page.data {
            if let entry = await entry(of: order, user), await apply(order, to: entry) { hasChanged = true }
        }
        if let restore = page.restored, await reopen(completed, lostBy: restore, as: session) { hasChanged = true }
        let listed = Set(page.data.map(\.id))
        if await checkReversals(refunded.filter { !listed.contains($0.id) }, as: session) { hasChanged = true }
        return hasChanged
    }

    /// A refunded order that the server no longer lists as refunded may have been paid again.
    private func checkReversals(_ entries: [JournalEntry], as session: UserSession) async -> Bool {
        let since = effects.clock().adding(seconds: -Self.reversalPeriod)
        let recent = entries.filter { $0.isOpened && $0.updatedAt >= since }
            .sorted { ($1.updatedAt, $1.id) < ($0.updatedAt, $0.id) }
        var hasChanged = false
        for entry in recent.prefix(Self.width) {
            let path = Paths.order(entry.id)
            guard let order = try? await server.get(path, as: session, expecting: ListedOrder.self),
                order.id == entry.id
            else { continue }
            if await apply(order, to: entry) { hasChanged = true }
        }
        return hasChanged
    }

    /// A server that was restored from a backup lacks the orders since. It has what Apple reports for them, and waits
    /// for somebody who can prove whose it is: this device has the nonce.
    private func reopen(
        _ completed: [JournalEntry], lostBy restore: RestoredLedger, as session: UserSession
    ) async -> Bool {
        let (start, end) = (
            restore.backupAt.adding(seconds: -Self.clockDifference),
            restore.restoredAt.adding(seconds: Self.clockDifference)
        )
        let doubtful = completed.filter { entry in
            entry.isOpened && entry.idNonce != nil && start <= entry.createdAt && entry.createdAt <= end
        }
        guard !doubtful.isEmpty, let page = await orders("limit=100", as: session) else { return false }
        let known = Set(page.data.map(\.id))
        var hasChanged = false
        for entry in doubtful.filter({ !known.contains($0.id) }).prefix(Self.width)
        where await purchase.reopen(entry, as: session) {
            hasChanged = true
        }
        return hasChanged
    }

    /// In seconds: between this device's clock and the server's.
    private static let clockDifference: Int64 = 86_400

    private func orders(_ query: String, as session: UserSession) async -> ListedOrders? {
        let path = "\(Paths.orders(of: session.userID))?\(query)"
        return try? await server.get(path, as: session, expecting: ListedOrders.self)
    }

    /// A purchase that this device did not begin may have another id here than at the server.
    private func entry(of order: ListedOrder, _ user: UserID) async -> JournalEntry? {
        var entry = await journal[order.id]
        if entry == nil, let id = order.transactionId { entry = await journal.entry(of: TransactionID(id)) }
        return entry?.userID == user ? entry : nil
    }

    /// Whether the order is completed or refunded now, and was not before. On a full disk it stays unchanged.
    private func apply(_ order: ListedOrder, to entry: JournalEntry) async -> Bool {
        guard let status = OrderStatus(name: order.status) else { return false }
        switch (status, entry.status) {
        // A transaction that this device has seen is submitted, which finishes it too.
        case (.completed, .ongoing), (.refunded, .ongoing): return false
        case (.completed, _), (.refunded, _):
            let reason = entry.status == .refunded && status == .completed ? "refund_reversed" : "told_by_server"
            let told = try? await journal.complete(
                entry.id, as: status, at: effects.clock(), reason: reason, paid: order.paid)
            return told.map { $0.status != entry.status } ?? false
        case (.cancelled, .deferred), (.failed, .deferred):
            _ = try? await journal.move(entry.id, to: status, at: effects.clock(), reason: "told_by_server")
            return false
        default: return false
        }
    }
}

/// The members of an `OrderReply` that a device compares: it reads up to a hundred orders at each launch.
private struct ListedOrder: Decodable {
    let id: UniqueID
    let status: String
    let transactionId: String?
    let paid: Money?
}

/// Those of an `OrderPage`.
private struct ListedOrders: Decodable {
    let data: [ListedOrder]
    let hasMore: Bool
    let restored: RestoredLedger?
}

extension JournalEntry {
    /// Whether this device knows more about an unpaid order than the server, according to the server's status.
    fileprivate func isNews(beside known: OrderStatus?) -> Bool {
        guard transactionID == nil, isOpened else { return false }
        return switch (status, known) {
        case (.deferred, .prepared): true
        case (.cancelled, .prepared), (.cancelled, .deferred), (.failed, .prepared), (.failed, .deferred): true
        default: false
        }
    }
}
