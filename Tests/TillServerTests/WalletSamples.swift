import TillAPI
import TillAppStore
import TillBilling

extension OpenAPITests {
    /// What is sent and taken about points and consents, each with everything in it and with as little as there can be.
    static var walletSamples: [String: (full: JSONValue, least: JSONValue)] {
        get throws {
            let at = Instant(seconds: 1_790_000_000)
            let bought = posting(.purchase, note: Posting.Note())
            let corrected = posting(.correction, note: Posting.Note(reason: "r", actor: "o"))
            var lots = Lots()
            lots.add(bought, bought: (TransactionID("1"), at))
            lots.add(corrected)
            let replies = lots.settled().lots.map { LotReply($0) }.sorted { $0.kind > $1.kind }
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
                    HandPostingReply(corrected, balance: 1), HandPostingReply(bought, balance: 1)),
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
