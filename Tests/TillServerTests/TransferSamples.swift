import TillAPI
import TillBilling
import TillHTTP
import TillJSON

extension OpenAPITests {
    /// Calls about a purchase of u1: method, address, its path, body and status.
    static func transferCalls(
        _ transaction: String, _ signed: String
    ) -> [(HTTPMethod, String, String, JSONValue?, Int)] {
        let move: JSONValue = [
            "from": "u2", "to": "u3", "originalTransactionId": .string(transaction), "reason": "r", "operator": "o",
        ]
        let restore: JSONValue = ["userId": "u1", "signedTransactions": [.string(signed), "x"]]
        return [
            (.post, Paths.restores, Paths.restores, restore, 200),
            (.post, Paths.guests, "/v1/users/u2/guests", ["guestId": "u1"], 201),
            (.post, Paths.guests, "/v1/users/u2/guests", ["guestId": "u1"], 200),
            (.get, Paths.userTransfers, "/v1/users/u2/transfers", nil, 200),
            (.post, Paths.transfers, Paths.transfers, move, 201),
            (.post, Paths.transferReversal, "/v1/transfers/x/reversal", ["reason": "r", "operator": "o"], 404),
        ]
    }

    /// Request and reply bodies about restoring and moving purchases, each once with every member and once with the
    /// required members only.
    static var transferSamples: [String: (full: JSONValue, least: JSONValue)] {
        get throws {
            let id = UniqueID(high: 1, low: 2)
            func transfer(by name: String?) -> Transfer {
                Transfer(
                    id: id, kind: .reversal, from: UserID("a"), to: UserID("b"), reason: "r", actor: "key:k",
                    operatorName: name, at: Instant(seconds: 1_790_000_000))
            }
            let grant = TransferReply.MovedGrant(
                id: id, transactionID: TransactionID("1"), originalID: TransactionID("1"), productID: ProductID("p"),
                environment: .sandbox)
            let points = MovedPoints(environment: .sandbox, currency: "points", amount: 60)
            let stayed = TransferReply.Remaining(grantCount: 1, points: [points])
            let full = TransferReply(
                transfer(by: "li"), grantCount: 1, grants: [grant], points: [points], reverses: id, reversedBy: id,
                stayed: stayed)
            let least = TransferReply(transfer(by: nil), grantCount: 0, grants: [], points: [])
            let stored = RestoredTransaction(
                transaction: (TransactionID("1"), TransactionID("1"), ProductID("p")), outcome: .kept,
                reason: "ask_backend", askBackend: true, finish: true)
            let refused = RestoredTransaction(transaction: nil, outcome: .refused, finish: false)
            return [
                "Restore": try both(
                    RestoreBody(userId: "u", signedTransactions: ["a"], receipt: "b"), RestoreBody()),
                "RestoreReply": try same(RestoreReply(data: [stored])),
                "RestoredTransaction": try both(stored, refused),
                "MergeGuest": try both(
                    MergeGuestBody(guestId: "g", guestToken: "t", reason: "r"), MergeGuestBody(guestId: "g")),
                "MakeTransfer": try both(
                    MakeTransferBody(
                        from: "a", to: "b", originalTransactionId: "1", environment: "sandbox", reason: "r",
                        operator: "o"),
                    MakeTransferBody(from: "a", to: "b", originalTransactionId: "1", reason: "r", operator: "o")),
                "ReverseTransfer": try same(ReverseTransferBody(reason: "r", operator: "o")),
                "Transfer": try both(full, least),
                "TransferPage": try same(Page(data: [full], hasMore: false, nextCursor: nil)),
                "MovedGrant": try same(grant), "MovedPoints": try same(full.points[0]), "Stayed": try same(stayed),
            ]
        }
    }
}
