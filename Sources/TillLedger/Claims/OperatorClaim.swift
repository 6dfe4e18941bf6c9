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
    /// - Parameter onlyInQuarantine: refuses a transaction that is not in quarantine, also one whose owner a receipt
    ///   alone names. A repetition of the decision that released it changes nothing.
    /// - Returns: the grant, and whether it was made just now.
    package func decide(
        _ rowID: Int64, _ decision: OperatorClaim, onlyInQuarantine: Bool = false
    ) async throws -> (isNew: Bool, grant: Grant) {
        try await requireKnownForm(of: decision.user, "userId")
        let (id, inputs) = (UniqueID(random: entropy(16)), intake.processor.inputs())
        let now = inputs.now
        let outcome = try await database.write(locking: [.customer(decision.user)]) { connection -> PurchaseOutcome? in
            let user = try CustomerTable(connection).account(of: decision.user) ?? decision.user
            var origin = PurchaseOrigin(
                source: .claim, caller: .backend(keyID: decision.actor, naming: nil))
            origin.actor = decision.actor
            origin.claim = OwnershipClaim(user: user, ground: .operatorDecision)
            origin.claimReason = "\(decision.reason) (\(decision.operatorName))"
            guard
                let outcome = try intake.processor.processClaimed(
                    rowID, from: origin, inputs.begin(), connection)
            else {
                if onlyInQuarantine { return try repeated(rowID, for: decision.user, connection) }
                return try granted(rowID, to: user, origin, now, connection)
            }
            try ClaimTable(connection).insert(
                id, of: decision.user, transaction: rowID, by: decision.actor,
                operatorName: decision.operatorName, reason: decision.reason, answer: outcome.name, at: now)
            return outcome
        }
        inputs.finish()
        switch outcome {
        case .granted(let grant), .moved(let grant): return (true, grant)
        case .alreadyGranted(let grant), .contested(let grant, _): return (false, grant)
        case .quarantined(let reason): throw RefusalError(.notClaimable, verbatim: reason.rawValue)
        case .revoked, .revokedUnseen, nil: throw RefusalError(.notInQuarantine)
        }
    }

    /// What an earlier decision for the same user granted; nil without one.
    private func repeated(
        _ rowID: Int64, for user: UserID, _ connection: any Connection
    ) throws -> PurchaseOutcome? {
        guard try TransactionTable(connection).find(rowID: rowID) != nil else {
            throw RefusalError(.unknownTransaction)
        }
        guard try ClaimTable(connection).isDecided(rowID, for: user),
            let grant = try GrantTable(connection).find(transaction: rowID)
        else { return nil }
        return .alreadyGranted(try GrantOwnerTable(connection).present(grant, of: rowID))
    }

    /// A repeated decision returns the same grant. A grant that rests on a receipt, contested or not, then rests on the
    /// operator's decision.
    private func granted(
        _ rowID: Int64, to user: UserID, _ origin: PurchaseOrigin, _ now: Instant, _ connection: any Connection
    ) throws -> PurchaseOutcome? {
        let ownership = OwnershipTable(connection)
        guard let grant = try GrantTable(connection).find(transaction: rowID),
            let stored = try TransactionTable(connection).find(rowID: rowID),
            case let present = try GrantOwnerTable(connection).present(grant, of: rowID), present.userID == user
        else { return nil }
        guard try ownership.find(rowID)?.basis == .receipt else { return .alreadyGranted(present) }
        try ownership.set(
            .person,
            of: OwnedGrant(rowID: rowID, environment: stored.environment, originalID: stored.originalID),
            owner: user)
        try EvidenceTable(connection).insert(
            transaction: rowID,
            EvidenceTable.Entry(
                at: now, decision: "confirmed", ground: OwnerMatch.operatorDecision.rawValue,
                source: origin.source.rawValue, caller: origin.callerName,
                detail: origin.claimReason.map { "reason \($0)" }))
        return .alreadyGranted(present)
    }
}
