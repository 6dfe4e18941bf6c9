import TillAppStore
import TillBilling
import TillCrypto
import TillStorage

/// Settles one purchase of a genuine receipt. The receipt proves that it was paid and not for whom, so Apple is asked
/// first; what Apple can't say now waits in the ledger and is asked about again (U7).
struct SettleReceipt: Sendable {
    let settle: Settle
    /// Nil without an In-App Purchase key: then only the order id beside a receipt can say whose it is (U1, rung 2).
    let lookup: SignedTransactionLookup?

    /// Why a purchase is accepted and not yet granted; a stable code.
    static let waitingReason = "waiting_for_apple"

    enum Outcome: Sendable {
        case settled(Settle.Outcome)
        /// Kept, and asked about again until Apple answers.
        case waiting
    }

    /// - Parameter proof: the receipt.
    func callAsFunction(
        _ verified: VerifiedTransaction, proof: Settle.Proof, origin: Settle.Origin
    ) async throws -> Outcome {
        guard let lookup, try await !isDecided(verified) else {
            return .settled(try await settle(verified, proof: proof, origin: origin))
        }
        switch await lookup.ask(verified.id, verified.environment) {
        case .found(let signed, let itsProof):
            return .settled(try await settle(signed, proof: itsProof, origin: origin))
        case .none:
            return .settled(try await settle(verified, proof: proof, origin: origin))
        case .later(let why, let instant):
            let now = settle.clock()
            let due = max(instant ?? now, now.adding(seconds: Self.firstPause))
            let digest = Digest.sha256.hash(proof.bytes)
            try await settle.database.write { session in
                try WaitingProofTable(session).insert(
                    verified.id, in: verified.environment, by: origin.bearer, receipt: proof.bytes, digest: digest,
                    at: now, due: due, detail: why)
            }
            return .waiting
        }
    }

    /// Seconds; doubled each time in vain, to an hour (facts/limits §7).
    static let firstPause: Int64 = 5
    private static let longestPause: Int64 = 3_600

    static func pause(after attempts: Int64) -> Int64 {
        attempts >= 10 ? longestPause : min(longestPause, firstPause << max(0, attempts))
    }

    /// Whether the ledger knows what became of it, so that Apple need not be asked.
    func isDecided(_ verified: VerifiedTransaction) async throws -> Bool {
        try await settle.database.read { session in
            guard let stored = try TransactionTable(session).find(verified.id, in: verified.environment) else {
                return false
            }
            return stored.state != .quarantined
        }
    }
}

extension Settle.Origin {
    /// How the origin of a receipt that waits is kept.
    var bearer: WaitingProofTable.Bearer {
        var named: String?
        if case .backend(_, let user) = caller { named = user?.text }
        return WaitingProofTable.Bearer(name: callerName, namedUser: named, claimedOrder: claimedOrder, device: device)
    }

    /// Nil for a name that nobody here wrote.
    init?(_ bearer: WaitingProofTable.Bearer) {
        guard let caller = Caller(name: bearer.name, naming: bearer.namedUser) else { return nil }
        self.init(door: .app, caller: caller, claimedOrder: bearer.claimedOrder, device: bearer.device)
    }
}

extension Caller {
    /// From how it stands in evidence; nil for a name that nobody here wrote.
    init?(name: String, naming user: String?) {
        // By bytes: a mark that follows the colon is not a part of it.
        let parts = name.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        switch String(decoding: parts[0], as: UTF8.self) {
        case "user": self = .user(UserID(String(decoding: parts[1], as: UTF8.self)))
        case "key":
            self = .backend(keyID: String(decoding: parts[1], as: UTF8.self), naming: user.map { UserID($0) })
        default: return nil
        }
    }
}
