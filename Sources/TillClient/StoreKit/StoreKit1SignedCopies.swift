import Foundation
import StoreKit
import TillBilling

// StoreKit 2's signed copies of transactions in StoreKit 1's queue. Like the two implementations of `StoreAccess`, it
// uses only API of Apple's SDK for iOS 15.

/// The proof that the kit sends for a purchase through StoreKit 1.
package enum StoreKit1Proof: Hashable, Sendable {
    /// StoreKit 2's signed copy of the transaction if it arrives in time, else the app receipt.
    case signedTransaction
    /// Always the app receipt, as in older apps.
    case receipt
}

/// Reads the signed copies that StoreKit 2 keeps on the same device. The receipt hides the token that Apple signed, so
/// a server cannot determine the owner from it; a signed copy names the order.
///
/// It only reads StoreKit 2's lists, which shows no sign-in sheet, unlike `AppStore.sync()`.
actor StoreKit1SignedCopies {
    private typealias Payment = VerificationResult<StoreKit.Transaction>

    private let effects: Effects
    /// Requests that StoreKit 2 has not answered, and those among them that timed out. While one of the latter is open,
    /// no new request is made.
    private var (open, late): (Set<Int>, Set<Int>) = ([], [])
    private var lastQuestion = 0

    /// Milliseconds after which the receipt is used.
    private static let limit: Int64 = 5_000
    /// Milliseconds between attempts: StoreKit 2 may list a payment a moment after the queue shows it.
    private static let pauses: [Int64] = [300, 1_000]

    #if os(Linux)
        /// Tests and simulations use several devices.
        private nonisolated let device = EmulatedDevice.current

        private nonisolated func onDevice<Result: Sendable>(
            _ work: @Sendable () async -> Result
        ) async -> Result { await EmulatedDevice.$current.withValue(device) { await work() } }
    #else
        private nonisolated func onDevice<Result: Sendable>(
            _ work: @Sendable () async -> Result
        ) async -> Result { await work() }
    #endif

    init(effects: Effects) { self.effects = effects }

    /// The transaction with its signed copy as proof, and the token that Apple signed; unchanged if there is no copy in
    /// time.
    func signed(_ transaction: QueuedTransaction) async -> QueuedTransaction {
        let (id, pause) = (transaction.id.text, effects.pause)
        let found = await inTime { [self] () -> Payment? in
            for wait in Self.pauses + [0] {
                let copy = await onDevice { await Self.copy(of: id) }
                if copy != nil || Task.isCancelled { return copy }
                if wait > 0 { await pause(wait) }
            }
            return nil
        }
        guard let found, let copy = found else { return transaction }
        return transaction.proven(by: copy)
    }

    /// The same for restored transactions: each is named by the first transaction of its chain, and the chain's newest
    /// one is its proof.
    func signed(restored: [QueuedTransaction]) async -> [QueuedTransaction] {
        guard !restored.isEmpty else { return [] }
        let newest = await inTime { [self] in await onDevice { await Self.newestOfChains() } } ?? [:]
        return restored.map { transaction in newest[transaction.id].map { transaction.proven(by: $0) } ?? transaction }
    }

    private static func copy(of id: String) async -> Payment? {
        for await payment in StoreKit.Transaction.unfinished where String(payment.unsafePayloadValue.id) == id {
            return payment
        }
        // The transaction may have been finished in the meantime; all except consumables are still in the history.
        for await payment in StoreKit.Transaction.all where String(payment.unsafePayloadValue.id) == id {
            return payment
        }
        return nil
    }

    private static func newestOfChains() async -> [TransactionID: Payment] {
        var newest: [TransactionID: Payment] = [:]
        for await payment in StoreKit.Transaction.all {
            let transaction = payment.unsafePayloadValue
            let chain = TransactionID(String(transaction.originalID))
            if let known = newest[chain]?.unsafePayloadValue, known.purchaseDate >= transaction.purchaseDate {
                continue
            }
            newest[chain] = payment
        }
        return newest
    }

    /// The result of the work; nil if it takes too long. A StoreKit that never answers must not block a purchase.
    private func inTime<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value? {
        guard late.isEmpty else { return nil }
        lastQuestion += 1
        let question = lastQuestion
        open.insert(question)
        let (answers, answer) = AsyncStream<Value>.makeStream()
        effects.spawn {
            answer.yield(await work())
            answer.finish()
            await self.close(question)
        }
        let pause = effects.pause
        let found = await withTaskGroup(of: Value?.self) { group in
            group.addTask {
                await pause(Self.limit)
                return nil
            }
            group.addTask {
                for await answer in answers { return answer }
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        if found == nil, open.contains(question) { late.insert(question) }
        return found
    }

    private func close(_ question: Int) {
        open.remove(question)
        late.remove(question)
    }
}

extension QueuedTransaction {
    /// The token in Apple's signed copy takes precedence; StoreKit 1's may be lost after a relaunch.
    fileprivate func proven(by copy: VerificationResult<StoreKit.Transaction>) -> QueuedTransaction {
        let token = copy.unsafePayloadValue.appAccountToken.flatMap { OrderID($0.uuidString) }
        return proven(by: .signedTransaction(copy.jwsRepresentation), token: token)
    }
}
