import TillAppStore
import TillBilling
import TillCrypto
import TillLedger

/// Settles one purchase of a genuine receipt. The receipt proves that it was paid and not for whom, so Apple is asked
/// first; what Apple can't say now waits in the ledger and is asked about again (U7).
struct SettleReceipt: Sendable {
    let settle: Settle
    /// Nil without an In-App Purchase key: then only the order id beside a receipt can say whose it is (U1, rung 2).
    let lookup: SignedTransactionLookup?
    let verifier: ProofVerifier
    /// How often Apple is asked at once for one user; what is more waits in the ledger. Backends that name no user are
    /// trusted with their number.
    private let pace = SourcePace(Pace(burst: 40, interval: 2_000))

    init(settle: Settle, lookup: SignedTransactionLookup?, verifier: ProofVerifier) {
        self.settle = settle
        self.lookup = lookup
        self.verifier = verifier
    }

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
        if let outcome = try await settleUnasked(verified, proof: proof, origin: origin) { return .settled(outcome) }
        let now = settle.clock()
        let due = now.adding(seconds: Self.firstPause)
        guard let lookup, origin.isTrustedWithNumber || pace.take(origin.asker.name, now: now) else {
            try await wait(for: verified, proof, origin, due: due, "this user asks too often")
            return .waiting
        }
        switch await lookup.ask(
            verified.id, verified.environment, paidAt: verified.purchaseDate, for: origin.asker)
        {
        case .found(let signed, let itsProof):
            return .settled(try await settle(signed, proof: itsProof, origin: origin))
        case .none:
            return .settled(try await settle(verified, proof: proof, origin: origin))
        case .later(let why, let instant):
            try await wait(for: verified, proof, origin, due: max(instant ?? due, due), why)
            return .waiting
        }
    }

    /// The same for whom a receipt was answered before it was settled: Apple is asked by the job that asks for all.
    func withoutAsking(
        _ verified: VerifiedTransaction, proof: Settle.Proof, origin: Settle.Origin
    ) async throws -> Outcome {
        if let outcome = try await settleUnasked(verified, proof: proof, origin: origin) { return .settled(outcome) }
        // Its device has finished, so it is kept however many there are.
        try await wait(for: verified, proof, origin, due: settle.clock(), "saved", isBounded: false)
        return .waiting
    }

    /// Nil if Apple has to be asked.
    private func settleUnasked(
        _ verified: VerifiedTransaction, proof: Settle.Proof, origin: Settle.Origin
    ) async throws -> Settle.Outcome? {
        guard lookup != nil else { return try await settle(verified, proof: proof, origin: origin) }
        switch try await knowledge(of: verified) {
        case .unknown: return nil
        case .decided: return try await settle(verified, proof: proof, origin: origin)
        case .signed(let signed, let itsProof): return try await settle(signed, proof: itsProof, origin: origin)
        }
    }

    private func wait(
        for verified: VerifiedTransaction, _ proof: Settle.Proof, _ origin: Settle.Origin, due: Instant,
        _ why: String, isBounded: Bool = true
    ) async throws {
        let now = settle.clock()
        let digest = Digest.sha256.hash(proof.bytes)
        try await settle.database.write { session in
            try WaitingProofTable(session).insert(
                verified.id, in: verified.environment, by: origin.bearer, receipt: proof.bytes, digest: digest,
                at: now, due: due, detail: why, isBounded: isBounded)
        }
    }

    /// Seconds; doubled each time in vain, to an hour (facts/limits §7).
    static let firstPause: Int64 = 5
    private static let longestPause: Int64 = 3_600

    static func pause(after attempts: Int64) -> Int64 {
        attempts >= 10 ? longestPause : min(longestPause, firstPause << max(0, attempts))
    }

    // MARK: What the ledger knows

    /// What can be done about a receipt's purchase without asking Apple.
    enum Knowledge: Sendable {
        case unknown
        /// The ledger knows what became of it.
        case decided
        /// It has no owner yet, and Apple signed this copy a moment ago: whose it is depends on the words beside it.
        case signed(VerifiedTransaction, Settle.Proof)
    }

    /// Milliseconds for which Apple need not be asked again about what is in quarantine.
    static let freshness = SharedQuestions.foundMemory

    /// Who posts a receipt of a purchase that stays in quarantine makes Apple be asked once in ten minutes, however
    /// often it is posted.
    func knowledge(of verified: VerifiedTransaction) async throws -> Knowledge {
        let (id, environment, now) = (verified.id, verified.environment, settle.clock())
        let (stored, bytes) = try await settle.database.read { session in
            let stored = try TransactionTable(session).find(id, in: environment)
            let isFresh = stored.map { now.milliseconds - $0.signedAt.milliseconds < Self.freshness } ?? false
            guard let stored, stored.state == .quarantined, isFresh,
                let proof = try ProofTable(session).find(transaction: stored.sequence),
                proof.kind == .signedTransaction
            else { return (stored, [UInt8]?.none) }
            return (stored, proof.body)
        }
        guard let stored else { return .unknown }
        guard stored.state == .quarantined else { return .decided }
        guard let bytes,
            // It was good when it came: if the configuration has changed since, Apple is asked.
            let signed = try? await verifier.transaction(String(decoding: bytes, as: UTF8.self))
        else { return .unknown }
        return .signed(
            signed.value,
            Settle.Proof(kind: .signedTransaction, bytes: bytes, isUnderDoubt: signed.isUnderDoubt))
    }
}

extension Settle.Origin {
    /// As whom it takes turns at Apple: one name for each user, also of those whom a backend names.
    var asker: SignedTransactionLookup.Asker {
        if case .backend = caller, let user = namedUser { return .init(name: "\(callerName) user:\(user)") }
        return .init(name: callerName, network: network)
    }

    var isTrustedWithNumber: Bool {
        if case .backend = caller { return namedUser == nil }
        return false
    }

    /// How the origin of a receipt that waits is kept.
    var bearer: WaitingProofTable.Bearer {
        var named: String?
        if case .backend(_, let user) = caller { named = user?.text }
        return WaitingProofTable.Bearer(
            name: callerName, namedUser: named, claimedOrder: claimedOrder, device: device, network: network)
    }

    /// Nil for a name that nobody here wrote.
    init?(_ bearer: WaitingProofTable.Bearer) {
        guard let caller = Caller(name: bearer.name, naming: bearer.namedUser) else { return nil }
        self.init(door: .app, caller: caller, claimedOrder: bearer.claimedOrder, device: bearer.device)
        network = bearer.network
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
