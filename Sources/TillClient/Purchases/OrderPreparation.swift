import TillAPI
import TillBilling

/// The reason why a purchase could not begin. Nothing was requested from the store, so no payment was made.
package enum PurchaseError: Error, Hashable, Sendable {
    case notSignedIn
    /// The quantity is not 1 to 10.
    case badQuantity
    /// The order could not be recorded on this device.
    case journal(JournalError)
    /// The server did not give a valid answer. The order stays *prepared* until the caller abandons it.
    case cannotOpen(OrderID, ServerError)
    /// The server refused the order, which is *failed* now.
    case refused(OrderID, ServerRefusal)
    /// The named order is not an unpaid one of this user, product and quantity.
    case unknownOrder
    /// The named order waits for another person's approval already (Ask to Buy).
    case deferred(OrderID)
}

/// What a purchase asks for.
package struct OrderRequest: Sendable {
    package let productID: ProductID
    package var quantity: Int
    /// The total price that the buyer is shown; used in the list of orders only, like the label.
    package var price: Money?
    package var label: ProductLabel?
    /// The preview of a plan that the buyer was shown.
    package var preview: OpenOrderBody.Preview?
    /// The device that the plan is for, by the app's own name. A plan for one device is for this phone if nil.
    package var device: String?
    package var metadata: Metadata?
    /// An order that the app's backend has opened; nil for a new one.
    package var opened: String?

    package init(_ productID: ProductID, price: Money? = nil, quantity: Int = 1) {
        self.productID = productID
        self.price = price
        self.quantity = quantity
    }

    init(_ productID: ProductID, _ options: PurchaseOptions) {
        self.init(productID, quantity: options.quantity)
        preview = options.preview?.body
        device = options.device
        metadata = options.metadata.map { .object($0.mapValues(Metadata.string)) }
        opened = options.order
    }
}

