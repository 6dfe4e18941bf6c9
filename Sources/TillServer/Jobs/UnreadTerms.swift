import TillAppStore
import TillBilling
import TillLedger
import TillSQL

/// Reads the terms of transactions that were stored before there were columns for them, from their proofs. Rows whose
/// type Apple never named stay as they are.
public struct UnreadTerms: Sendable {
    private let server: Server
    private static let batch = 50

    public init(_ server: Server) { self.server = server }

    /// One walk over all of them. Returns how many were read.
    @discardableResult
    public func readAll() async throws -> Int {
        let verifier = server.receiptDesk.verifier
        var read = 0
        var position: Int64 = 0
        while true {
            let after = position
            let found = try await server.database.read { session in
                try RecordedCopies(session).withoutType(after: after, limit: Self.batch)
            }
            guard let last = found.last else { return read }
            position = last.sequence
            let now = server.clock()
            read += try await server.database.write { session in
                try found.count { try Self.read($0, verifier, now, session) }
            }
        }
    }

    /// Nothing is believed that is not verified, even if it was verified before it was stored.
    private static func read(
        _ copy: RecordedCopies.Copy, _ verifier: SignedDataVerifier, _ now: Instant, _ session: any Connection
    ) throws -> Bool {
        guard let proof = try ProofTable(session).find(transaction: copy.sequence) else { return false }
        let signed =
            switch proof.kind {
            case .signedTransaction: try? verifier.transaction(proof.body)
            case .receipt: try? verifier.receipt(proof.body).transaction(copy.transaction.id)
            }
        guard let signed, signed.id == copy.transaction.id else { return false }
        let transaction = PaidTransaction(signed)
        guard transaction.terms != copy.transaction.terms else { return false }
        try TransactionTable(session).update(copy.sequence, to: transaction)
        var chains = ChainWatch(now: now, session)
        try chains.watch(transaction)
        try chains.list(transaction)
        return true
    }
}
