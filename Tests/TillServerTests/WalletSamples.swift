import TillAPI
import TillBilling
import TillHTTP
import TillJSON

extension OpenAPITests {
    private static let debit: JSONValue = ["currency": "points", "amount": 5, "reference": "r1"]
    private static let correction: JSONValue = [
        "currency": "points", "amount": -1, "reference": "c1", "reason": "why", "operator": "anna",
    ]

    /// Calls about the wallet of a user who has points: method, pattern, address, body, status.
    static let walletCalls: [(HTTPMethod, String, String, JSONValue?, Int)] = [
        (.post, Paths.debits, "/v1/users/u1/wallet/debits", debit, 201),
        (.post, Paths.debits, "/v1/users/u1/wallet/debits", debit, 200),
        (
            .post, Paths.debits, "/v1/users/u9/wallet/debits",
            ["currency": "points", "amount": 1, "reference": "z"], 409
        ),
        (.post, Paths.bonuses, "/v1/users/u1/wallet/bonuses", debit, 201),
        (
            .post, Paths.bonuses, "/v1/users/u1/wallet/bonuses",
            ["currency": "pionts", "amount": 1, "reference": "z"], 422
        ),
        (.post, Paths.corrections, "/v1/users/u1/wallet/corrections", correction, 201),
        (.post, Paths.corrections, "/v1/users/u1/wallet/corrections", correction, 200),
        (.post, Paths.corrections, "/v1/users/u1/wallet/corrections", debit, 400),
        (.get, Paths.lots, "/v1/users/u1/wallet/lots?currency=points", nil, 200),
        (.get, Paths.lots, "/v1/users/u1/wallet/lots", nil, 400),
        (.get, Paths.consumptionConsent, "/v1/users/u1/consents/consumption", nil, 200),
        (.put, Paths.consumptionConsent, "/v1/users/u1/consents/consumption", ["given": true], 200),
        (.get, Paths.consumptionConsent, "/v1/users/u1/consents/consumption", nil, 200),
        (.get, Paths.consumptionRequests, Paths.consumptionRequests, nil, 200),
        (.put, Paths.accountToken, "/v1/users/u1/account-tokens/7c1d2b3a-0f4e-4a6b-8c9d-0e1f2a3b4c5d", nil, 201),
        (.put, Paths.accountToken, "/v1/users/u1/account-tokens/7c1d2b3a-0f4e-4a6b-8c9d-0e1f2a3b4c5d", nil, 200),
        (.put, Paths.accountToken, "/v1/users/u2/account-tokens/7c1d2b3a-0f4e-4a6b-8c9d-0e1f2a3b4c5d", nil, 409),
        (.put, Paths.accountToken, "/v1/users/u1/account-tokens/00000000-0000-0000-0000-000000000000", nil, 400),
        (.get, Paths.accountTokens, "/v1/users/u1/account-tokens", nil, 200),
        (.get, Paths.postings, "/v1/users/u1/wallet/postings", nil, 200),
    ]

    /// Request and reply bodies about points and consents, each once with every member and once with the required
    /// members only.
    static var walletSamples: [String: (full: JSONValue, least: JSONValue)] {
        get throws {
            let at = Instant(seconds: 1_790_000_000)
            let bought = posting(.purchase, note: Posting.Note())
            let corrected = posting(.correction, note: Posting.Note(reason: "r", actor: "o"))
            var lots = Lots()
            lots.add(bought, bought: (TransactionID("1"), at))
            lots.add(corrected)
            let replies = lots.lotsAndDebt().lots.map { LotReply($0) }.sorted { $0.kind > $1.kind }
            let answer = ConsumptionRequestReply.Answer(
                customerConsented: true, deliveryStatus: "DELIVERED", sampleContentProvided: false,
                consumptionPercentage: 1, refundPreference: "DECLINE")
            let leastAnswer = ConsumptionRequestReply.Answer(
                customerConsented: true, deliveryStatus: "DELIVERED", sampleContentProvided: false,
                consumptionPercentage: nil, refundPreference: nil)
            var full = request(reason: "OTHER", ended: (answer, at))
            full.userId = "u"
            full.productId = "p"
            return [
                "Posting": try both(PostingReply(corrected), PostingReply(bought)),
                "PostingPage": try same(Page(data: [PostingReply(bought)], hasMore: false, nextCursor: nil)),
                "Bonus": try both(
                    BonusBody(currency: "points", amount: 1, reference: "r", reason: "w"),
                    BonusBody(currency: "points", amount: 1, reference: "r")),
                "Correction": try both(
                    CorrectionBody(
                        currency: "points", amount: -1, reference: "r", reason: "w", operatorName: "o",
                        allowDebt: true),
                    CorrectionBody(currency: "points", amount: -1, reference: "r", reason: "w", operatorName: "o")),
                "HandPosting": try both(
                    ManualPostingReply(corrected, balance: 1), ManualPostingReply(bought, balance: 1)),
                "Lot": try both(replies[0], replies[1]),
                "LotPage": try same(
                    LotsReply(
                        currency: "points", balance: 1, debt: 0, data: replies, hasMore: false, nextCursor: nil)),
                "Consent": try same(ConsentBody(given: true)),
                "ConsentReply": try both(ConsentReply(given: true, at: at), ConsentReply(given: false, at: nil)),
                "ConsumptionAnswer": try both(answer, leastAnswer),
                "ConsumptionRequest": try both(full, request(reason: nil, ended: (nil, nil))),
                "ConsumptionRequestPage": try same(Page(data: [full], hasMore: true, nextCursor: "1")),
            ]
        }
    }

    private static func posting(_ kind: PostingKind, note: Posting.Note) -> Posting {
        var posting = Posting(
            environment: .sandbox, userID: UserID("u"), contra: .sold, currency: "points", amount: 60, kind: kind,
            reference: "r", at: Instant(seconds: 1_790_000_000))
        posting.note = note
        return posting
    }

    private static func request(
        reason: String?, ended: (ConsumptionRequestReply.Answer?, Instant?)
    ) -> ConsumptionRequestReply {
        let at = Instant(seconds: 1_790_000_000)
        return ConsumptionRequestReply(
            transactionId: "1", environment: .sandbox, reason: reason, asked: (at, at), state: .waiting, attempts: 0,
            detail: "", ended: (ended.0, ended.1))
    }
}
