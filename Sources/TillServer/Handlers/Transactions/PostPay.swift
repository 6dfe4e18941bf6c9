import TillAPI
import TillAppStore
import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillSQL

extension Server {
    /// `POST /postPay/ios`: submits a purchase at the address and in the format of apps already released. Verification,
    /// processing and owner matching are those of `POST /v1/transactions`.
    func postPay(_ call: Call) async throws -> HTTPResponse {
        let user = try await postedUser(call.request)
        let request = call.request
        // Reading the body and verifying the receipt each take a share of the quota of their own, so that no share is
        // held while the server waits for Apple.
        let purchase = try await heavy.run(for: .user(user)) { try PostedPurchase(request) }
        return try await postPay(purchase, request, from: user)
    }

    private func postPay(
        _ purchase: PostedPurchase, _ request: HTTPRequest, from user: UserID
    ) async throws -> HTTPResponse {
        if let bundleID = purchase.bundleID, !bundleID.hasSameBytes(as: configuration.apple.bundleID) {
            throw RefusalError(
                .wrongApp, "bundle_id: the server is configured for another app", zh: "bundle_id：此服务器配置的是另一个 App")
        }
        let body = SubmitProofBody(
            receipt: purchase.receipt, transactionId: purchase.transactionID, productId: product(of: purchase.plan),
            orderId: purchase.orderID(of: user))
        // Released apps finish on 200, so the saved-first delivery is off here.
        let submitted = try await verify(
            body, quantity: purchase.quantity, proving: purchase.ownNumber(of: user), from: .user(user),
            at: request.clientNetwork)
        try await openProvenOrder(of: submitted)
        let outcome = try await ledger.intake.accept(submitted.purchase, from: submitted.origin)
        let reply = try await postPayReply(to: user, submitted.purchase.transaction, outcome)
        return JSONText.response(reply.status, reply)
    }

    /// The user whose token is in the body. Only the token is read before it is verified.
    func postedUser(_ request: HTTPRequest) async throws -> UserID {
        let found: String?
        if request.isLong {
            found = try await heavy.run(forAnonymous: request) { PostedToken.find(in: request.body) }
        } else {
            found = PostedToken.find(in: request.body)
        }
        guard let token = found, !token.isEmpty else {
            throw RefusalError(.invalidField, "token: missing", zh: "token：缺失")
        }
        guard token.utf8.count <= Authentication.maximumLength,
            let bearer = Optional(try authentication.bearer(token)), case .user(let user) = bearer.credential
        else { throw RefusalError(.unauthorized, "token: must be a user token", zh: "token：应为用户令牌") }
        RequestTrace.current?.note(caller: bearer.credential.name)
        try await record(bearer)
        return user
    }

    /// Released apps name a plan without the app's bundle id; in App Store Connect the product id includes it. A plan
    /// that the catalog lists only under its short name keeps that name.
    private func product(of plan: String) -> String {
        let full = "\(configuration.apple.bundleID).\(plan)"
        let isWhole = configuration.catalog[ProductID(full)] == nil && configuration.catalog[ProductID(plan)] != nil
        return isWhole ? plan : full
    }

    private func postPayReply(
        to user: UserID, _ verified: VerifiedTransaction, _ outcome: PurchaseIntake.Outcome
    ) async throws -> PostPayReply {
        let id = verified.id.text
        switch outcome {
        case .processed(.granted(let grant)):
            return try await postPayReply(to: user, 200, .granted, grant, verified)
        case .processed(.moved(let grant)):
            return try await postPayReply(
                to: user, 200, grant.userID == user ? .granted : .alreadyGranted, grant, verified)
        case .processed(.contested(let grant, let reason)) where grant.userID != user:
            return PostPayReply(status: 202, outcome: .quarantined, transactionId: id, reason: reason.rawValue)
        case .processed(.alreadyGranted(let grant)), .processed(.contested(let grant, _)):
            return try await postPayReply(to: user, 200, .alreadyGranted, grant, verified)
        case .processed(.revoked(let grant)):
            return try await postPayReply(to: user, 410, .revoked, grant, verified)
        case .processed(.revokedUnseen):
            return PostPayReply(status: 410, outcome: .revoked, transactionId: id)
        case .waiting, .saved:
            return PostPayReply(
                status: 202, outcome: .accepted, transactionId: id, reason: PurchaseIntake.waitingReason)
        case .processed(.quarantined(let reason)):
            return PostPayReply(status: 202, outcome: .quarantined, transactionId: id, reason: reason.rawValue)
        }
    }

