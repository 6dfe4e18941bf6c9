import TillAPI
import TillBilling

/// Looks up at the server how orders stand that this device never saw paid. Apple's notification alone may have
/// completed one, and the server may have finished its transaction, so that the store has nothing left to show (U2,
/// G5).
struct ServerOrders: Sendable {
    private let journal: OrderJournal
    private let server: ServerAccess
    private let effects: Effects

    /// Orders that are older are not asked about: seconds.
    private static let reach: Int64 = 30 * 86_400

    init(journal: OrderJournal, server: ServerAccess, effects: Effects) {
        self.journal = journal
        self.server = server
        self.effects = effects
    }

    /// One question, if there is anything to ask about. Whatever goes wrong, the next occasion asks again.
    func look() async {
        guard let session = await server.session() else { return }
        let since = effects.clock().adding(seconds: -Self.reach)
        let open = Set(await journal.neverPaid(by: session.userID, since: since))
        guard !open.isEmpty else { return }
        let path = "\(Paths.orders(of: session.userID))?limit=100"
        guard let page = try? await server.get(path, as: session, expecting: Page<OrderReply>.self) else { return }
        for order in page.data where open.contains(order.id) {
            switch OrderStatus(name: order.status) {
            case .completed: await settle(order.id, as: .completed)
            case .refunded: await settle(order.id, as: .refunded)
            case .prepared, .ongoing, .cancelled, .failed, .deferred, nil: break
            }
        }
    }

    /// On a full disk it stays as it was.
    private func settle(_ id: OrderID, as status: OrderStatus) async {
        _ = try? await journal.settle(id, as: status, at: effects.clock(), reason: "told_by_server")
    }
}
