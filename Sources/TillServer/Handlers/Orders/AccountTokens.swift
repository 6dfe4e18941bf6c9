import TillAPI
import TillBilling
import TillHTTP
import TillLedger

/// Account tokens: the UUIDs that an app sets as `appAccountToken` for a user's payments, as Apple recommends. Only a
/// backend registers them, because a modified app could name another customer's token.
extension Server {
    /// Account tokens per user: one for each change of the backend's scheme.
    static let accountTokenLimit = 100

    /// `PUT /v1/users/{userId}/account-tokens/{token}`: payments with this token belong to the user from now on.
    /// Payments with it that wait in quarantine are granted in the same commit.
    func registerAccountToken(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        try await ledger.requireKnownForm(of: user, "userId")
        guard let token = UniqueID(call.parameters["token"]), !token.isAbsent else {
            throw RefusalError(
                .invalidField, "token: must be a UUID other than the nil and the max UUID",
                zh: "token：应为 UUID，且不能是全零或全 F 的 UUID")
        }
        let (inputs, terms) = (ledger.intake.processor.inputs(), configuration.guests)
        let (entry, isNew) = try await database.write(locking: [.order(token), .customer(user)]) {
            [self] connection -> (AccountTokenTable.Entry, Bool) in
            let tokens = AccountTokenTable(connection)
            if let known = try tokens.find(token) {
                guard known.user == user else { throw RefusalError(.tokenInUse) }
                return (known, false)
            }
            // An order of the same user does not block the token if its id is forgeable and nothing paid it: that
            // repairs an order whose id was seen in a payment before.
            if let order = try OrderTable(connection).find(token)?.order {
                let mayRepair = order.userID == user && !order.idSource.isUnforgeable && order.transactionID == nil
                guard mayRepair else { throw RefusalError(.tokenInUse) }
            }
            guard try tokens.list(of: user, limit: Self.accountTokenLimit).count < Self.accountTokenLimit else {
                throw RefusalError(
                    .tooManyRequests, "a user can have at most \(Self.accountTokenLimit) account tokens",
                    zh: "每位用户最多可有 \(Self.accountTokenLimit) 个账户令牌")
            }
            let entry = AccountTokenTable.Entry(token: token, user: user, since: inputs.now)
            try CustomerTable(connection).recordNamed(user, under: terms, at: inputs.now)
            try tokens.insert(entry)
            try ledger.intake.processor.release(paidUnder: token, inputs.begin(), connection)
            return (entry, true)
        }
        inputs.finish()
        return JSONText.response(
            isNew ? 201 : 200, AccountTokenReply(token: entry.token, user: entry.user, since: entry.since))
    }

    /// `GET /v1/users/{userId}/account-tokens`.
    func listAccountTokens(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        let found = try await database.read { try AccountTokenTable($0).list(of: user, limit: Self.accountTokenLimit) }
        return JSONText.response(
            200,
            AccountTokenList(data: found.map { AccountTokenReply(token: $0.token, user: $0.user, since: $0.since) }))
    }
}
