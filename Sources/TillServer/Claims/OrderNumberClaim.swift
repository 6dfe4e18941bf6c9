import TillAPI
import TillAppStore
import TillBilling
import TillLedger

/// Asks Apple for the transactions of an order number and processes them for the customer who claims it. Unclaimed
/// purchases become the customer's; purchases that have an owner keep that owner. Each transaction is processed in its
/// own commit, so a claim that was interrupted continues when it is asked again.
struct OrderNumberClaim: Sendable {
    let server: Server
    let api: ServerAPI

    enum Answer: Sendable {
        case found([ClaimedTransaction])
        /// Apple knows no such order of this app, or all of it belongs to other customers. Both cases get the same
        /// answer, so that a customer who read another customer's mail learns nothing about the purchase.
        case unknown
        /// Apple can't answer now. The instant is the earliest time for the next request, if Apple stated one.
        case later(String, not: Instant?)
    }

    /// Attempts per user and day. Order numbers are hard to guess, and a customer has few of their own to claim.
    static let dailyLimit: Int64 = 10
    static let day: Int64 = 86_400
    /// Milliseconds that a customer's request waits for its share of the app's request budget.
    private static let timeout: Int64 = 3_000

    /// - Parameter user: the user who waits for the answer; nil for a job.
    init?(_ server: Server, askedBy user: UserID?) {
        guard let api = server.ledger.serverAPI else { return nil }
        self.server = server
        // A caller per user, so that customers share the app's request budget in turns.
        let urgent = user.map { RequestCaller("claims user:\($0)", timeout: Self.timeout) }
        self.api = api.calling(as: urgent ?? .bulk("claims"))
    }

    /// Asks Apple, processes the answer and records the result. Returns the claim in its new state.
    func answer(_ claim: ClaimTable.Stored) async throws -> ClaimReply {
        guard let number = claim.orderNumber else { return ClaimReply(claim) }
        let answer = try await ask(number, for: claim)
        let now = server.clock()
        let due = now.adding(seconds: PurchaseIntake.pause(after: claim.attempts + 1))
        let reply = try await server.database.write(locking: [.customer(claim.user)]) { connection in
            let claims = ClaimTable(connection)
            switch answer {
            case .found(let found): try claims.end(claim.rowID, .answered, answer: text(of: found), at: now)
            case .unknown: try claims.end(claim.rowID, .unknown, answer: "[]", at: now)
            case .later(let why, let instant):
                try claims.postpone(claim.rowID, until: max(due, instant ?? due), detail: why)
            }
            return ClaimReply(try claims.find(claim.id) ?? claim)
        }
        if case .later(let why, let instant) = answer {
            server.log.write(
                .proofPostponed,
                [
                    "kind": "order_number", "attempts": .integer(claim.attempts + 1), "cause": .text(why),
                    "nextAt": .text(max(due, instant ?? due).rfc3339),
                ])
        }
        return reply
    }

    private func text(of found: [ClaimedTransaction]) -> String {
        String(decoding: JSONText.encode(found), as: UTF8.self)
    }

    private func ask(_ number: String, for claim: ClaimTable.Stored) async throws -> Answer {
        let lookup: OrderLookup
        do throws(ServerAPIError) {
            lookup = try await api.lookUpOrder(number)
        } catch {
            switch error {
            case .refused where !error.isRetryable: return .unknown
            case .invalid: return .unknown
            case .refused, .unauthorized, .rateLimited, .overBudget, .outage, .unreadable, .signing:
                return .later("\(error.kind): \(error.sentence.en)", not: error.retryAfter)
            }
        }
        guard lookup.status == .valid else { return .unknown }
        var found: [ClaimedTransaction] = []
        for signed in lookup.transactions {
            switch try await process(signed, for: claim) {
            case .decided(let claimed): found.append(claimed)
            case .ownedByAnother: continue
            case .later: return .later("the revocation of Apple's certificates could not be checked", not: nil)
            }
        }
        return found.isEmpty ? .unknown : .found(found)
    }

