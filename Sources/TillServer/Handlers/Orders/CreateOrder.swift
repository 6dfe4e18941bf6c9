import TillAPI
import TillBilling
import TillHTTP
import TillLedger
import TillSQL

extension Server {
    /// `POST /v1/orders?environment=`: opens an order before payment. A repeated id returns the same order.
    func createOrder(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(OpenOrderBody.self)
        let buyer = try call.credential.buyer(naming: body.userId)
        try await ledger.requireKnownForm(of: buyer, "userId")
        guard let product = configuration.catalog[ProductID(body.productId)], product.type != .freeSubscription else {
            throw RefusalError(.unknownProduct)
        }
        let quantity = body.quantity ?? 1
        guard quantity == 1 || product.type.allowsQuantity else { throw RefusalError(.quantityNotAllowed) }
        let (price, overflow) = product.price.amount.multipliedReportingOverflow(by: Int64(quantity))
        guard !overflow else { throw RefusalError(.quantityNotAllowed) }
        let phone = body.phoneId.map(DeviceID.init)
        let plan = Plan(soldBy: product)
        let device = body.deviceId.map(DeviceID.init) ?? (plan?.scope == .device ? phone : nil)
        try plan?.requireDevice(device)
        let metadata = try body.metadata.map(Self.text)
        let inputs = ledger.intake.processor.inputs()
        let now = inputs.now
        let chosen = try chosenID(body, for: buyer, call, at: now)
        let order = Order(
            id: chosen.id, userID: buyer, productID: product.id,
            quantity: quantity, price: Money(amount: price, currency: product.price.currency), deviceID: device,
            preview: body.preview.map { OrderPreview(at: $0.at, expiresAt: $0.expiresAt) }, metadata: metadata,
            createdAt: now, updatedAt: now, idSource: chosen.source ?? .unproven, phoneID: phone)
        if let preview = body.preview {
            try await check(preview, of: order, for: product, in: try call.environment(for: buyer, configuration))
        }

        if case .user = call.credential { try await checkQuota(of: buyer, opening: order.id, at: now) }

        let kind = call.kind ?? configuration.guests.kind(named: buyer)
        let version = try await ledger.recordCatalog()
        let erasures = ledger.erasedCustomers.withLock { $0 }
        let (isRecorded, terms) = (
            recordedCustomers.contains(buyer, as: kind, after: erasures), configuration.guests
        )
        let (found, isNew) = try await database.write(locking: [.order(order.id), .customer(buyer)]) {
            [self] connection -> (OrderView, Bool) in
            let orders = OrderTable(connection)
            if let existing = try orders.find(order.id), chosen.source != nil || existing.order.userID == buyer {
                return (try OrderView(existing, connection), false)
            }
            try CustomerTable(connection).requireUnmerged(buyer)
            if !isRecorded { try CustomerTable(connection).record(buyer, as: kind, under: terms, at: now) }
            try check(chosen, of: buyer, connection)
            let stored = try orders.insert(order, reason: OrderTable.openedReason, catalogVersion: version)
            try ledger.intake.processor.release(paidUnder: order.id, inputs.begin(), connection)
            let opened = try orders.find(order.id) ?? stored
            return (try OrderView(opened, connection), true)
        }
        inputs.finish()
        if isNew { recordedCustomers.insert(buyer, as: kind) }
        guard isNew || found.order.isSame(as: order) else { throw RefusalError(.orderConflict) }
        return JSONText.response(isNew ? 201 : 200, text: found.reply(in: configuration.catalog).encoded)
    }

    /// Limits the orders that a user token opens, because each is a permanent row. A repeated id opens none. The check
    /// reads before the write and keeps the writer free, so concurrent requests may exceed the limit by a few.
    func checkQuota(of user: UserID, opening id: OrderID, at now: Instant) async throws {
        let (terms, anHourAgo) = (configuration.orders, now.adding(seconds: -3_600))
        let refused = try await database.read { connection -> RefusalError? in
            let orders = OrderTable(connection)
            guard try orders.find(id) == nil else { return nil }
            if let oldest = try orders.opened(by: user, number: terms.perHour), oldest > anHourAgo {
                let wait = max(1, oldest.seconds + 3_600 - now.seconds)
                return RefusalError(
                    .tooManyOrders, "at most \(terms.perHour) orders an hour", zh: "每小时最多 \(terms.perHour) 个订单",
                    retryAfter: wait)
            }
            guard try orders.hasOpen(terms.maximumOpen, of: user) else { return nil }
            return RefusalError(
                .tooManyOrders, "at most \(terms.maximumOpen) open orders", zh: "最多同时有 \(terms.maximumOpen) 个未完成的订单",
                retryAfter: 3_600)
        }
        if let refused { throw refused }
    }

