import TillAPI
import TillAppStore
import TillBilling
import TillHTTP
import TillLedger

extension Server {
    /// `POST /v1/users/{userId}/claims`: with Apple's order number, unclaimed purchases of that order become the
    /// user's; with a transaction id, the user accepts a purchase paid under their order. Every attempt by number is
    /// recorded before Apple is asked, so that a crash loses none and guessing is limited.
    func claimPurchases(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        try await ledger.requireKnownForm(of: user, "userId")
        let body = try call.body(ClaimOrderBody.self)
        let number: String
        switch (body.orderNumber, body.transactionId) {
        case (let text?, nil): number = try Self.orderNumber(text)
        case (nil, let id?): return try await acceptPurchase(id, in: body.environment, as: user, call)
        default:
            throw RefusalError(
                .invalidField, "exactly one of orderNumber and transactionId is required",
                zh: "orderNumber 与 transactionId 必须且只能提供其一")
        }
        let environment = ledger.serverAPI?.orderLookupEnvironment ?? .production
        guard configuration.apple.environments.contains(environment) else {
            throw RefusalError(
                .noOrderLookup, "the server does not accept the production environment", zh: "此服务器不接受生产环境")
        }
        guard let claims = OrderNumberClaim(self, askedBy: user) else {
            throw RefusalError(
                .noOrderLookup, "the server has no App Store Server API key", zh: "此服务器没有 App Store Server API 密钥")
        }
        let (id, now, actor) = (UniqueID(random: entropy(16)), clock(), call.credential.name)
        let terms = configuration.guests
        let (claim, isNew) = try await database.write(locking: [.customer(user)]) { connection in
            try CustomerTable(connection).requireUnmerged(user)
            if case .backend = call.credential {
                try CustomerTable(connection).recordNamed(user, under: terms, at: now)
            }
            let table = ClaimTable(connection)
            // While a claim waits, the same number returns that claim.
            if let waiting = try table.waiting(of: user, orderNumber: number) { return (waiting, false) }
            let tried = try table.count(of: user, since: now.adding(seconds: -OrderNumberClaim.day))
            guard tried < OrderNumberClaim.dailyLimit else {
                throw RefusalError(.tooManyRequests, retryAfter: 86_400)
            }
            let claim = try table.insert(
                id, of: user, orderNumber: number, by: actor, at: now, due: now.adding(seconds: Self.claimHeadStart))
            return (claim, true)
        }
        // A repeated request asks Apple only when the claim is due.
        let isDue = isNew || claim.dueAt <= now
        let reply = isDue ? try await claims.answer(claim) : ClaimReply(claim)
        switch reply.state {
        case .answered: return JSONText.response(200, reply)
        case .waiting: return JSONText.response(202, reply)
        case .unknown: throw RefusalError(.unknownOrderNumber)
        }
    }

    /// `GET /v1/users/{userId}/claims?limit=&cursor=`: the user's claims, newest first.
    func listClaims(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        let page = try await page(call)
        let found = try await database.read { try ClaimTable($0).list(of: user, before: page.before, limit: page.rows) }
        return page.response(found, at: \.rowID) { ClaimReply($0) }
    }

    /// Seconds in which only the request asks Apple; the job takes over after that.
    private static let claimHeadStart: Int64 = 60

    /// The number as Apple's mail shows it; spaces added by copying are removed.
    private static func orderNumber(_ text: String) throws -> String {
        let number = String(text.filter { $0 != " " })
        let isPlain = number.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) }
        guard (1...64).contains(number.utf8.count), isPlain else {
            throw RefusalError(
                .invalidField, "orderNumber: 1 to 64 letters and digits", zh: "orderNumber：应为 1 到 64 个字母和数字")
        }
        return number.uppercased()
    }
}
