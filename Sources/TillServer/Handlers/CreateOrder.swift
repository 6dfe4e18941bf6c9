import TillAPI
import TillBilling
import TillHTTP
import TillStorage

extension Server {
    /// `POST /v1/orders`: opens an order before any money moves (O1). The same id again is the same order.
    func createOrder(_ call: Call) async throws -> HTTPResponse {
        let body = try JSONText.decode(OpenOrderBody.self, from: call.request.body)
        let buyer = try call.credential.buyer(naming: body.userId)
        guard let product = configuration.catalog[ProductID(body.productId)], product.type != .freeSubscription else {
            throw Refused(.unknownProduct)
        }
        let quantity = body.quantity ?? 1
        guard (1...10).contains(quantity), quantity == 1 || product.type.allowsQuantity else {
            throw Refused(.quantityNotAllowed)
        }
        let (price, overflow) = product.price.amount.multipliedReportingOverflow(by: Int64(quantity))
        guard !overflow else { throw Refused(.quantityNotAllowed) }
        let device = try body.deviceId.map { try Bounds.string($0, "deviceId", 128) }
        let metadata = try body.metadata.map(Self.text)
        let now = clock()
        let order = Order(
            id: body.id ?? call.repeatableID ?? UniqueID(random: entropy(16)), userID: buyer, productID: product.id,
            quantity: quantity, price: Money(amount: price, currency: product.price.currency), deviceID: device,
            metadata: metadata, createdAt: now, updatedAt: now)

        let (found, isNew) = try await database.write { session -> (OrderView, Bool) in
            let orders = OrderTable(session)
            if let existing = try orders.find(order.id) {
                return (OrderView(existing.order, try orders.moves(of: existing.sequence)), false)
            }
            let stored = try orders.insert(order, reason: "opened")
            return (OrderView(stored.order, try orders.moves(of: stored.sequence)), true)
        }
        guard
            isNew
                || found.order.isSame(
                    user: buyer, product: product.id, quantity: quantity, device: device, metadata: metadata)
        else { throw Refused(.orderConflict) }
        return JSONText.response(isNew ? 201 : 200, found.reply)
    }

    private static func text(_ metadata: Metadata) throws -> String {
        let text = JSONText.encodeSorted(metadata)
        guard text.count <= Metadata.maximumSize else {
            throw Refused(.invalidField, "metadata: at most \(Metadata.maximumSize) bytes")
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// An order with its history, as read in one snapshot.
struct OrderView: Sendable {
    let order: Order
    let moves: [OrderMove]

    init(_ order: Order, _ moves: [OrderMove]) {
        self.order = order
        self.moves = moves
    }

    var reply: OrderReply {
        let metadata = order.metadata.flatMap { try? JSONText.decode(Metadata.self, from: Array($0.utf8)) }
        return OrderReply(order, metadata: metadata, history: moves)
    }
}
