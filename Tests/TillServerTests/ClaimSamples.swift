import TillAPI
import TillBilling
import TillHTTP
import TillJSON

extension OpenAPITests {
    /// Calls about an unclaimed transaction: method, address, its path, body and status.
    static func claimCalls(_ transaction: String) -> [(HTTPMethod, String, String, JSONValue?, Int)] {
        let body: JSONValue = ["userId": "u9", "reason": "r", "operator": "o"]
        return [
            (.get, Paths.quarantine, "/v1/quarantine", nil, 200),
            (.post, Paths.quarantineClaims, "/v1/quarantine/\(transaction)/claims", body, 200),
            (.post, Paths.quarantineClaims, "/v1/quarantine/0/claims", body, 404),
            (.get, Paths.claims, "/v1/users/u1/claims", nil, 200),
            (.post, Paths.claims, "/v1/users/u1/claims", ["orderNumber": "MVXK0ABC12"], 501),
            (.post, Paths.claims, "/v1/users/u9/claims", ["transactionId": "0"], 404),
            (.get, Paths.claimable, "/v1/users/u1/claimable", nil, 200),
        ]
    }

    /// Request and reply bodies of claims, each once with every member and once with the required members only.
    static var claimSamples: [String: (full: JSONValue, least: JSONValue)] {
        get throws {
            let id = UniqueID(high: 1, low: 2)
            let now = Instant(seconds: 1_790_000_000)
            let claimed = ClaimedTransaction(
                .granted, transactionId: "1", productId: "p", orderId: id, reason: "no_owner")
            let full = ClaimReply(
                id: id, orderNumber: "M", state: .answered, at: now, endedAt: now, data: [claimed])
            let least = ClaimReply(id: id, orderNumber: nil, state: .waiting, at: now, endedAt: nil, data: [])
            let evidence = QuarantinedTransaction.Evidence(
                at: now, decision: "quarantined", ground: "no_owner", detail: "token absent", source: "app",
                caller: "user:u1")
            let bare = QuarantinedTransaction.Evidence(
                at: now, decision: "quarantined", ground: "no_owner", detail: nil, source: "app", caller: "user:u1")
            let reason = QuarantinedTransaction.Reason(
                reason: "no_owner", count: 600, firstAt: now, lastAt: now, lastCaller: "user:u1")
            func transaction(_ price: Money?, token: UniqueID? = nil) -> QuarantinedTransaction {
                QuarantinedTransaction(
                    ids: (TransactionID("2"), TransactionID("1")), productID: ProductID("p"), quantity: 1,
                    environment: .sandbox, price: price, times: (now, now), reason: "no_owner", token: token,
                    evidence: [evidence], reasons: [reason])
            }
            func claimable(_ sandbox: Bool?) -> ClaimableReply {
                ClaimableReply(
                    transactionId: "2", productId: "p", quantity: 1, purchasedAt: now, orderId: id,
                    orderedProductId: "q", orderedQuantity: 2, reason: "contradicts_order", sandbox: sandbox)
            }
            let page = Page(data: [full], hasMore: true, nextCursor: "7")
            let quarantine = Page(data: [transaction(nil)], hasMore: true, nextCursor: "7")
            return [
                "ClaimOrder": try both(
                    ClaimOrderBody(orderNumber: "MVXK0ABC12", transactionId: "2", environment: "sandbox"),
                    ClaimOrderBody()),
                "Claimable": try both(claimable(true), claimable(nil)),
                "ClaimablePage": try same(Page(data: [claimable(true)], hasMore: true, nextCursor: "7")),
                "QuarantineReason": try same(reason),
                "Claim": try both(full, least), "ClaimPage": try same(page),
                "ClaimedTransaction": try both(claimed, ClaimedTransaction(.refused)),
                "ClaimQuarantined": try both(
                    ClaimQuarantinedBody(userId: "u", reason: "r", operator: "o", environment: "sandbox"),
                    ClaimQuarantinedBody(userId: "u", reason: "r", operator: "o")),
                "QuarantinedTransaction": try both(
                    transaction(Money(amount: 600, currency: Currency("CNY")), token: id), transaction(nil)),
                "QuarantinePage": try same(quarantine), "Evidence": try both(evidence, bare),
            ]
        }
    }
}
