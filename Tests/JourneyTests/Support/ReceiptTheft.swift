import TillBilling
import TillCrypto
import TillJSON
import TillLedger

extension Shop {
    func post(
        receiptOf payment: Payment, _ product: String = points60, order: OrderID?, as user: String
    ) async throws -> Reply {
        try await send(
            .post, "/v1/transactions",
            [
                "receipt": .string(payment.receipt), "transactionId": .string(payment.id),
                "productId": .string(product), "orderId": order.map { .string($0.description) } ?? .null,
            ], as: .user(user))
    }

    func debit(_ amount: Int64, from user: String, _ reference: String) async throws -> Reply {
        try await send(
            .post, "/v1/users/\(user)/wallet/debits",
            ["currency": "points", "amount": .int(amount), "reference": .string(reference)])
    }

    func points(of users: [String]) async throws -> [Int64] {
        var points: [Int64] = []
        for user in users { points.append(try await self.points(of: user)) }
        return points
    }

    func reported(_ user: String) async throws -> [JSONValue] {
        try await send(.get, "/v1/events?user=\(user)")["data"].list
    }

    func decisions(on id: String) async throws -> [EvidenceTable.Entry] {
        try await ledger.read { connection in
            guard let stored = try TransactionTable(connection).find(TransactionID(id), in: .sandbox) else { return [] }
            return try EvidenceTable(connection).list(transaction: stored.rowID)
        }
    }
}
