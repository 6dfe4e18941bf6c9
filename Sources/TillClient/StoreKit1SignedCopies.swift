import Foundation
import StoreKit
import TillBilling

// StoreKit 2's signed copies of what StoreKit 1's queue shows. Like the two queues it says only what Apple's SDK has
// for iOS 15.

/// What the kit sends to prove a purchase that came through StoreKit 1.
package enum StoreKit1Proof: Hashable, Sendable {
    /// StoreKit 2's signed copy of the same transaction where it comes in time, else the app receipt.
    case signedTransaction
    /// Always the app receipt, as apps send it that were built before.
    case receipt
}

/// Reads the signed copies that StoreKit 2 keeps on the same device. The receipt hides the token that Apple signed, so
/// a server can't tell from it alone whose purchase it is; a signed copy names the order.
///
/// It reads StoreKit 2's lists only, which shows no sign-in sheet; `AppStore.sync()` would.
actor StoreKit1SignedCopies {
    private typealias Payment = VerificationResult<StoreKit.Transaction>

    private let effects: Effects
    /// Questions that StoreKit 2 has not answered yet, and those of them that were given up. While one of these is
    /// open, no other is asked.
    private var (open, late): (Set<Int>, Set<Int>) = ([], [])
    private var lastQuestion = 0

    /// Milliseconds after which the receipt has to do.
    private static let limit: Int64 = 5_000
    /// Milliseconds between looks: StoreKit 2 may list a payment a moment after the queue shows it.
    private static let pauses: [Int64] = [300, 1_000]

    #if os(Linux)
        /// Tests and simulations hold several.
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

    /// The transaction with its signed copy as proof, and the token that Apple signed; as it was if there is none in
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

    /// The same for what was restored: each is named by the first transaction of its chain, and the newest one of the
    /// chain is its proof.
    func signed(restored: [QueuedTransaction]) async -> [QueuedTransaction] {
        guard !restored.isEmpty else { return [] }
        let newest = await inTime { [self] in await onDevice { await Self.newestOfChains() } } ?? [:]
        return restored.map { transaction in newest[transaction.id].map { transaction.proven(by: $0) } ?? transaction }
    }

    private static func copy(of id: String) async -> Payment? {
        for await payment in StoreKit.Transaction.unfinished where String(payment.unsafePayloadValue.id) == id {
            return payment
        }
        // Somebody else finished it: all but consumables are still in the history.
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

    /// What the work comes to; nil if that takes too long. A StoreKit that never answers holds up no purchase.
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
    /// The token that Apple signed is the one that counts; StoreKit 1's may be gone after a relaunch.
    fileprivate func proven(by copy: VerificationResult<StoreKit.Transaction>) -> QueuedTransaction {
        let token = copy.unsafePayloadValue.appAccountToken.flatMap { OrderID($0.uuidString) }
        return proven(by: .signedTransaction(copy.jwsRepresentation), token: token)
    }
}
