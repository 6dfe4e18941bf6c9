import TillAPI
import TillBilling
import TillHTTP
import TillLedger
import TillSQL

extension Server {
    /// `GET /v1/quarantine?limit=&cursor=`: paid and genuine, and nobody's yet; newest first.
    func listQuarantined(_ call: Call) async throws -> HTTPResponse {
        let (limit, cursor) = (try call.limit(), try call.cursor())
        let found = try await database.read { session in
            try TransactionTable(session).quarantined(before: cursor, limit: limit + 1).map { stored in
                (stored.sequence, try QuarantinedTransaction(stored, session))
            }
        }
        let page = found.prefix(limit)
        return JSONText.response(
            200,
            Page(
                data: page.map(\.1), hasMore: found.count > limit,
                nextCursor: found.count > limit ? page.last.map { String($0.0) } : nil))
    }

    /// `POST /v1/quarantine/{transactionId}/claims`: an operator of the app decides whose it is, with a reason.
    func claimQuarantined(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(ClaimQuarantinedBody.self)
        let id = TransactionID(try Bounds.string(call.parameters["transactionId"], "transactionId", 128))
        let environment = try Environment(parameter: body.environment) ?? configuration.usualEnvironment
        guard let stored = try await database.read({ try TransactionTable($0).find(id, in: environment) }) else {
            throw Refused(.unknownTransaction)
        }
        let decision = OperatorClaim(
            user: UserID(body.userId), reason: body.reason, operatorName: body.operator, actor: call.credential.name)
        let (isNew, grant) = try await decide(stored.sequence, decision)
        return JSONText.response(
            200,
            SubmitProofReply(
                outcome: isNew ? .granted : .alreadyGranted, transactionId: id.text, finish: true,
                orderId: grant.orderID, userId: grant.userID.text, grant: GrantReply(grant),
                sandbox: grant.environment.sandboxMark))
    }

    /// What an operator decides, and who that is.
    struct OperatorClaim: Sendable {
        let user: UserID
        let reason: String
        let operatorName: String
        /// As in evidence: `key:backend`, `operator:ann`.
        let actor: String
    }

    /// The decision, its record and what comes of it, in one commit.
    ///
    /// - Returns: the grant, and whether it was made just now.
    func decide(_ sequence: Int64, _ decision: OperatorClaim) async throws -> (isNew: Bool, grant: Grant) {
        try await requireKnownForm(of: decision.user, "userId")
        let (id, inputs) = (UniqueID(random: entropy(16)), ledger.intake.processor.inputs())
        let now = inputs.now
        let outcome = try await database.write { session -> PurchaseOutcome? in
            let user = try CustomerTable(session).account(of: decision.user) ?? decision.user
            var origin = PurchaseOrigin(
                source: .claim, caller: .backend(keyID: decision.actor, naming: nil))
            origin.actor = decision.actor
            origin.claim = OwnershipClaim(user: user, ground: .operatorDecision)
            origin.claimReason = "\(decision.reason) (\(decision.operatorName))"
            guard
                let outcome = try ledger.intake.processor.processClaimed(
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

    /// The same decision again is the same grant. What rests on a receipt, contested or not, rests on the operator's
    /// word from now on.
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

extension QuarantinedTransaction {
    fileprivate init(_ stored: TransactionTable.Stored, _ session: any Connection) throws {
        self.init(
            ids: (stored.id, stored.originalID), productID: stored.productID, quantity: stored.quantity,
            environment: stored.environment, price: stored.price, times: (stored.purchasedAt, stored.receivedAt),
            reason: stored.quarantine?.rawValue ?? "",
            evidence: try EvidenceTable(session).list(transaction: stored.sequence).map { entry in
                Evidence(
                    at: entry.at, decision: entry.decision, ground: entry.ground, detail: entry.detail,
                    door: entry.door, caller: entry.caller)
            },
            reasons: try QuarantineReasonTable(session).list(of: stored.sequence).map { found in
                Reason(
                    reason: found.reason, count: found.posts, firstAt: found.firstAt, lastAt: found.lastAt,
                    lastCaller: found.lastCaller)
            })
    }
}

extension Environment {
    /// As requests name it; nil if they don't.
    init?(parameter: String?) throws {
        switch parameter {
        case nil: return nil
        case "production": self = .production
        case "sandbox": self = .sandbox
        default: throw Refused(.invalidField, "environment: production or sandbox")
        }
    }
}
