import TillAPI
import TillBilling
import TillHTTP
import TillLedger

extension Server {
    /// `GET /v1/consumption-requests?limit=&cursor=`: what Apple asked before refunds and was told, newest first.
    func listConsumptionRequests(_ call: Call) async throws -> HTTPResponse {
        let (limit, cursor) = (try call.limit(), try call.cursor())
        let found = try await database.read { session in
            try ConsumptionTable(session).list(before: cursor, limit: limit + 1).map { stored in
                let question = stored.question
                let purchase = try QuestionedPurchase.asked(question.transactionID, in: question.environment, session)
                return (stored, purchase)
            }
        }
        let page = found.prefix(limit)
        return JSONText.response(
            200,
            Page(
                data: page.map { ConsumptionRequestReply($0.0, about: $0.1) }, hasMore: found.count > limit,
                nextCursor: found.count > limit ? page.last.map { String($0.0.sequence) } : nil))
    }
}

extension ConsumptionRequestReply {
    fileprivate init(_ stored: ConsumptionTable.Stored, about purchase: QuestionedPurchase?) {
        let state: State =
            switch stored.state {
            case .waiting: .waiting
            case .answered: .answered
            case .unanswered: .unanswered
            case .refused: .refused
            }
        let answer = stored.answer.flatMap { try? JSONText.decode(Answer.self, from: Array($0.utf8)) }
        let question = stored.question
        self.init(
            transactionId: question.transactionID.text, environment: question.environment, reason: question.reason,
            asked: (question.requestedAt, question.answerBy), state: state, attempts: stored.attempts,
            detail: stored.detail, ended: (answer, stored.endedAt))
        userId = purchase?.userID?.text
        productId = purchase?.productID.text
    }
}
