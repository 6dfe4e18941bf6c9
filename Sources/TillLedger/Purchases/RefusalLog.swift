import TillAppStore
import TillBilling
import TillCrypto
import TillSQL
import TillThreads

/// Why a proof was refused, with the proof for the log.
package struct ProofError: Error {
    package let refusal: Refusal
    /// For operators and programmers, in English; the log stores it.
    package let detail: String
    let chineseDetail: String
    package let proof: [UInt8]
    /// The verifier that refused it and the kind of proof; nil if the proof is valid and a claim beside it is not.
    var verifier: (SignedDataVerifier, kind: ProofInspection.Kind)?

    package init(_ refusal: Refusal, _ detail: String, zh chinese: String? = nil, proof: [UInt8]) {
        self.refusal = refusal
        self.detail = detail
        chineseDetail = chinese ?? detail
        self.proof = proof
    }

    /// Every check that was made, as JSON; nil if no check failed. Computed on each call, so read it only to store it.
    package var record: String? {
        verifier.map { verifier, kind in verifier.explain(proof, as: kind).json.encoded() }
    }
}

/// Records why proofs were refused.
package struct RefusalLog: Sendable {
    let database: any Database
    let clock: Ledger.Clock
    private let log: Log
    private let rateLimit = RefusalRateLimit()

    init(database: any Database, clock: @escaping Ledger.Clock, log: Log) {
        self.log = log
        self.database = database
        self.clock = clock
    }

    /// Logs a refusal. A request without a proof is not logged, and neither is one that only has to wait; of many
    /// refusals in a row from one caller only the first are.
    package func write(_ refused: ProofError, from origin: PurchaseOrigin) async throws {
        guard !refused.proof.isEmpty, !refused.refusal.isRetryable else { return }
        let detail = rateLimit.detail(of: origin.callerName, now: clock())
        try await write(
            refused, from: origin.source, by: origin.callerName, claiming: origin.claimedOrder, detail: detail)
    }

    /// Logs a refused notification from an unauthenticated address.
    ///
    /// - Parameters:
    ///   - network: `HTTPRequest.clientNetwork`.
    ///   - shortened: `HTTPRequest.clientNetworkForLogs`.
    package func write(
        _ refused: ProofError, fromAnonymous network: String, shortened: String
    ) async throws {
        try await write(
            refused, from: .notification, by: "apple", network: shortened,
            detail: rateLimit.detail(ofAnonymous: network, now: clock()))
    }

    /// Logs a response of Apple that was refused.
    func writeAnswer(_ refused: ProofError, to source: PurchaseSource) async throws {
        try await write(refused, from: source, by: "apple", detail: .rowAndRecord)
    }

    private func write(
        _ refused: ProofError, from source: PurchaseSource, by caller: String, network: String? = nil,
        claiming order: OrderID? = nil, detail: RefusalRateLimit.Detail
    ) async throws {
        // Nothing shows yet that a stranger's notification came from Apple.
        log.write(
            .proofRefused,
            [
                "code": .text(refused.refusal.rawValue), "source": .text(source.rawValue),
                "caller": .text(network == nil ? caller : nil), "network": .text(network),
                "detail": .text(refused.detail), "isRecorded": .bool(detail != .nothing),
            ])
        guard detail != .nothing else { return }
        let entry = RefusedProofTable.Entry(
            at: clock(), source: source.rawValue, caller: caller, claimedOrder: order,
            code: refused.refusal.rawValue, detail: refused.detail, digest: Digest.sha256.hash(refused.proof),
            record: detail == .rowAndRecord ? refused.record : nil)
        try await database.write(locking: [.ledger("refusals")]) { try RefusedProofTable($0).insert(entry) }
    }
}

/// Decides how much of each refusal is recorded: everything while refusals are few, less when they are many. So a
/// forged proof never costs the ledger as much as a purchase, however many are posted.
///
/// The record of every check verifies the proof again and takes some kilobytes; a row takes some dozen bytes and its
/// own commit.
final class RefusalRateLimit: Sendable {
    /// How much is kept of one refusal.
    enum Detail: Sendable {
        case nothing
        /// The caller, the time, the reason, and the digest of the proof.
        case row
        /// The row and every check that was made.
        case rowAndRecord
    }

    /// The burst equals the number of rows kept for one user (`RefusedProofTable.Quota.user`).
    static let rows = RateLimit(burst: 50, interval: 1_000)
    static let records = RateLimit(burst: 5, interval: 10_000)
    /// All unauthenticated sources together have this many times the rate of one.
    static let anonymousFactor: Int64 = 4
    /// The number of sources remembered. While this many are busy, the refusals of a further source are kept without
    /// records.
    static let capacity = 4_096

    private struct Source {
        var rows = RateLimit.Usage()
        var records = RateLimit.Usage()
    }

    private struct State {
        var anonymous = Source()
        var sources: [String: Source] = [:]
    }

    private let state = Locked(State())

    /// What to keep of an authenticated caller's refusal.
    func detail(of caller: String, now: Instant) -> Detail {
        state.withLock { Self.take(caller, &$0, now) }
    }

    /// What to keep of an unauthenticated source's refusal.
    /// - Parameter network: `HTTPRequest.clientNetwork`.
    func detail(ofAnonymous network: String, now: Instant) -> Detail {
        state.withLock { state in
            let own = Self.take("stranger \(network)", &state, now)
            guard own != .nothing else { return .nothing }
            return min(own, Self.take(&state.anonymous, now, factor: Self.anonymousFactor))
        }
    }

    private static func take(_ name: String, _ state: inout State, _ now: Instant) -> Detail {
        if state.sources[name] == nil, state.sources.count >= capacity {
            state.sources = state.sources.filter { !$0.value.rows.isFull(at: now) || !$0.value.records.isFull(at: now) }
            if state.sources.count >= capacity { return .row }
        }
        return take(&state.sources[name, default: Source()], now, factor: 1)
    }

    private static func take(_ source: inout Source, _ now: Instant, factor: Int64) -> Detail {
        guard source.rows.take(rows.times(factor), now: now) else { return .nothing }
        return source.records.take(records.times(factor), now: now) ? .rowAndRecord : .row
    }
}

extension RefusalRateLimit.Detail: Comparable {}