    private enum ClaimOutcome {
        case decided(ClaimedTransaction)
        /// The purchase belongs to another customer; the answer leaves it out.
        case ownedByAnother
        /// The proof can't be verified now.
        case later
    }

    private func process(_ signed: SignedTransaction, for claim: ClaimTable.Stored) async throws -> ClaimOutcome {
        // A claim of a merged guest goes to the account.
        let user = try await server.database.read { try CustomerTable($0).account(of: claim.user) } ?? claim.user
        var origin = PurchaseOrigin(
            source: .claim, caller: Caller(name: claim.actor, naming: nil) ?? .user(claim.user))
        origin.claim = OwnershipClaim(user: user, ground: .orderNumber)
        let purchase: VerifiedPurchase
        do throws(ProofError) {
            purchase = try await server.ledger.intake.verify(signed.jws)
        } catch {
            guard !error.refusal.isRetryable else { return .later }
            try await server.ledger.intake.refusals.write(error, from: origin)
            return .decided(ClaimedTransaction(.refused, reason: error.refusal.rawValue))
        }
        let verified = purchase.transaction
        let outcome = try await server.ledger.intake.processor.process(purchase, from: origin)
        func decided(
            _ outcome: ClaimedTransaction.Outcome, order: OrderID? = nil, reason: String? = nil
        ) -> ClaimOutcome {
            .decided(
                ClaimedTransaction(
                    outcome, transactionId: verified.id.text, productId: verified.productID.text, orderId: order,
                    reason: reason))
        }
        if try await isNamed(verified, otherThan: user) { return .ownedByAnother }
        switch outcome {
        case .granted(let grant) where grant.userID == user: return decided(.granted, order: grant.orderID)
        case .alreadyGranted(let grant) where grant.userID == user: return decided(.owned, order: grant.orderID)
        case .moved(let grant) where grant.userID == user: return decided(.granted, order: grant.orderID)
        case .contested(let grant, _) where grant.userID == user: return decided(.owned, order: grant.orderID)
        case .revoked(let grant) where grant.userID == user: return decided(.revoked)
        case .granted, .alreadyGranted, .moved, .contested, .revoked: return .ownedByAnother
        case .revokedUnseen: return decided(.revoked)
        case .quarantined(let reason): return decided(.quarantined, reason: reason.rawValue)
        }
    }

    /// Whether a purchase without a grant belongs to another known customer, by Apple's token or by its order.
    private func isNamed(_ verified: VerifiedTransaction, otherThan user: UserID) async throws -> Bool {
        let (id, environment) = (verified.id, verified.environment)
        return try await server.database.read { connection in
            guard let stored = try TransactionTable(connection).find(id, in: environment), stored.state != .granted
            else {
                return false
            }
            let ordered = try stored.orderRowID.flatMap { try OrderTable(connection).find(rowID: $0)?.order.userID }
            let account = try ordered.map { try CustomerTable(connection).account(of: $0) ?? $0 }
            guard let owner = try account ?? TokenFacts.user(namedByTokenOf: stored.rowID, connection) else {
                return false
            }
            let grant = try GrantTable(connection).find(transaction: stored.rowID)
            let grantOwner = try grant.map { try GrantOwnerTable(connection).present($0, of: stored.rowID).userID }
            return (grantOwner ?? owner) != user
        }
    }
}

extension ClaimReply {
    init(_ stored: ClaimTable.Stored) {
        let state: State =
            switch stored.state {
            case .waiting: .waiting
            case .answered: .answered
            case .unknown: .unknown
            }
        let data = stored.answer.flatMap { try? JSONText.decode([ClaimedTransaction].self, from: Array($0.utf8)) }
        self.init(
            id: stored.id, orderNumber: stored.orderNumber, state: state, at: stored.at,
            endedAt: stored.endedAt, data: data ?? [])
    }
}
