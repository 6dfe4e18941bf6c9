import TillAPI
import TillBilling
import TillHTTP
import TillStorage

extension Server {
    /// `GET /v1/users/{userId}/wallet?environment=`.
    func readWallet(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        let environment = try call.environment(for: user, configuration)
        let wallet = try await database.read { try LedgerTable($0).wallet(of: user, in: environment) }
        return JSONText.response(200, WalletReply(balances: wallet.balances))
    }

    /// `GET /v1/users/{userId}/wallet/postings?environment=&limit=&cursor=`: newest first.
    func listPostings(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        let environment = try call.environment(for: user, configuration)
        let (limit, cursor) = (try call.limit(), try call.cursor())
        let found = try await database.read { session in
            try LedgerTable(session).postings(of: user, in: environment, before: cursor, limit: limit + 1)
        }
        let page = found.prefix(limit)
        return JSONText.response(
            200,
            Page(
                data: page.map { PostingReply($0.posting) }, hasMore: found.count > limit,
                nextCursor: found.count > limit ? page.last.map { String($0.sequence) } : nil))
    }

    /// `POST /v1/users/{userId}/wallet/debits?environment=`: spends points. The reference makes a repetition the same
    /// debit; the balance never goes below zero here.
    func debitWallet(_ call: Call) async throws -> HTTPResponse {
        try call.credential.requireBackend()
        let user = try call.userInPath()
        let environment = try call.environment(for: user, configuration)
        let body = try JSONText.decode(DebitBody.self, from: call.request.body)
        let currency = try Bounds.string(body.currency, "currency", 64)
        let reference = try Bounds.string(body.reference, "reference", 128)
        guard (1...1_000_000_000_000).contains(body.amount) else {
            throw Refused(.invalidField, "amount: 1 to 1000000000000")
        }
        let posting = Posting(
            environment: environment, userID: user, contra: .spent, currency: currency, amount: -body.amount,
            kind: .debit, reference: reference, at: clock())
        let (isNew, balance, at) = try await database.write { session -> (Bool, Int64, Instant) in
            let ledger = LedgerTable(session)
            let wallet = try ledger.wallet(of: user, in: environment)
            let balance = wallet.balances[currency, default: 0]
            if let known = try ledger.debit(reference: reference, in: environment)?.posting {
                guard known.userID == user, known.currency == currency, known.amount == posting.amount else {
                    throw Refused(.referenceConflict)
                }
                return (false, balance, known.at)
            }
            guard wallet.covers(body.amount, of: currency) else { throw Refused(.insufficientFunds) }
            try ledger.post(posting, grant: nil)
            return (true, balance - body.amount, posting.at)
        }
        return JSONText.response(
            isNew ? 201 : 200,
            DebitReply(reference: reference, currency: currency, amount: body.amount, balance: balance, at: at))
    }
}