    private func postPayReply(
        to user: UserID, _ status: Int, _ outcome: SubmitProofReply.Outcome, _ grant: Grant,
        _ verified: VerifiedTransaction
    ) async throws -> PostPayReply {
        guard grant.userID == user else {
            // Only the owner's answer may look like success: released apps unlock the purchase on 200.
            return PostPayReply(status: max(status, 409), outcome: outcome, transactionId: verified.id.text)
        }
        let (order, end) = try await database.read { [catalogs] connection in
            let order = try OrderTable(connection).find(grant.orderID).map { try OrderView($0, connection) }
            return (order, try Self.serviceEnd(verified, of: user, catalogs, connection))
        }
        return PostPayReply(
            status: status, outcome: outcome, transactionId: verified.id.text,
            order: order?.reply(in: configuration.catalog),
            expiresAt: end ?? verified.expiresDate, sandbox: grant.environment.sandboxMark)
    }

    /// Nil unless the purchase is of a plan whose time the server keeps, and still counts.
    private static func serviceEnd(
        _ verified: VerifiedTransaction, of user: UserID, _ catalogs: CatalogHistory, _ connection: any Connection
    ) throws -> Instant? {
        guard let product = catalogs.current[verified.productID], Plan(soldBy: product) != nil else { return nil }
        let purchases = try PlanHistory.purchases(of: user, in: verified.environment, catalogs, connection)
        return Service.end(of: verified.id, in: purchases)
    }
}

/// The body that released apps post: text for every member, as JSON or as a form. `password` and `is_sandbox` may be
/// present and are ignored.
struct PostedPurchase: Sendable {
    /// Base64, possibly with line feeds.
    let receipt: String
    /// A product id, possibly without the app's bundle id.
    let plan: String
    let transactionID: String
    let quantity: Int?
    /// The app's own number for the order; nil if there is none.
    let orderNumber: String?
    let bundleID: String?

    /// - Throws: `RefusalError` with the member that is missing or invalid.
    init(_ request: HTTPRequest) throws {
        let names = ["receipt-data", "product_id", "transaction_id", "quantity", "order_id", "bundle_id"]
        let fields = try PostedFields.read(request, names, base64: "receipt-data")
        func needed(_ name: String) throws -> String {
            guard let text = fields[name], !text.isEmpty else {
                throw RefusalError(.invalidField, "\(name): missing", zh: "\(name)：缺失")
            }
            return text
        }
        receipt = try needed("receipt-data")
        plan = try InputLimits.string(try needed("product_id"), "product_id", 255)
        transactionID = try InputLimits.string(try needed("transaction_id"), "transaction_id", 128)
        quantity = try fields["quantity"].map { text in
            guard let quantity = Int(text), (1...10).contains(quantity) else {
                throw RefusalError(.invalidField, "quantity: 1 to 10", zh: "quantity：应为 1 到 10")
            }
            return quantity
        }
        orderNumber = fields["order_id"].flatMap { $0.isEmpty ? nil : $0 }
        bundleID = fields["bundle_id"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A UUID is the order's id. Any other text is the user's own number, from which the id is derived.
    func orderID(of user: UserID) -> OrderID? {
        orderNumber.map { UniqueID($0) ?? OrderIDCommitment(user: user, orderNumber: $0).id }
    }

    /// Proves the derived id, so that the server may open the order; nil for a UUID, which proves nothing.
    func ownNumber(of user: UserID) -> TokenProof? {
        orderNumber.flatMap { UniqueID($0) == nil ? TokenProof(orderNumber: $0, user: user) : nil }
    }
}
