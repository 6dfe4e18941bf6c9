import Foundation

// What StoreKit 2 asks a session for, and what it does where the network is away for a while.
extension DeviceSession {
    /// Milliseconds to wait before each further try.
    private static let pauses: [Int64] = [200, 500, 1_000]

    /// One of StoreKit's sequences. Where the network stays away, as it was when it was last read, as on a device that
    /// keeps what it knows.
    func transactions(_ set: StoreLine.TransactionSet, product: String? = nil) async -> [TransactionWords] {
        let question = TransactionQuestion(set: set, product: product)
        for pause in Self.pauses + [0] {
            do throws(StoreFault) {
                try await signedIn()
                let found = try await line.transactions(set, product: product, consumables: consumableHistory)
                remember(found, of: question)
                return found
            } catch {
                guard error.networkError != nil, !Task.isCancelled else { break }
                if pause > 0 { await effects.pause(pause) }
            }
        }
        return remembered(question)
    }

    /// Finishes, and tries again for a while where the network is away.
    func finishPatiently(_ transaction: String) async {
        for pause in Self.pauses + [0] {
            do throws(StoreFault) { return try await finish(transaction) } catch {
                guard error.networkError != nil else { return }
                if pause > 0 { await effects.pause(pause) }
            }
        }
    }

    func products(_ ids: [String]) async throws(StoreFault) -> ProductsWords {
        try await signedIn()
        return try await line.products(ids)
    }

    /// - Throws: `unreadable` if there is nothing signed that can be read.
    func verified(_ words: TransactionWords) async throws(StoreFault) -> VerificationResult<Transaction> {
        guard let text = words.signedTransaction else { throw .unreadable(status: 200) }
        return try await verify(text, as: Transaction.self)
    }

    /// The period of a subscription that runs now.
    func current(of original: String?) async throws(StoreFault) -> TransactionWords? {
        try await line.transactions(.currentEntitlements).last { $0.originalTransactionId == original }
    }
}

/// What was asked for, as a key of what was answered.
struct TransactionQuestion: Hashable, Sendable {
    let set: StoreLine.TransactionSet
    let product: String?
}