    /// Checks that a purchase now has the result that the preview showed. The preview is a function of the purchases
    /// before its moment, so it is computed again rather than stored. An existing order was checked when it was opened.
    private func check(
        _ preview: OpenOrderBody.Preview, of order: Order, for product: CatalogProduct, in environment: StoreEnvironment
    ) async throws {
        guard let plan = Plan(soldBy: product) else {
            throw RefusalError(
                .invalidField, "preview: the product sells no plan with a length of time", zh: "preview：此商品不含有期限的套餐")
        }
        guard preview.price == nil || preview.price == order.price else {
            throw RefusalError(.previewChanged, "price: is now \(order.price)", zh: "price：现为 \(order.price)")
        }
        let purchases = try await database.read { [catalogs] connection in
            try OrderTable(connection).find(order.id) == nil
                ? try PlanHistory.purchases(of: order.userID, in: environment, catalogs, connection) : nil
        }
        guard let purchases else { return }
        let now = PlanHistory.next(after: purchases, at: order.createdAt)
        guard preview.at <= now, now <= preview.at.adding(seconds: PlanPurchase.previewLife) else {
            throw RefusalError(.previewChanged, "preview.at: at most 24 hours ago", zh: "preview.at：不能早于 24 小时前")
        }
        let proration = Service.proration(
            of: PlanPurchase(
                plan: plan, quantity: order.quantity, paid: nil, at: now, previewedAt: preview.at,
                deviceID: order.deviceID), among: purchases)
        guard proration.expiresAt == preview.expiresAt else {
            throw RefusalError(
                .previewChanged, "expiresAt: is now \(proration.expiresAt)", zh: "expiresAt：现为 \(proration.expiresAt)")
        }
    }

    private static func text(_ metadata: Metadata) throws -> String {
        let text = JSONText.encode(metadata)
        guard text.count <= Metadata.maximumSize else {
            throw RefusalError(
                .invalidField, "metadata: at most \(Metadata.maximumSize) bytes",
                zh: "metadata：最多 \(Metadata.maximumSize) 字节")
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// An order with its history and the price paid, read in one snapshot.
struct OrderView: Sendable {
    let order: Order
    let moves: [OrderMove]
    let paid: Money?

    init(_ stored: OrderTable.Stored, _ connection: any Connection) throws {
        order = stored.order
        moves = try OrderTable(connection).moves(of: stored)
        paid = try TransactionTable(connection).price(of: stored.order)
    }

    func reply(in catalog: Catalog) -> OrderReply {
        let metadata = order.metadata.flatMap { try? JSONText.decode(Metadata.self, from: Array($0.utf8)) }
        return OrderReply(order, of: catalog[order.productID], paid: paid, metadata: metadata, history: moves)
    }
}

/// The id of an order that is being opened, and the source of the id.
struct ChosenOrderID: Sendable {
    let id: OrderID
    /// Nil if an app chose the id without a proof; such an id opens no order.
    let source: OrderIDSource?
    /// The user the id commits to, if other than the caller: a guest, who must be merged into the caller's account.
    var guest: UserID?
}

extension Server {
    /// With a user token, the id is a commitment to the caller or the server's choice. A backend may choose any id.
    func chosenID(_ body: OpenOrderBody, for buyer: UserID, _ call: Call, at now: Instant) throws -> ChosenOrderID {
        if let id = body.id, id.isNilOrMaximum {
            throw RefusalError(.invalidField, "id: must not be the nil or the max UUID", zh: "id：不能是全零或全 F 的 UUID")
        }
        if let number = body.orderNumber {
            guard body.id == nil, body.idNonce == nil else {
                throw RefusalError(
                    .invalidField, "orderNumber: not allowed beside id or idNonce",
                    zh: "orderNumber：不能与 id 或 idNonce 同时使用")
            }
            return ChosenOrderID(id: OrderIDCommitment(user: buyer, orderNumber: number).id, source: .proven)
        }
        guard let id = body.id else {
            return ChosenOrderID(id: call.repeatableID ?? UniqueID(random: entropy(16)), source: .server)
        }
        if let nonce = body.idNonce {
            let user = try body.idUserId.map(InputLimits.user) ?? buyer
            if OrderIDCommitment(user: user, nonce: nonce).id == id {
                return ChosenOrderID(id: id, source: .proven, guest: user == buyer ? nil : user)
            }
        }
        switch call.credential {
        case .backend: return ChosenOrderID(id: id, source: .secretKey)
        case .user, .anonymous:
            #if PLANTED_MISTAKES
                if PlantedMistake.acceptsUnprovenIDs.isPlanted { return ChosenOrderID(id: id, source: .proven) }
            #endif
            let isAccepted = configuration.orders.acceptsUnprovenIDs(at: now)
            return ChosenOrderID(id: id, source: isAccepted ? .unproven : nil)
        }
    }

    /// The checks of a new id that need the ledger.
    func check(_ chosen: ChosenOrderID, of buyer: UserID, _ connection: any Connection) throws {
        guard chosen.source != nil else { throw RefusalError(.orderIDUnproven) }
        if let guest = chosen.guest, try CustomerTable(connection).account(of: guest) != buyer {
            throw RefusalError(
                .orderIDUnproven, "idUserId: must be a guest who was merged into this account",
                zh: "idUserId：应为已并入此账户的游客")
        }
        #if PLANTED_MISTAKES
            if PlantedMistake.opensOrdersUnderAccountTokens.isPlanted { return }
        #endif
        guard try AccountTokenTable(connection).find(chosen.id) == nil else { throw RefusalError(.tokenInUse) }
    }
}
