import TillAPI
import TillBilling

/// Reads the signed-in user's data from the server. An expired token is renewed once; there are no other retries,
/// because the user can repeat the request.
package struct ServerReads: Sendable {
    private let server: ServerAccess
    private let phoneID: String?
    private let environment: String?

    /// - Parameters:
    ///   - phoneID: the app's name for this phone, because some plans cover one device.
    ///   - sandbox: true reads purchases of Apple's sandbox, false paid purchases; nil uses the server's configuration
    ///     for this user.
    package init(server: ServerAccess, phoneID: String? = nil, sandbox: Bool? = nil) {
        self.server = server
        self.phoneID = phoneID
        environment = sandbox.map { $0 ? "sandbox" : "production" }
    }

    /// Points by kind; negative after a refund of spent points.
    package func wallet() async throws(StoreError) -> [String: Int64] { try await wallet(as: try await signedIn()) }

    func wallet(as session: UserSession) async throws(StoreError) -> [String: Int64] {
        try await get(WalletReply.self, as: session) { Paths.wallet(of: $0) }.balances
    }

    /// The movements of points, newest first.
    ///
    /// - Parameters:
    ///   - limit: 1 to 100.
    ///   - cursor: `next` of the previous page.
    package func postings(limit: Int = 20, after cursor: String? = nil) async throws(StoreError) -> WalletPage {
        var query = ["limit=\(min(max(limit, 1), 100))"]
        if let cursor { query.append("cursor=\(Paths.escaped(cursor))") }
        let page = try await get(PostingsResponse.self, query) { "\(Paths.wallet(of: $0))/postings" }
        return WalletPage(postings: page.data.map(WalletPosting.init), next: page.hasMore ? page.nextCursor : nil)
    }

    /// The current entitlements, oldest first.
    package func entitlements() async throws(StoreError) -> [Entitlement] {
        try await entitlementRows(as: try await signedIn()).map(Entitlement.init)
    }

    func entitlementRows(as session: UserSession) async throws(StoreError) -> [EntitlementsResponse.Right] {
        try await get(EntitlementsResponse.self, as: session) { Paths.entitlements(of: $0) }.data
    }

    /// Whether an entitlement is available now, until when, and why.
    package func entitlement(_ name: String) async throws(StoreError) -> EntitlementAccess {
        let query = phoneID.map { ["deviceId=\(Paths.escaped($0))"] } ?? []
        return EntitlementAccess(
            try await get(EntitlementAccessResponse.self, query) { Paths.entitlement(name, of: $0) })
    }

    /// All subscriptions, newest first.
    package func subscriptions() async throws(StoreError) -> [SubscriptionRecord] {
        try await get(SubscriptionsResponse.self) { Paths.subscriptions(of: $0) }.data.map(SubscriptionRecord.init)
    }

    /// The result that buying a plan now would have.
    ///
    /// - Parameter plan: the product's id, with or without the app's bundle id before it, or the plan's id.
    package func planPreview(
        _ plan: String, quantity: Int = 1, device: String? = nil
    ) async throws(StoreError) -> PlanPreview {
        guard (1...10).contains(quantity) else { throw .badQuantity }
        let session = try await signedIn()
        do throws(ServerError) {
            let reply = try await server.post(
                path(Paths.planPreview),
                PlanPreviewBody(planId: plan, quantity: quantity, deviceId: device ?? phoneID),
                as: session, expecting: PlanPreviewReply.self)
            return PlanPreview(reply, quantity: quantity)
        } catch {
            throw .server(error)
        }
    }

    func claim(_ orderNumber: String) async throws(StoreError) -> [ClaimedPurchase] {
        let session = try await signedIn()
        do throws(ServerError) {
            let reply = try await server.post(
                Paths.claims(of: session.userID), ClaimOrderBody(orderNumber: orderNumber), as: session,
                expecting: ClaimReply.self)
            return reply.data.map { claimed in
                ClaimedPurchase(
                    transactionID: claimed.transactionId, productID: claimed.productId,
                    isYours: claimed.outcome == .granted || claimed.outcome == .owned, code: claimed.reason)
            }
        } catch {
            throw .server(error)
        }
    }

    func setConsent(_ isGiven: Bool) async throws(StoreError) {
        let session = try await signedIn()
        do throws(ServerError) {
            _ = try await server.put(
                Paths.consumptionConsent(of: session.userID), ConsentBody(given: isGiven), as: session,
                expecting: ConsentReply.self)
        } catch {
            throw .server(error)
        }
    }

    private func get<Reply: Decodable>(
        _ reply: Reply.Type, _ query: [String] = [], of user: (UserID) -> String
    ) async throws(StoreError) -> Reply {
        try await get(reply, query, as: try await signedIn(), of: user)
    }

    private func get<Reply: Decodable>(
        _ reply: Reply.Type, _ query: [String] = [], as session: UserSession, of user: (UserID) -> String
    ) async throws(StoreError) -> Reply {
        do throws(ServerError) {
            return try await server.get(path(user(session.userID), query), as: session, expecting: reply)
        } catch {
            throw .server(error)
        }
    }

    func signedIn() async throws(StoreError) -> UserSession {
        guard let session = await server.session() else { throw .notSignedIn }
        return session
    }

    private func path(_ path: String, _ query: [String] = []) -> String {
        let all = query + (environment.map { ["environment=\($0)"] } ?? [])
        return all.isEmpty ? path : "\(path)?\(all.joined(separator: "&"))"
    }
}
