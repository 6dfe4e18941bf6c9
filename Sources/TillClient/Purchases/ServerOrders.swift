import TillAPI
import TillBilling

/// Reads the status of orders whose payment this device never saw. Apple's notification alone may have completed one,
/// and the server may have finished its transaction, so that the store no longer returns it.
struct ServerOrders: Sendable {
    private let journal: OrderJournal
    private let server: ServerAccess
    private let effects: Effects

    /// In seconds. Older orders are not checked.
    private static let reach: Int64 = 30 * 86_400

    init(journal: OrderJournal, server: ServerAccess, effects: Effects) {
        self.journal = journal
        self.server = server
        self.effects = effects
    }

    /// Sends one request, if there is an order to check. After a failure, the next occasion checks again.
    func check() async {
        guard let session = await server.session() else { return }
        let since = effects.clock().adding(seconds: -Self.reach)
        let open = Set(await journal.neverPaid(by: session.userID, since: since))
        guard !open.isEmpty else { return }
        let path = "\(Paths.orders(of: session.userID))?limit=100"
        guard let page = try? await server.get(path, as: session, expecting: Page<OrderReply>.self) else { return }
        for order in page.data where open.contains(order.id) {
            switch OrderStatus(name: order.status) {
            case .completed: await complete(order.id, as: .completed)
            case .refunded: await complete(order.id, as: .refunded)
            case .prepared, .ongoing, .cancelled, .failed, .deferred, nil: break
            }
        }
    }

    /// On a full disk the order stays unchanged.
    private func complete(_ id: OrderID, as status: OrderStatus) async {
        _ = try? await journal.complete(id, as: status, at: effects.clock(), reason: "told_by_server")
    }
}
