import TillAPI
import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends the store's restorable purchases to the server, and applies its answer to each. They were paid in the past and
/// the server knows them, so the journal creates no orders for them.
struct RestoreService: Sendable {
    private let access: StoreAccess
    private let server: ServerAccess

    /// The maximum of proofs in one request.
    private static let width = 50

    init(_ components: StoreComponents) {
        access = components.access
        server = components.server
    }

    func restore() async -> RestoreResult {
        let shown: [QueuedTransaction]
        do throws(AppStoreError) { shown = try await access.restore() } catch {
            return RestoreResult(failure: .store(error))
        }
        var outcome = RestoreResult()
        guard !shown.isEmpty else { return outcome }
        for request in await requests(for: shown, &outcome) { await send(request, &outcome) }
        return outcome
    }

    /// One request, and the transactions that it contains.
    private struct Request {
        let body: RestoreBody
        let transactions: [QueuedTransaction]
    }

    private func requests(for shown: [QueuedTransaction], _ outcome: inout RestoreResult) async -> [Request] {
        var signed: [(QueuedTransaction, String)] = []
        var inReceipt: [QueuedTransaction] = []
        var receipt: [UInt8] = []
        for transaction in shown.sorted(by: { $0.id < $1.id }) {
            switch transaction.proof {
            case .signedTransaction(let text): signed.append((transaction, text))
            case .receipt(let bytes):
                inReceipt.append(transaction)
                receipt = bytes
            }
        }
        var requests = stride(from: 0, to: signed.count, by: Self.width).map { start in
            let part = signed[start..<min(start + Self.width, signed.count)]
            return Request(body: RestoreBody(signedTransactions: part.map(\.1)), transactions: part.map(\.0))
        }
        guard let first = inReceipt.first else { return requests }
        do throws(AppStoreError) {
            // A missing or empty receipt is refreshed once.
            if receipt.isEmpty, case .receipt(let bytes) = try await access.proof(first).proof { receipt = bytes }
            let text = Data(receipt).base64EncodedString()
            requests.append(Request(body: RestoreBody(receipt: text), transactions: inReceipt))
        } catch {
            outcome.add(inReceipt, waitingFor: .store(error))
        }
        return requests
    }

    private func send(_ request: Request, _ outcome: inout RestoreResult) async {
        guard let session = await server.session() else {
            return outcome.add(request.transactions, waitingFor: .notSignedIn)
        }
        let reply: RestoreReply
        do throws(ServerError) {
            reply = try await server.post(
                Paths.restores, request.body, as: session, expecting: RestoreReply.self)
            let isSigned = request.body.signedTransactions != nil
            if isSigned, reply.data.count != request.transactions.count {
                throw .unreadable(status: 200, retryAfter: nil)
            }
        } catch {
            return outcome.add(
                request.transactions,
                waitingFor: .undelivered(PendingReason(code: error.code, isFinal: !error.isRetryable)))
        }
        var rest = request.transactions
        for restored in reply.data {
            // Results for signed transactions are in the order of the request; results for a receipt are per chain.
            let place =
                request.body.signedTransactions != nil
                ? rest.indices.first
                : rest.firstIndex {
                    restored.transactionId == $0.id.text || restored.originalTransactionId == $0.id.text
                }
            let transaction = place.map { rest.remove(at: $0) }
            outcome.add(RestoredPurchase(restored, of: transaction))
            // Only the server's answer removes a restored transaction from the queue.
            if restored.finish, let transaction { await access.finishRestored(transaction.id) }
        }
        // The receipt on the device is older than the store's list.
        outcome.add(
            rest,
            waitingFor: .undelivered(PendingReason(code: Refusal.transactionNotInReceipt.rawValue, isFinal: false)))
    }
}
