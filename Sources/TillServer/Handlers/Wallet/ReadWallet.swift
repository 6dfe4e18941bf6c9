import TillAPI
import TillBilling
import TillHTTP
import TillJSON
import TillLedger

extension Server {
    /// `GET /v1/users/{userId}/wallet?environment=`.
    func readWallet(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        let environment = try call.environment(for: user, configuration)
        let now = clock()
        let wallet = try await database.read { connection in
            let balances = try LedgerTable(connection).wallet(of: user, in: environment).balances
            return Wallet(
                balances: balances, held: try OwnershipTable(connection).held(of: user, in: environment, at: now))
        }
        let reply = WalletReply(
            balances: wallet.balances, held: wallet.held.isEmpty ? nil : wallet.held,
            sandbox: environment.sandboxMark)
        return JSONText.response(200, text: reply.encoded)
    }

    /// `GET /v1/users/{userId}/wallet/postings?environment=&limit=&cursor=`: newest first.
    func listPostings(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        let environment = try call.environment(for: user, configuration)
        let page = try await page(call)
        let found = try await database.read { connection in
            try LedgerTable(connection).postings(of: user, in: environment, before: page.before, limit: page.rows)
        }
        return page.response(found, at: \.rowID) { PostingReply($0.posting) }
    }

    /// `GET /v1/users/{userId}/wallet/lots?currency=&environment=&limit=&cursor=`: newest first. The cursor is the
    /// number of older lots.
    func listLots(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        let environment = try call.environment(for: user, configuration)
        let currency = try InputLimits.string(
            call.request.queryValue("currency") ?? "", "currency", InputLimits.currency)
        let page = try await page(call)
        let lots = try await database.read { connection in
            try LedgerTable(connection).lots(of: user, in: environment, currency: currency)
        }
        let (allocated, debt) = lots.lotsAndDebt()
        let rest = allocated.prefix(Int(clamping: page.before))
        let shown = rest.suffix(page.limit)
        let older = rest.count - shown.count
        return JSONText.response(
            200,
            LotsReply(
                currency: currency, balance: lots.balance, debt: debt, data: shown.reversed().map { LotReply($0) },
                hasMore: older > 0, nextCursor: older > 0 ? page.cursor(Int64(older)) : nil))
    }
}

extension WalletReply {
    /// Like its `Codable` form: apps read it often, and TillJSON writes it in a fraction of the time.
    var encoded: [UInt8] {
        JSONWriter { json in
            json.integers("balances", balances)
            if let held { json.integers("held", held) }
            if let sandbox { json.bool("sandbox", sandbox) }
        }.bytes
    }
}