/// Begins purchases: the order is on this device's disk before any request, and at the server before the store is asked
/// for payment, because a payment whose token names no order has no owner.
package struct OrderPreparation: Sendable {
    private let journal: OrderJournal
    private let server: ServerAccess
    private let effects: Effects
    private let phoneID: String?

    /// The number of requests to the server while the buyer waits.
    static let attempts = 3

    /// - Parameter phoneID: the app's name for this phone, sent with the order; at most 128 bytes.
    package init(journal: OrderJournal, server: ServerAccess, effects: Effects, phoneID: String? = nil) {
        self.journal = journal
        self.server = server
        self.effects = effects
        self.phoneID = phoneID
    }

    /// Prepares an order. After this, the payment may be requested with the order's id as its `appAccountToken` (or
    /// `applicationUsername`).
    package func prepare(_ request: OrderRequest) async throws(PurchaseError) -> JournalEntry {
        guard (1...10).contains(request.quantity) else { throw .badQuantity }
        guard let session = await server.session() else { throw .notSignedIn }
        if let number = request.opened { return try await adopt(number, request, as: session) }
        guard let nonce = OrderIDNonce(bytes: effects.entropy(OrderIDNonce.count)),
            session.userID.text.utf8.count <= Self.longestUserID
        else { throw .notSignedIn }
        var entry = JournalEntry(
            preparing: nonce, productID: request.productID, quantity: request.quantity, price: request.price,
            label: request.label, userID: session.userID, at: effects.clock())
        entry.device = request.device
        do throws(JournalError) { try await journal.add(entry) } catch { throw .journal(error) }
        return try await open(entry, request, as: session)
    }

    /// Takes the order that the app's backend opened for this user and product. Nothing is paid under another user's
    /// order, or under one that is paid already.
    private func adopt(
        _ number: String, _ request: OrderRequest, as session: UserSession
    ) async throws(PurchaseError) -> JournalEntry {
        guard let id = OrderID(number) else { throw .unknownOrder }
        let known = await journal[id]
        if let known {
            guard known.userID == session.userID, known.productID == request.productID,
                known.quantity == request.quantity, known.transactionID == nil, known.status != .completed,
                known.status != .refunded
            else { throw .unknownOrder }
            if known.status == .deferred { throw .deferred(id) }
        }
        // Another device of the user may have paid the order, or wait for its approval.
        let order: OrderReply
        do throws(ServerError) {
            order = try await server.get(Paths.order(id), as: session, expecting: OrderReply.self)
        } catch {
            throw .cannotOpen(id, error)
        }
        guard order.id == id, UserID(order.userId) == session.userID, order.transactionId == nil,
            ProductID(order.productId) == request.productID, order.quantity == request.quantity
        else { throw .unknownOrder }
        if OrderStatus(name: order.status) == .deferred { throw .deferred(id) }
        if let known { return known }
        var entry = JournalEntry(
            preparing: id, productID: request.productID, quantity: request.quantity, price: request.price,
            userID: session.userID, at: effects.clock())
        entry.label = request.label
        entry.isOpened = true
        do throws(JournalError) { try await journal.add(entry) } catch { throw .journal(error) }
        return entry
    }

    /// A promotional offer, signed by the server for one attempt to pay this order.
    func signedOffer(_ offer: String, for entry: JournalEntry) async throws(ServerError) -> SignedOffer {
        guard let session = await server.session() else { throw .signedOut }
        let body = PromotionalOfferBody(
            productId: entry.productID.text, offerId: offer, form: .classic, orderId: entry.id)
        var attempt = 1
        while true {
            do throws(ServerError) {
                let reply = try await server.post(
                    Paths.promotionalOffers, body, as: session, expecting: PromotionalOfferReply.self)
                guard reply.form == .classic, reply.offerId == offer, let signed = SignedOffer(reply) else {
                    throw .unreadable(status: 200, retryAfter: nil)
                }
                return signed
            } catch {
                guard attempt < Self.attempts, error.isRetryable, (error.retryAfter ?? 0) <= 2 else { throw error }
                await effects.pause(500 << Int64(attempt - 1))
                attempt += 1
            }
        }
    }

    /// In bytes. No server accepts a longer user id.
    private static let longestUserID = 1_024

    /// A repeated request opens no second order, because the id is the same. With a user token, the server accepts only
    /// ids that are commitments to that user, so that no attacker opens an order with the id in another customer's
    /// payment. The nonce is on disk before the id is sent.
    private func open(
        _ entry: JournalEntry, _ request: OrderRequest, as opener: UserSession
    ) async throws(PurchaseError) -> JournalEntry {
        var session = opener
        var label: ProductLabel?
        var attempt = 1
        while true {
            do throws(ServerError) {
                let body = body(for: entry, request, as: session.userID)
                let reply = try await server.post(Paths.orders, body, as: session, expecting: OrderReply.self)
                if reply.id != entry.id { throw .unreadable(status: 200, retryAfter: nil) }
                label = reply.productNames.map { ProductLabel(name: $0[server.language], kind: reply.purchaseKind) }
                break
            } catch {
                if case .refused(let refusal) = error, !refusal.isRetryable { throw await refused(entry, refusal) }
                // Half a second, then a second: the buyer is looking at a progress indicator.
                guard attempt < Self.attempts, (error.retryAfter ?? 0) <= 2 else { throw .cannotOpen(entry.id, error) }
                await effects.pause(500 << Int64(attempt - 1))
                attempt += 1
                // A guest who has been merged into an account in the meantime continues as that account.
                if let now = await server.session(), now.userID == (await journal[entry.id])?.userID { session = now }
            }
        }
        do throws(JournalError) {
            try await journal.markOpened(entry.id, label: label)
            return await journal[entry.id] ?? entry
        } catch {
            throw .journal(error)
        }
    }

    private func body(
        for entry: JournalEntry, _ request: OrderRequest, as caller: UserID
    ) -> OpenOrderBody {
        let proof = entry.idProof(for: caller)
        return OpenOrderBody(
            id: entry.id, productId: entry.productID.text, quantity: entry.quantity,
            deviceId: request.device, preview: request.preview, metadata: request.metadata, idNonce: proof?.nonce,
            idUserId: proof?.user?.text, phoneId: phoneID)
    }

    private func refused(_ entry: JournalEntry, _ refusal: ServerRefusal) async -> PurchaseError {
        // The next tap creates a new order, after a valid sign-in. On a full disk this order stays prepared.
        _ = try? await journal.move(entry.id, to: .failed, at: effects.clock(), reason: refusal.code)
        return .refused(entry.id, refusal)
    }

    // MARK: Results of the store without a payment

    /// The buyer cancelled, or another person did not approve the purchase. If the order turns out to be paid, it is
    /// completed nevertheless.
    package func cancelled(_ id: OrderID, reason: String) async throws(JournalError) {
        let wasDeferred = await journal[id]?.status == .deferred
        try await close(id, as: .cancelled, wasDeferred ? PendingReason.notApproved.code : reason)
    }

    /// The store refused the payment.
    package func failed(_ id: OrderID, reason: String) async throws(JournalError) {
        try await close(id, as: .failed, reason)
    }

    /// Closes an order whose payment was never requested. On a full disk it stays prepared.
    package func abandon(_ id: OrderID, because reason: String) async {
        _ = try? await journal.move(id, to: .failed, at: effects.clock(), reason: reason)
    }

    /// Another person must approve the purchase (Ask to Buy).
    package func deferred(_ id: OrderID) async throws(JournalError) {
        try await close(id, as: .deferred, PendingReason.deferred.code)
    }

    /// Ends orders whose approval can no longer come. StoreKit 2 does not report a refusal, and StoreKit 1 need not.
    func endUnapproved() async {
        for id in await unapproved() { try? await cancelled(id, reason: PendingReason.notApproved.code) }
    }

    /// Orders that have been deferred for longer than Apple keeps the request.
    func unapproved() async -> [OrderID] {
        await journal.deferred(before: effects.clock().adding(seconds: -Self.approvalPeriod))
    }

    /// In seconds. Apple's request to a parent ends after 24 hours; the hour is for an answer that arrives late.
    private static let approvalPeriod: Int64 = 25 * 3_600

    private func close(_ id: OrderID, as status: OrderStatus, _ reason: String) async throws(JournalError) {
        let short = String(decoding: reason.utf8.prefix(400), as: UTF8.self)
        let entry = try await journal.move(id, to: status, at: effects.clock(), reason: short)
        // The buyer does not wait for it. If it does not get through, the next comparison sends it again.
        effects.spawn { await self.report(entry) }
    }

    /// Opens an order again that a server restored from a backup has lost: what was paid under it is granted.
    ///
    /// - Returns: whether the server did not have it.
    func reopen(_ entry: JournalEntry, as session: UserSession) async -> Bool {
        let proof = entry.idProof(for: session.userID)
        let body = OpenOrderBody(
            id: entry.id, productId: entry.productID.text, quantity: entry.quantity, deviceId: entry.device,
            preview: nil, metadata: nil, idNonce: proof?.nonce, idUserId: proof?.user?.text, phoneId: phoneID)
        return (try? await server.post(Paths.orders, body, as: session, expecting: OrderReply.self)) != nil
    }

    /// Tells the server the status of an order without a payment. Only the order's own user may.
    func report(_ entry: JournalEntry) async {
        guard entry.isOpened, let path = entry.reportPath, let session = await server.session(),
            session.userID == entry.userID
        else { return }
        let body = OrderReasonBody(reason: entry.history.last?.reason)
        _ = try? await server.post(path, body, as: session, expecting: OrderReply.self)
    }
}

extension JournalEntry {
    /// Where the server takes a report of the status; nil for a status that only the server decides.
    fileprivate var reportPath: String? {
        switch status {
        case .cancelled: Paths.cancel(id)
        case .failed: Paths.fail(id)
        case .deferred: Paths.defer(id)
        case .prepared, .ongoing, .completed, .refunded: nil
        }
    }
}
