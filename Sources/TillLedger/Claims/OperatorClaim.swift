import TillBilling
import TillSQL

/// An operator's decision about a purchase.
package struct OperatorClaim: Sendable {
    let user: UserID
    let reason: String
    let operatorName: String
    /// As in evidence: `key:backend`, `operator:ann`.
    let actor: String

    package init(user: UserID, reason: String, operatorName: String, actor: String) {
        self.user = user
        self.reason = reason
        self.operatorName = operatorName
        self.actor = actor
    }
}

extension Ledger {
    /// Records the decision and its result in one commit.
    ///
    /// - Returns: the grant, and whether it was made just now.
    package func decide(_ sequence: Int64, _ decision: OperatorClaim) async throws -> (isNew: Bool, grant: Grant) {
        try await requireKnownForm(of: decision.user, "userId")
        let (id, inputs) = (UniqueID(random: entropy(16)), intake.processor.inputs())
        let now = inputs.now
        let outcome = try await database.write(locking: [.customer(decision.user)]) { session -> PurchaseOutcome? in
            let user = try CustomerTable(session).account(of: decision.user) ?? decision.user
            var origin = PurchaseOrigin(
                source: .claim, caller: .backend(keyID: decision.actor, naming: nil))
            origin.actor = decision.actor
            origin.claim = OwnershipClaim(user: user, ground: .operatorDecision)
            origin.claimReason = "\(decision.reason) (\(decision.operatorName))"
            guard
                let outcome = try intake.processor.processClaimed(
                    sequence, from: origin, inputs.begin(), session)
            else {
                return try granted(sequence, to: user, origin, now, session)
            }
            try ClaimTable(session).insert(
                id, of: decision.user, transaction: sequence, by: decision.actor,
                operatorName: decision.operatorName, reason: decision.reason, answer: outcome.name, at: now)
            return outcome
        }
        switch outcome {
        case .granted(let grant), .moved(let grant): return (true, grant)
        case .alreadyGranted(let grant), .contested(let grant, _): return (false, grant)
        case .quarantined(let reason): throw Refused(.notClaimable, reason.rawValue)
        case .revoked, .revokedUnseen, nil: throw Refused(.notInQuarantine)
        }
    }

    /// A repeated decision returns the same grant. A grant that rests on a receipt, contested or not, then rests on the
    /// operator's decision.
    private func granted(
        _ sequence: Int64, to user: UserID, _ origin: PurchaseOrigin, _ now: Instant, _ session: any Connection
    ) throws -> PurchaseOutcome? {
        let ownership = OwnershipTable(session)
        guard let grant = try GrantTable(session).find(transaction: sequence),
            let stored = try TransactionTable(session).find(sequence: sequence),
            case let present = try HolderTable(session).present(grant, of: sequence), present.userID == user
        else { return nil }
        guard try ownership.find(sequence)?.basis == .receipt else { return .alreadyGranted(present) }
        try ownership.set(
            .person,
            of: HeldGrant(sequence: sequence, environment: stored.environment, originalID: stored.originalID),
            owner: user)
        try EvidenceTable(session).insert(
            transaction: sequence,
            EvidenceTable.Entry(
                at: now, decision: "confirmed", ground: OwnerMatch.operatorDecision.rawValue,
                door: origin.source.rawValue, caller: origin.callerName,
                detail: origin.claimReason.map { "reason \($0)" }))
        return .alreadyGranted(present)
    }
}
