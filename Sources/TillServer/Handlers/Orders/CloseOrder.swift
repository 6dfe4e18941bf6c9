import TillAPI
import TillBilling
import TillHTTP
import TillLedger
import TillSQL

extension Server {
    /// `POST /v1/orders/{id}/cancel`: the buyer cancelled. If a payment arrives later, the order is granted.
    func cancelOrder(_ call: Call) async throws -> HTTPResponse { try await close(call, as: .cancelled) }

    /// `POST /v1/orders/{id}/fail`: the store refused the payment.
    func failOrder(_ call: Call) async throws -> HTTPResponse { try await close(call, as: .failed) }

    /// `POST /v1/orders/{id}/defer`: another person must approve the payment (Ask to Buy). The order ends when the
    /// payment arrives, or when the device reports that it was declined.
    func deferOrder(_ call: Call) async throws -> HTTPResponse { try await close(call, as: .deferred) }

    private func close(_ call: Call, as status: OrderStatus) async throws -> HTTPResponse {
        let id = try call.orderInPath()
        let reason = try call.bodyIfAny(OrderReasonBody.self)?.reason ?? ""
        let now = clock()
        let credential = call.credential
        let view = try await database.write(locking: [.order(id)]) { [self] connection -> OrderView in
            let orders = OrderTable(connection)
            guard var stored = try orders.find(id) else { throw RefusalError(.unknownOrder) }
            try requireOwner(credential, of: stored.order, connection)
            if stored.order.status != status {
                guard stored.order.mayMove(to: status) else {
                    throw RefusalError(.illegalMove)
                }
                stored = try orders.move(stored, along: [status], at: now, reason: reason)
            }
            return try OrderView(stored, connection)
        }
        return JSONText.response(200, text: view.reply(in: configuration.catalog).encoded)
    }

    /// The order of a guest who signed in belongs to the account: only the account may close it.
    private func requireOwner(_ credential: Credential, of order: Order, _ connection: any Connection) throws {
        let account = try CustomerTable(connection).account(of: order.userID)
        let isGuests = (try? credential.mayActFor(order.userID)) != nil
        guard (try? credential.mayActFor(account ?? order.userID)) == nil else { return }
        throw RefusalError(isGuests ? .guestMerged : .unknownOrder)
    }
}
