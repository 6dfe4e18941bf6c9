import TillAPI
import TillBilling

/// What the server knows about whoever is signed in. A token that ran out is replaced once; nothing else is tried
/// again: whoever looks at the screen can ask anew.
package struct Reads: Sendable {
    private let server: ServerAccess
    private let deviceID: String?
    private let environment: String?

    /// - Parameters:
    ///   - deviceID: as orders name this device: some plans are for one.
    ///   - sandbox: true reads what was bought in Apple's sandbox, false what was bought for money, nil what the
    ///     server's configuration says for this user.
    package init(server: ServerAccess, deviceID: String? = nil, sandbox: Bool? = nil) {
        self.server = server
        self.deviceID = deviceID
        environment = sandbox.map { $0 ? "sandbox" : "production" }
    }

    /// Points by kind; a refund of what was spent leaves less than zero.
    package func wallet() async throws(StoreError) -> [String: Int64] {
        try await get(WalletReply.self) { Paths.wallet(of: $0) }.balances
    }

    /// The movements of points, newest first.
    ///
    /// - Parameters:
    ///   - limit: 1 to 100.
    ///   - cursor: `next` of the page before.
    package func postings(limit: Int = 20, after cursor: String? = nil) async throws(StoreError) -> WalletPage {
        var query = ["limit=\(min(max(limit, 1), 100))"]
        if let cursor { query.append("cursor=\(Paths.escaped(cursor))") }
        let page = try await get(PostingsAnswer.self, query) { "\(Paths.wallet(of: $0))/postings" }
        return WalletPage(postings: page.data.map(WalletPosting.init), next: page.hasMore ? page.nextCursor : nil)
    }

    /// What may be used now, the oldest first.
    package func entitlements() async throws(StoreError) -> [Entitlement] {
        try await get(EntitlementsAnswer.self) { Paths.entitlements(of: $0) }.data.map(Entitlement.init)
    }

    /// Whether one thing may be used now, until when, and why.
    package func entitlement(_ name: String) async throws(StoreError) -> EntitlementAccess {
        let query = deviceID.map { ["deviceId=\(Paths.escaped($0))"] } ?? []
        return EntitlementAccess(
            try await get(EntitlementAccessAnswer.self, query) { Paths.entitlement(name, of: $0) })
    }

    /// All subscriptions, the newest first.
    package func subscriptions() async throws(StoreError) -> [SubscriptionRecord] {
        try await get(SubscriptionsAnswer.self) { Paths.subscriptions(of: $0) }.data.map(SubscriptionRecord.init)
    }

    /// What buying a plan now would come to (C6).
    ///
    /// - Parameter plan: the product's id, with or without the app's bundle id before it; or the plan's.
    package func planPreview(_ plan: String, quantity: Int = 1) async throws(StoreError) -> PlanPreview {
        guard (1...10).contains(quantity) else { throw .badQuantity }
        let session = try await signedIn()
        do throws(ServerFault) {
            let reply = try await server.post(
                path(Paths.planPreview), PlanPreviewBody(planId: plan, quantity: quantity, deviceId: deviceID),
                as: session, expecting: PlanPreviewReply.self)
            return PlanPreview(reply, quantity: quantity)
        } catch {
            throw .server(error)
        }
    }

    private func get<Reply: Decodable>(
        _ reply: Reply.Type, _ query: [String] = [], of user: (UserID) -> String
    ) async throws(StoreError) -> Reply {
        let session = try await signedIn()
        do throws(ServerFault) {
            return try await server.get(path(user(session.userID), query), as: session, expecting: reply)
        } catch {
            throw .server(error)
        }
    }

    private func signedIn() async throws(StoreError) -> Session {
        guard let session = await server.session() else { throw .notSignedIn }
        return session
    }

    private func path(_ path: String, _ query: [String] = []) -> String {
        let all = query + (environment.map { ["environment=\($0)"] } ?? [])
        return all.isEmpty ? path : "\(path)?\(all.joined(separator: "&"))"
    }
}
