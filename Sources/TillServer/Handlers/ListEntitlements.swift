import TillAPI
import TillAppStore
import TillBilling
import TillHTTP
import TillStorage

extension Server {
    /// `GET /v1/users/{userId}/entitlements?environment=`: what a user may use now. Grace and billing retry are not
    /// known here: a subscription counts until the date that Apple signed last for its newest period.
    func listEntitlements(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        let environment = try call.environment(for: user, configuration)
        let now = clock()
        let (catalog, verifier) = (configuration.catalog, receiptDesk.verifier)
        let data = try await database.read { session -> [EntitlementReply] in
            let entries = try GrantedPurchases(session).list(
                user: user, environment: environment, limit: PlanHistory.transactionLimit
            ) { id, entitlement in entitlement != nil || catalog[id]?.plan != nil }
            let rights = Rights(entries, catalog: catalog)
            return try rights.service(at: now) + rights.lasting
                + rights.periods(at: now, ProofTable(session), verifier)
        }
        let sorted = data.sorted { ($0.since, $0.transactionId) < ($1.since, $1.transactionId) }
        return JSONText.response(200, EntitlementsReply(data: sorted))
    }
}

/// A user's grants, told apart by how long they last.
private struct Rights {
    private let catalog: Catalog
    /// Oldest first.
    private var plans: [PlanPurchase] = []
    /// Rights for good, one for each product: bought twice is had once, since the first time.
    private(set) var lasting: [EntitlementReply] = []
    /// By original transaction, oldest first. What the catalogue does not know any more is here too: only its proof
    /// says what it is.
    private var chains: [TransactionID: [GrantedPurchases.Entry]] = [:]

    /// How many chains are looked into, newest first, and how deep: only what an upgrade superseded is passed over.
    private static let chainLimit = 200
    private static let depth = 3

    init(_ entries: [GrantedPurchases.Entry], catalog: Catalog) {
        self.catalog = catalog
        var seen: Set<[String]> = []
        for entry in entries {
            let product = catalog[entry.productID]
            if let purchase = PlanPurchase(entry, catalog: catalog) {
                plans.append(purchase)
            } else if product == nil || product?.type == .autoRenewable {
                chains[entry.originalID, default: []].append(entry)
            } else if let entitlement = entry.entitlement,
                seen.insert([entitlement, entry.productID.text]).inserted
            {
                lasting.append(Self.lasting(entry, entitlement))
            }
        }
    }

    private static func lasting(_ entry: GrantedPurchases.Entry, _ entitlement: String) -> EntitlementReply {
        EntitlementReply(
            entitlement: entitlement, productId: entry.productID, kind: .lasting, deviceId: entry.order.deviceID,
            since: entry.purchasedAt, transactionId: entry.id)
    }

    func service(at now: Instant) -> [EntitlementReply] {
        Service(plans).holdings(at: now).compactMap { holding in
            guard let transaction = holding.transactionID else { return nil }
            return EntitlementReply(
                entitlement: holding.plan.entitlement, productId: holding.plan.productID, kind: .service,
                plan: holding.plan.id, deviceId: holding.deviceID, deviceIds: holding.deviceIDs, since: holding.since,
                expiresAt: holding.expiresAt, transactionId: transaction)
        }
    }

    /// The periods of subscriptions that are not over, and what turns out to be no subscription.
    func periods(
        at now: Instant, _ proofs: ProofTable, _ verifier: SignedDataVerifier
    ) throws -> [EntitlementReply] {
        let newest = chains.values.sorted { ($0.last?.sequence ?? 0) > ($1.last?.sequence ?? 0) }
        return try newest.prefix(Self.chainLimit).compactMap { chain in
            for entry in chain.suffix(Self.depth).reversed() {
                guard let signed = try Self.signed(entry, proofs, verifier), !signed.isUpgraded else { continue }
                return right(entry, signed, at: now)
            }
            return nil
        }
    }

    private func right(
        _ entry: GrantedPurchases.Entry, _ signed: VerifiedTransaction, at now: Instant
    ) -> EntitlementReply? {
        let terms = catalog[entry.productID]?.plan
        guard let entitlement = entry.entitlement ?? terms.map({ $0.rank ?? $0.id.text }) else { return nil }
        guard signed.type == .autoRenewable || signed.expiresDate != nil else {
            return Self.lasting(entry, entitlement)
        }
        guard let end = signed.expiresDate, end > now else { return nil }
        return EntitlementReply(
            entitlement: entitlement, productId: entry.productID, kind: .subscription, plan: terms?.id,
            deviceId: entry.order.deviceID, since: entry.purchasedAt, expiresAt: end, transactionId: entry.id)
    }

    /// The newest copy that Apple signed of a transaction. Nothing is told that was not verified, even if it was
    /// verified before it was stored. One at a time: receipts may be large.
    private static func signed(
        _ entry: GrantedPurchases.Entry, _ proofs: ProofTable, _ verifier: SignedDataVerifier
    ) throws -> VerifiedTransaction? {
        guard let proof = try proofs.find(transaction: entry.sequence) else { return nil }
        let signed =
            switch proof.kind {
            case .signedTransaction: try? verifier.transaction(proof.body)
            case .receipt: try? verifier.receipt(proof.body).transaction(entry.id)
            }
        return signed?.id == entry.id ? signed : nil
    }
}
