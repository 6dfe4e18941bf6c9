import TillAppStore
import TillBilling
import TillHTTP
import TillLedger

extension Server {
    /// `POST /verifyReceipt`, for released apps that replaced Apple's address with this server's and changed nothing
    /// else. HTTP answers 200 and `status` holds the result (docs/decisions/0016). It grants and changes nothing.
    ///
    /// The address needs no credential, so the work runs on the executor for unauthenticated clients. If that has no
    /// room, the answer is status 21005: try again later.
    func verifyReceipt(_ call: Call) async throws -> HTTPResponse {
        do {
            return try await heavy.run(forAnonymous: call.request) { await verifyReceipt(call.request.body) }
        } catch {
            return Self.verifyReceiptIsBusy
        }
    }

    private func verifyReceipt(_ body: [UInt8]) async -> HTTPResponse {
        let query: ReceiptResponses.Query
        do throws(ReceiptResponses.ReceiptStatusError) {
            query = try receiptResponses.query(body)
        } catch {
            return Self.response(VerifyReceiptResponse(status: error.status))
        }
        do {
            let later = try await ReceiptUpdates(of: query.receipt, in: database, verifier: receiptResponses.verifier)
            return Self.response(receiptResponses.answer(query, later, at: clock()))
        } catch {
            // Without the ledger, the answer could miss a refund.
            _ = serverError(error)
            return Self.verifyReceiptIsBusy
        }
    }

    static var verifyReceiptIsBusy: HTTPResponse { response(VerifyReceiptResponse(status: .unavailable)) }

    /// The answer to any other method, with Apple's status.
    static var notPosted: HTTPResponse { response(VerifyReceiptResponse(status: .notPost)) }

    private static func response(_ answer: VerifyReceiptResponse) -> HTTPResponse {
        JSONText.response(200, answer.json)
    }
}
