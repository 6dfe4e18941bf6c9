import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

/// The parts of one notification that these tests read.
struct NotifiedEvent: Equatable {
    var type: String
    var subtype: String?
    var transaction: String?
    var account: String?

    var event: String { subtype.map { "\(type)/\($0)" } ?? type }
}

extension EmulatedWorld {
    static let app = "com.example.learnpoints"

    /// A store with shareable products and offers, and a URL for its notifications.
    static func withStore(directory: EmulatedWorld? = nil) async throws -> EmulatedWorld {
        var configuration = EmulatorConfiguration()
        configuration.products = sampleProducts
        let world = try await EmulatedWorld(
            configuration, directory: directory?.directory, start: directory?.now ?? EmulatedWorld.start)
        _ = await world.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/apple"])
        return world
    }

    static var sampleProducts: [StoreProduct] {
        func yuan(_ amount: Int64) -> [String: Money] { ["CHN": Money(amount: amount, currency: Currency("CNY"))] }
        var products = StoreProduct.sampleCatalog(bundleID: app)
        for index in products.indices {
            products[index].isFamilyShareable = products[index].id.text.hasSuffix("library")
            guard products[index].id.text.hasSuffix("points60") else { continue }
            products[index].offers = [
                ProductOffer(kind: .code, identifier: "half", discount: .oneTime, prices: yuan(300)),
                ProductOffer(kind: .code, identifier: "dear", discount: .oneTime, prices: yuan(600)),
            ]
        }
        var shared = StoreProduct(
            id: ProductID("\(app).family.monthly"), kind: .autoRenewable, name: "Family, monthly", prices: yuan(3_000),
            subscription: SubscriptionTerms(groupID: "21000002", period: .month))
        shared.isFamilyShareable = true
        shared.offers = ["back", "stay"].map {
            ProductOffer(
                kind: .promotional, identifier: $0, discount: .payAsYouGo, period: OfferPeriod(.month),
                prices: yuan(1_000))
        }
        return products + [shared]
    }

    /// The notifications since the last call, in order.
    func notified() async throws -> [NotifiedEvent] {
        let before = notifications.count
        await emulator.sendDueNotifications()
        return try notifications.dropFirst(before).map { received in
            let body = try payload(of: received.signedPayload)
            let inner = try payload(of: body["data"]?["signedTransactionInfo"]?.string)
            return NotifiedEvent(
                type: body["notificationType"]?.string ?? "", subtype: body["subtype"]?.string,
                transaction: inner["transactionId"]?.string, account: inner["inAppOwnershipType"]?.string)
        }
    }

    func events() async throws -> [String] { try await notified().map(\.event) }

    func identifier(_ transaction: JSONValue) throws -> String { try #require(transaction["transactionId"]?.string) }

    @discardableResult
    func post(_ id: String, _ deed: String, _ body: JSONValue = [:]) async -> (status: Int, json: JSONValue) {
        let answer = await ask(.post, "/emulator/transactions/\(id)/\(deed)", body)
        return (answer.status, answer.json)
    }

    @discardableResult
    func put(account: String, _ body: JSONValue) async -> (status: Int, json: JSONValue) {
        let answer = await ask(.put, "/emulator/accounts/\(account)", body)
        return (answer.status, answer.json)
    }

    func leaveFamily(_ account: String) async { _ = await ask(.post, "/emulator/accounts/\(account)/leaveFamily") }

    /// All transactions of an account, oldest first.
    func transactions(of account: String, state: String? = nil) async -> [JSONValue] {
        var query: [(name: String, value: String)] = [("account", account), ("limit", "100")]
        if let state { query.append(("state", state)) }
        return await ask(.get, "/emulator/transactions", query: query).json["data"]?.array ?? []
    }

    /// The answer to a purchase request, whatever it is.
    func tryToBuy(_ product: String, _ more: [String: JSONValue] = [:]) async -> (status: Int, json: JSONValue) {
        var body: [String: JSONValue] = ["bundleId": .string(Self.app), "productId": .string("\(Self.app).\(product)")]
        body.merge(more) { _, new in new }
        let answer = await ask(.post, "/emulator/purchases", .object(body))
        return (answer.status, answer.json)
    }
}
