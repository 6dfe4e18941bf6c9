import TillAPI
import TillBilling
import TillHTTP
import TillLedger
import TillSQL

extension Server {
    /// `GET /v1/quarantine?limit=&cursor=`: paid, verified transactions without an owner, newest first.
    func listQuarantined(_ call: Call) async throws -> HTTPResponse {
        let page = try await page(call)
        let found = try await database.read { connection in
            try TransactionTable(connection).quarantined(before: page.before, limit: page.rows).map { stored in
                (stored.rowID, try QuarantinedTransaction(stored, connection))
            }
        }
        return page.response(found, at: \.0) { $0.1 }
    }

    /// `POST /v1/quarantine/{transactionId}/claims`: an operator of the app decides the owner and gives a reason.
    func claimQuarantined(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(ClaimQuarantinedBody.self)
        let id = TransactionID(try InputLimits.string(call.parameters["transactionId"], "transactionId", 128))
        let environment = try configuration.environment(named: body.environment)
        guard let stored = try await database.read({ try TransactionTable($0).find(id, in: environment) }) else {
            throw RefusalError(.unknownTransaction)
        }
        let decision = OperatorClaim(
            user: UserID(body.userId), reason: body.reason, operatorName: body.operator, actor: call.credential.name)
        let (isNew, grant) = try await ledger.decide(stored.rowID, decision)
        return JSONText.response(
            200,
            SubmitProofReply(
                outcome: isNew ? .granted : .alreadyGranted, transactionId: id.text, finish: true,
                orderId: grant.orderID, userId: grant.userID.text, grant: GrantReply(grant),
                sandbox: grant.environment.sandboxMark))
    }
}

extension QuarantinedTransaction {
    fileprivate init(_ stored: TransactionTable.Stored, _ connection: any Connection) throws {
        self.init(
            ids: (stored.id, stored.originalID), productID: stored.productID, quantity: stored.quantity,
            environment: stored.environment, price: stored.price, times: (stored.purchasedAt, stored.receivedAt),
            reason: stored.quarantine?.rawValue ?? "",
            token: try TransactionTable(connection).signedToken(of: stored.rowID),
            evidence: try EvidenceTable(connection).list(transaction: stored.rowID).map { entry in
                Evidence(
                    at: entry.at, decision: entry.decision, ground: entry.ground, detail: entry.detail,
                    source: entry.source, caller: entry.caller)
            },
            reasons: try QuarantineReasonTable(connection).list(of: stored.rowID).map { found in
                Reason(
                    reason: found.reason, count: found.submissions, firstAt: found.firstAt, lastAt: found.lastAt,
                    lastCaller: found.lastCaller)
            })
    }
}

extension ServerConfiguration {
    /// The environment that a body names, or the usual one.
    func environment(named text: String?) throws -> StoreEnvironment {
        try text.map { try InputLimits.environment($0, on: ledger) } ?? ledger.usualEnvironment
    }
}
