import TillAppStore
import TillBilling
import TillCrypto
import TillSQL
import TillThreads

/// Why a proof was refused, with the proof for the log.
package struct ProofRefusal: Error {
    package let refusal: Refusal
    /// For operators and programmers, in English.
    package let detail: String
    package let proof: [UInt8]
    /// Who refused it as what; nil if the proof is good and something said beside it is not.
    var verifier: (SignedDataVerifier, kind: ProofInspection.Kind)?

    package init(_ refusal: Refusal, _ detail: String, proof: [UInt8]) {
        self.refusal = refusal
        self.detail = detail
        self.proof = proof
    }

    /// Each check that was made, as JSON; nil if no check failed. Made anew, so only when it is to be kept.
    package var record: String? {
        verifier.map { verifier, kind in verifier.explain(proof, as: kind).json.encoded() }
    }
}

/// Writes down why proofs were refused, so that it can be read later.
package struct RefusalLog: Sendable {
    let database: any Database
    let clock: Ledger.Clock
    private let pace = RefusalPace()

    init(database: any Database, clock: @escaping Ledger.Clock) {
        self.database = database
        self.clock = clock
    }

    /// A request that carried no proof is not logged, and one that has to wait was not refused; of many in a row from
    /// one caller the first are.
    package func write(_ refused: ProofRefusal, from origin: PurchaseOrigin) async throws {
        guard !refused.proof.isEmpty, !refused.refusal.isRetryable else { return }
        let keeping = pace.keeping(of: origin.callerName, now: clock())
        try await write(
            refused, from: origin.source, by: origin.callerName, claiming: origin.claimedOrder, keeping: keeping)
    }

    /// What came in Apple's name from a stranger's address (`HTTPRequest.clientNetwork`).
    package func write(_ refused: ProofRefusal, fromStranger network: String) async throws {
        try await write(
            refused, from: .notification, by: "apple", keeping: pace.keeping(ofStranger: network, now: clock()))
    }

    /// What Apple answered and is not accepted.
    func writeAnswer(_ refused: ProofRefusal, to source: PurchaseSource) async throws {
        try await write(refused, from: source, by: "apple", keeping: .rowAndRecord)
    }

    private func write(
        _ refused: ProofRefusal, from source: PurchaseSource, by caller: String, claiming order: OrderID? = nil,
        keeping: RefusalPace.Keeping
    ) async throws {
        guard keeping != .nothing else { return }
        let entry = RefusedProofTable.Entry(
            at: clock(), door: source.rawValue, caller: caller, claimedOrder: order,
            code: refused.refusal.rawValue, detail: refused.detail, digest: Digest.sha256.hash(refused.proof),
            record: keeping == .rowAndRecord ? refused.record : nil)
        try await database.write(locking: [.ledger("refusals")]) { try RefusedProofTable($0).insert(entry) }
    }
}

/// How much of each refusal is written down: everything while refusals are few, less and less while they pour in. So a
/// forged proof never costs the ledger as much as a purchase, however many are posted.
///
/// The record of every check verifies the proof once more, and is some kilobytes; a row is some dozen bytes in a commit
/// of its own.
final class RefusalPace: Sendable {
    /// How much is kept of one refusal.
    enum Keeping: Sendable {
        case nothing
        /// Who, when, why, and the digest of the proof.
        case row
        /// That, and every check that was made.
        case rowAndRecord
    }

    /// As many at once as the ledger keeps of one user (`RefusedProofTable.Quota.user`).
    static let rows = Pace(burst: 50, interval: 1_000)
    static let records = Pace(burst: 5, interval: 10_000)
    /// All strangers together have that many times the pace of one.
    static let strangersFactor: Int64 = 4
    /// Sources that are remembered. If so many are busy at once, a further one has its refusals kept without records.
    static let capacity = 4_096

    private struct Source {
        var rows = Pace.Use()
        var records = Pace.Use()
    }

    private struct State {
        var strangers = Source()
        var sources: [String: Source] = [:]
    }

    private let state = Locked(State())

    /// What to keep of a refusal of somebody who showed a good credential.
    func keeping(of caller: String, now: Instant) -> Keeping {
        state.withLock { Self.take(caller, &$0, now) }
    }

    /// What to keep of a stranger's.
    /// - Parameter network: `HTTPRequest.clientNetwork`.
    func keeping(ofStranger network: String, now: Instant) -> Keeping {
        state.withLock { state in
            let own = Self.take("stranger \(network)", &state, now)
            guard own != .nothing else { return .nothing }
            return min(own, Self.take(&state.strangers, now, factor: Self.strangersFactor))
        }
    }

    private static func take(_ name: String, _ state: inout State, _ now: Instant) -> Keeping {
        if state.sources[name] == nil, state.sources.count >= capacity {
            state.sources = state.sources.filter { !$0.value.rows.isFull(at: now) || !$0.value.records.isFull(at: now) }
            if state.sources.count >= capacity { return .row }
        }
        return take(&state.sources[name, default: Source()], now, factor: 1)
    }

    private static func take(_ source: inout Source, _ now: Instant, factor: Int64) -> Keeping {
        guard source.rows.take(rows.times(factor), now: now) else { return .nothing }
        return source.records.take(records.times(factor), now: now) ? .rowAndRecord : .row
    }
}

extension RefusalPace.Keeping: Comparable {}
