import Foundation
import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("What a purchase asks of the App Store") struct PurchaseTermsTests {
    private static let number = UniqueID(high: 8, low: 8)

    /// The server's reply to the app's backend.
    private static func offer(
        _ product: String = "points.60", form: OfferForm = .classic, account: String? = number.description,
        signature: String? = "c2ln", token: String? = "e30.e30.c2ln"
    ) -> Data {
        var reply = PromotionalOfferReply(form: form, productId: product, offerId: "spring")
        if form == .classic {
            (reply.keyId, reply.nonce, reply.timestamp) = ("KEY", UniqueID(high: 3, low: 4), 5)
            (reply.signature, reply.account) = (signature, account)
        } else {
            reply.compactJWS = token
        }
        return (try? JSONEncoder().encode(reply)) ?? Data()
    }

    private static func reply(_ status: OrderStatus = .prepared, transaction: String? = nil) -> TransportResponse {
        var order = Order(
            id: number, userID: UserID("ann"), productID: ProductID("points.60"), quantity: 1,
            price: Money(amount: 600, currency: Currency("CNY")), createdAt: Instant(seconds: 1),
            updatedAt: Instant(seconds: 1))
        order.status = status
        order.transactionID = transaction.map(TransactionID.init)
        return PretendWorld.json(200, OrderReply(order, metadata: nil, history: []))
    }

    private func opened(_ world: PretendWorld, _ reply: TransportResponse = reply()) {
        world.state.withLock { state in
            state.orders[Self.number] = (UserID("ann"), "points.60", 1)
            state.pages["GET \(Paths.order(Self.number))"] = reply
        }
    }

    private func refusal(
        _ store: TillStore, _ options: PurchaseOptions, of product: String = "points.60"
    ) async throws -> TillError {
        let result: PurchaseResult
        do throws(TillError) { result = try await store.purchase(product, options: options) } catch { return error }
        throw Unexpected("\(result)")
    }

    private static func isUncharged(_ error: TillError) -> Bool {
        error.message(in: "en").hasSuffix(" Nothing was charged.") && error.message(in: "zh").hasSuffix("本次未扣款。")
    }

    // MARK: Offers that the backend requested

    @Test("The signature that the backend requested for its order goes to the store; the server isn't asked for one")
    func signed() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        opened(world)
        var options = PurchaseOptions()
        (options.order, options.signedOffer) = (Self.number.description.uppercased(), Self.offer())
        // The same offer by its name is no second one.
        options.promotionalOffer = "spring"
        #expect(try await store.purchase("points.60", options: options).order?.status == .completed)
        let form = SignedOffer.Form.classic(
            keyID: "KEY", nonce: UniqueID(high: 3, low: 4), timestamp: 5, signature: "c2ln")
        #expect(world.shop.now.sheetsShown.map(\.terms.offer) == [SignedOffer(id: "spring", form: form)])
        #expect(!world.state.now.requests.contains("POST \(Paths.promotionalOffers)"))
        await world.end(store)
    }

    @Test("A JWS names no order, so it goes to the store with a new one")
    func token() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        var options = PurchaseOptions()
        options.signedOffer = Self.offer(form: .jws)
        #expect(try await store.purchase("points.60", options: options).order?.status == .completed)
        #expect(world.shop.now.sheetsShown.first?.terms.offer == SignedOffer(id: "spring", form: .jws("e30.e30.c2ln")))
        await world.end(store)
    }

    @Test(
        "A signature for another product or order, or none at all, is refused before any request",
        arguments: [
            offer("points.300"), offer(account: UniqueID(high: 9, low: 9).description), offer(account: ""),
            offer(account: nil), offer(signature: nil), offer(form: .jws, token: nil), offer(form: .jws, token: "e30"),
            Data("{}".utf8), Data(),
        ])
    func foreign(_ offer: Data) async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        opened(world)
        var options = PurchaseOptions()
        (options.order, options.signedOffer) = (Self.number.description, offer)
        let error = try await refusal(store, options)
        #expect(error.code.rawValue == "store_invalid_offer_signature" && Self.isUncharged(error))
        #expect(world.state.now.requests.isEmpty && world.shop.now.sheetsShown.isEmpty && world.file.bytes.isEmpty)
        await world.end(store)
    }

    @Test("A signature in the classic form needs its order, and the offer that the app names beside it")
    func orderless() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        opened(world)
        var options = PurchaseOptions()
        options.signedOffer = Self.offer()
        #expect(try await refusal(store, options).code.rawValue == "store_invalid_offer_signature")
        (options.order, options.promotionalOffer) = (Self.number.description, "autumn")
        #expect(try await refusal(store, options).code.rawValue == "store_invalid_offer_signature")
        #expect(world.state.now.requests.isEmpty)
        await world.end(store)
    }

    // MARK: Offers that the kit requests

    @Test("A refused offer closes its order here and at the server; the next tap opens another order")
    func closed() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        let page = "POST \(Paths.promotionalOffers)"
        world.state.withLock { $0.pages[page] = PretendWorld.problem(.offerNotOpen, 403) }
        var options = PurchaseOptions()
        options.promotionalOffer = "spring"
        let error = try await refusal(store, options)
        #expect(error.code == .offerNotOpen && !error.isRetryable && error.requestID == "r-1")
        #expect(Self.isUncharged(error))
        let id = try #require(error.orderID.flatMap { OrderID($0) })
        #expect(await world.sees { world.state.now.requests.contains("POST \(Paths.fail(id))") })
        #expect(world.state.now.requests == ["POST \(Paths.orders)", page, "POST \(Paths.fail(id))"])
        #expect(try await store.purchase("points.60").order?.uuid != id)
        #expect(world.state.now.opened.map(\.id).count == 2)
        await world.end(store)
    }

    @Test("An offer that couldn't be requested is tried again; then its order is closed, as soon as the server is back")
    func away() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        var options = PurchaseOptions()
        options.promotionalOffer = "spring"
        world.state.withLock { state in
            state.onRequest = {
                // The line is cut after the order was opened.
                world.state.withLock { $0.isAway = !$0.opened.isEmpty }
            }
        }
        let error = try await refusal(store, options)
        #expect(error.code == .offline && error.isRetryable && Self.isUncharged(error))
        let id = try #require(error.orderID.flatMap { OrderID($0) })
        #expect(await world.sees { world.state.now.requests.contains("POST \(Paths.fail(id))") })
        let asked = world.state.now.requests.filter { $0 == "POST \(Paths.promotionalOffers)" }
        #expect(asked.count == OrderPreparation.attempts)
        #expect(await store.orders().map(\.status) == [.failed])

        let order = Order(
            id: id, userID: UserID("ann"), productID: ProductID("points.60"), quantity: 1,
            price: Money(amount: 600, currency: Currency("CNY")), createdAt: Instant(seconds: 1),
            updatedAt: Instant(seconds: 1))
        world.state.withLock { state in
            state.onRequest = {}
            state.isAway = false
            state.requests = []
            state.pages["GET \(Paths.orders(of: UserID("ann")))?limit=100"] = PretendWorld.json(
                200, Page(data: [OrderReply(order, metadata: nil, history: [])], hasMore: false, nextCursor: nil))
        }
        await store.checkOrderStatus()
        #expect(world.state.now.requests.filter { $0.hasPrefix("POST") } == ["POST \(Paths.fail(id))"])
        await world.end(store)
    }

    // MARK: What StoreKit lacks

    @Test(
        "An option that this device's StoreKit lacks is refused before an order is opened",
        arguments: [UnsupportedOption.offerToken, .introductoryEligibility, .billingPlan, .missingScene])
    func unsupported(_ option: UnsupportedOption) async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.shop.withLock { $0.unsupported = option }
        let error = try await refusal(store, PurchaseOptions())
        #expect(error.code.rawValue == (option == .missingScene ? "scene_required" : "option_not_supported"))
        #expect(!error.isRetryable && error.orderID == nil && Self.isUncharged(error))
        #expect(world.state.now.requests.isEmpty && world.shop.now.sheetsShown.isEmpty && world.file.bytes.isEmpty)
        await world.end(store)
    }

    @Test("StoreKit 1 takes the classic form of an offer and payment up front, and refuses the rest")
    func generations() async {
        var terms = PaymentTerms()
        let access = StoreAccess.storeKit1(PretendWorld().effects)
        let product = ProductID("points.60")
        #expect(await access.unsupported(terms, product) == nil)
        terms.billingPlan = .upFront
        terms.offer = SignedOffer(
            id: "a", form: .classic(keyID: "K", nonce: UniqueID(high: 1, low: 1), timestamp: 1, signature: ""))
        #expect(await access.unsupported(terms, product) == nil)
        terms.billingPlan = .monthly
        #expect(await access.unsupported(terms, product) == .billingPlan)
        terms.introductoryEligibility = "e30.e30.c2ln"
        #expect(await access.unsupported(terms, product) == .introductoryEligibility)
        terms.offer = SignedOffer(id: "a", form: .jws("e30.e30.c2ln"))
        #expect(await access.unsupported(terms, product) == .offerToken)
    }

    @Test("Introductory eligibility and billing plan reach the store; a text that is no JWS is refused")
    func passedOn() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        var options = PurchaseOptions()
        (options.introductoryEligibility, options.billingPlan) = ("e30.e30.c2ln", .monthly)
        #expect(try await store.purchase("points.60", options: options).order?.status == .completed)
        let terms = try #require(world.shop.now.sheetsShown.first?.terms)
        #expect(terms.introductoryEligibility == "e30.e30.c2ln" && terms.billingPlan == .monthly && terms.offer == nil)
        for text in ["", "e30.e30", "e30..c2ln", "e30.e30.c2ln.e30", "e 0.e30.c2ln"] {
            options.introductoryEligibility = text
            #expect(try await refusal(store, options).code.rawValue == "store_invalid_offer_signature")
        }
        #expect(world.shop.now.sheetsShown.count == 1)
        await world.end(store)
    }

    // MARK: Orders of the backend

    @Test("An order that waits for approval is answered as deferred, and not paid a second time")
    func deferred() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        opened(world)
        world.shop.withLock { $0.sheets = [.askToBuy] }
        var options = PurchaseOptions()
        options.order = Self.number.description
        for _ in 0..<2 {
            guard case .deferred(let order) = try await store.purchase("points.60", options: options) else {
                throw Unexpected("not deferred")
            }
            #expect(order.uuid == Self.number)
        }
        #expect(world.shop.now.sheetsShown.count == 1)
        await world.end(store)
    }

    @Test("An order that waits for approval on another device is refused: nothing is shown or charged")
    func deferredElsewhere() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        opened(world, Self.reply(.deferred))
        var options = PurchaseOptions()
        options.order = Self.number.description
        let error = try await refusal(store, options)
        #expect(error.code.rawValue == "deferred" && Self.isUncharged(error))
        #expect(world.shop.now.sheetsShown.isEmpty && world.file.bytes.isEmpty)
        await world.end(store)
    }

    @Test("An order whose sheet was closed here is not paid once another device has paid it")
    func paidElsewhere() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        opened(world)
        world.shop.withLock { $0.sheets = [.cancel] }
        var options = PurchaseOptions()
        options.order = Self.number.description
        guard case .cancelled = try await store.purchase("points.60", options: options) else {
            throw Unexpected("not cancelled")
        }
        opened(world, Self.reply(.completed, transaction: "5"))
        #expect(try await refusal(store, options).code == .unknownOrder)
        #expect(world.shop.now.sheetsShown.count == 1)
        await world.end(store)
    }

    // MARK: What a failed purchase says of money

    @Test("A purchase that fails before the sheet says that nothing was charged, through callbacks too")
    func uncharged() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        var options = PurchaseOptions()
        options.quantity = 11
        #expect(Self.isUncharged(try await refusal(store, options)))
        #expect(Self.isUncharged(try await refusal(store, PurchaseOptions(), of: "points.1")))
        world.state.withLock { $0.isAway = true }
        #expect(Self.isUncharged(try await refusal(store, PurchaseOptions())))
        let seen = Guarded<TillError?>(nil)
        store.purchase(
            "points.60",
            callbacks: PurchaseCallbacks(
                paid: { _ in }, deliveryPending: { _, _ in }, cancelled: { _ in },
                failed: { _, error in seen.withLock { $0 = error } }))
        #expect(await world.sees { seen.now != nil })
        #expect(seen.now.map(Self.isUncharged) == true)
        world.state.withLock { $0.isAway = false }
        world.shop.withLock { $0.canPay = false }
        #expect(Self.isUncharged(try await refusal(store, PurchaseOptions())))
        await store.signOut()
        #expect(Self.isUncharged(try await refusal(store, PurchaseOptions())))
        await world.end(store)
    }

    @Test("After the sheet it says so only if the payment certainly failed")
    func afterSheet() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        let certain: [AppStoreError] = [.ineligibleForOffer, .paymentNotAllowed, .notAvailable, .network(.offline)]
        let open: [AppStoreError] = [.unknown, .network(.timedOut), .system(domain: "a", code: 1), .laterCode(99)]
        for problem in certain + open {
            world.shop.withLock { $0.sheets = [.fail(problem)] }
            let error = try await refusal(store, PurchaseOptions())
            #expect(Self.isUncharged(error) == certain.contains(problem), "\(problem.code)")
        }
        await world.end(store)
    }
}
