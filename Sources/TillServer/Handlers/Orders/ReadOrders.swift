import TillAPI
import TillBilling
import TillHTTP
import TillLedger

extension Server {
    /// `GET /v1/orders/{id}`.
    func readOrder(_ call: Call) async throws -> HTTPResponse {
        let id = try call.orderInPath()
        let found = try await database.read { connection -> (view: OrderView, account: UserID?)? in
            let orders = OrderTable(connection)
            guard let stored = try orders.find(id) else { return nil }
            let view = try OrderView(stored, connection)
            return (view, try CustomerTable(connection).account(of: stored.order.userID))
        }
        // To a caller who may not act for its user, an order is unknown. A merged guest's order is the account's too.
        guard let found,
            [found.view.order.userID, found.account].contains(where: { user in
                user.map { (try? call.credential.mayActFor($0)) != nil } ?? false
            })
        else { throw RefusalError(.unknownOrder) }
        return JSONText.response(200, text: found.view.reply(in: configuration.catalog).encoded)
    }

    /// `GET /v1/users/{userId}/orders?status=&environment=&limit=&cursor=`: newest first.
    func listUserOrders(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        let environment = try call.environment(for: user, configuration)
        let page = try await page(call)
        let status = try call.request.queryValue("status").map { name -> OrderStatus in
            guard let status = OrderStatus(name: name) else {
                throw RefusalError(
                    .invalidField, "status: \(OrderStatus.allCases.map(\.name).joined(separator: ", "))",
                    zh: "status：应为下列之一：\(OrderStatus.allCases.map(\.name).joined(separator: "、"))")
            }
            return status
        }
        let (found, restore) = try await database.read { connection in
            let orders = OrderTable(connection)
            let found = try orders.list(
                user: user, environment: environment, status: status, before: page.before, limit: page.rows
            )
            .map { stored in (stored.rowID, try OrderView(stored, connection)) }
            return (found, try LedgerRestoreTable(connection).last())
        }
        let isRecent = restore.map { $0.restoredAt >= clock().adding(seconds: -Self.restoreNotice) } ?? false
        let listed = page.page(found, at: \.0) { [catalog = configuration.catalog] in $0.1.reply(in: catalog) }
        return JSONText.response(
            200, text: OrderPage(listed, restored: isRecent ? restore.map(RestoredLedger.init) : nil).encoded)
    }

    /// Seconds for which devices are told of a restore: as long as Apple keeps notifications.
    private static let restoreNotice: Int64 = 180 * 86_400
}

extension RestoredLedger {
    fileprivate init(_ restore: LedgerRestoreTable.Restore) {
        self.init(backupAt: restore.takenAt, restoredAt: restore.restoredAt)
    }
}
