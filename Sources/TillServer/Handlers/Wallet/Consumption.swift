import TillAPI
import TillBilling
import TillHTTP
import TillLedger

/// Whether a user consents to telling Apple how much of a purchase was used. Without consent nothing is sent.
extension Server {
    /// `GET /v1/users/{userId}/consents/consumption`.
    func readConsumptionConsent(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        let consent = try await database.read { try ConsentTable($0).newest(of: user) }
        return JSONText.response(200, ConsentReply(given: consent?.isGiven ?? false, at: consent?.at))
    }

    /// How often a user can give consent per day. Every change is recorded permanently.
    private static let consentsPerDay: Int64 = 10

    /// `PUT /v1/users/{userId}/consents/consumption`: earlier statements stay on record. Repeating the current one
    /// changes nothing.
    func recordConsumptionConsent(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        try await ledger.requireKnownForm(of: user, "userId")
        let body = try call.body(ConsentBody.self)
        let consent = ConsentTable.Consent(isGiven: body.given, actor: call.credential.name, at: clock())
        let stands = try await database.write(locking: [.customer(user)]) { connection in
            try CustomerTable(connection).requireUnmerged(user)
            let consents = ConsentTable(connection)
            if let newest = try consents.newest(of: user), newest.isGiven == consent.isGiven { return newest }
            // Withdrawing consent is never refused; it can happen only as often as giving it.
            if consent.isGiven {
                let given = try consents.countGiven(by: user, since: consent.at.adding(seconds: -86_400))
                guard given < Self.consentsPerDay else {
                    throw RefusalError(
                        .tooManyRequests, "consent was given \(given) times in one day; it can be given again tomorrow",
                        zh: "一天之内已同意 \(given) 次，明天可再次同意", retryAfter: 86_400)
                }
            }
            try consents.insert(consent, of: user)
            return consent
        }
        return JSONText.response(200, ConsentReply(given: stands.isGiven, at: stands.at))
    }
}

extension Server {
    /// `GET /v1/consumption-requests?limit=&cursor=`: Apple's requests before refunds and the answers, newest first.
    func listConsumptionRequests(_ call: Call) async throws -> HTTPResponse {
        let page = try await page(call)
        let found = try await database.read { connection in
            try ConsumptionTable(connection).list(before: page.before, limit: page.rows).map { stored in
                let request = stored.request
                let purchase = try RequestedPurchase.asked(request.transactionID, in: request.environment, connection)
                return (stored, purchase)
            }
        }
        return page.response(found, at: \.0.rowID) { ConsumptionRequestReply($0.0, about: $0.1) }
    }
}

extension ConsumptionRequestReply {
    fileprivate init(_ stored: ConsumptionTable.Stored, about purchase: RequestedPurchase?) {
        let state: State =
            switch stored.state {
            case .waiting: .waiting
            case .answered: .answered
            case .unanswered: .unanswered
            case .refused: .refused
            }
        let answer = stored.answer.flatMap { try? JSONText.decode(Answer.self, from: Array($0.utf8)) }
        let request = stored.request
        self.init(
            transactionId: request.transactionID.text, environment: request.environment, reason: request.reason,
            asked: (request.requestedAt, request.answerBy), state: state, attempts: stored.attempts,
            detail: stored.detail, ended: (answer, stored.endedAt))
        userId = purchase?.userID?.text
        productId = purchase?.productID.text
    }
}
