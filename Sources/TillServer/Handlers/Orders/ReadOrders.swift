import TillAPI
import TillBilling
import TillHTTP
import TillLedger

extension Server {
    /// `GET /v1/orders/{id}`.
    func readOrder(_ call: Call) async throws -> HTTPResponse {
        let id = try call.orderInPath()
        let found = try await database.read { session -> OrderView? in
            let orders = OrderTable(session)
            guard let stored = try orders.find(id) else { return nil }
            return OrderView(stored.order, try orders.moves(of: stored.sequence))
        }
        // To a caller who may not act for its user, an order is unknown.
        guard let found, (try? call.credential.mayActFor(found.order.userID)) != nil else {
            throw Refused(.unknownOrder)
        }
        return JSONText.response(200, found.reply)
    }

    /// `GET /v1/users/{userId}/orders?status=&environment=&limit=&cursor=`: newest first.
    func listUserOrders(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        let environment = try call.environment(for: user, configuration)
        let page = try await page(call)
        let status = try call.request.queryValue("status").map { name -> OrderStatus in
            guard let status = OrderStatus(name: name) else {
                throw Refused(.invalidField, "status: \(OrderStatus.allCases.map(\.name).joined(separator: ", "))")
            }
            return status
        }
        let found = try await database.read { session in
            let orders = OrderTable(session)
            return try orders.list(
                user: user, environment: environment, status: status, before: page.before, limit: page.rows
            )
            .map { stored in (stored.sequence, OrderView(stored.order, try orders.moves(of: stored.sequence))) }
        }
        return page.response(found, at: \.0) { $0.1.reply }
    }
}
