import TillAppStore
import TillBilling
import TillHTTP
import TillLedger

extension Server {
    /// `POST /verifyReceipt`, for apps already shipped whose address of Apple's was changed to ours and nothing else:
    /// the verdict is in `status`, HTTP says 200 (decisions/0016). It grants nothing and changes nothing.
    ///
    /// Anybody may ask, so all of it is done where no customer waits, and who finds no room there is told to come again
    /// (21005).
    func verifyReceipt(_ call: Call) async throws -> HTTPResponse {
        do {
            return try await heavy.run(forStranger: call.request) { await verifyReceipt(call.request.body) }
        } catch {
            return Self.verifyReceiptIsBusy
        }
    }

    private func verifyReceipt(_ body: [UInt8]) async -> HTTPResponse {
        let query: ReceiptAnswers.Query
        do throws(ReceiptAnswers.Unanswered) {
            query = try receiptAnswers.query(body)
        } catch {
            return Self.response(VerifyReceiptAnswer(status: error.status))
        }
        do {
            let later = try await ReceiptUpdates(of: query.receipt, in: database, verifier: receiptAnswers.verifier)
            return Self.response(receiptAnswers.answer(query, later, at: clock()))
        } catch {
            // Without the ledger a refund could be missing from the answer.
            return Self.verifyReceiptIsBusy
        }
    }

    static var verifyReceiptIsBusy: HTTPResponse { response(VerifyReceiptAnswer(status: .unavailable)) }

    /// Any other method, in Apple's words.
    static var notPosted: HTTPResponse { response(VerifyReceiptAnswer(status: .notPost)) }

    private static func response(_ answer: VerifyReceiptAnswer) -> HTTPResponse {
        JSONText.response(200, answer.json)
    }
}
