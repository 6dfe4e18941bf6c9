import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillJSON
import TillThreads

@testable import TillEmulator

/// One of the year's customers.
final class YearCustomer: Sendable {
    let name: String
    let story: String
    /// The organizer of the family that the customer may join.
    let host: String
    let storefront: String
    /// The acts by day.
    let acts: [YearStories.Action]
    /// The waiting purchase, if there is one.
    let waiting = Locked<Int64?>(nil)

    /// Whether the customer acts at random too.
    let isWalker: Bool

    init(_ name: String, story: String, isWalker: Bool, host: String, storefront: String, acts: [YearStories.Action]) {
        self.name = name
        self.story = story
        self.isWalker = isWalker
        self.host = host
        self.storefront = storefront
        self.acts = acts
    }
}

/// The app's and its server's part in a customer's acts.
struct YearApp: Sendable {
    /// The token of a purchase made by a verb; nil for none.
    var token: @Sendable (YearWorld, YearCustomer, _ verb: String, PurchaseRequest) async throws -> UniqueID? = {
        world, customer, verb, _ in
        verb == "buy" && customer.name.hasSuffix("1") ? UniqueID(random: world.entropy.bytes(16)) : nil
    }

    /// The token that the developer's server sets on a subscription.
    var newToken: @Sendable (YearWorld, YearCustomer, StoreSubscription) async throws -> UniqueID = { world, _, _ in
        UniqueID(random: world.entropy.bytes(16))
    }

    /// Called before an account is deleted, which hides its data.
    var willClose: @Sendable (YearWorld, YearCustomer) async throws -> Void = { _, _ in }
}

/// The acts of customers, banks and the developer in the year's stories.
struct YearActions {
    let world: YearWorld
    let app: YearApp

    private var store: Store { world.store }

    /// - Returns: why it was refused; nil if it succeeded.
    func perform(_ action: YearStories.Action, by customer: YearCustomer) async throws -> String? {
        world.passes(7_003)
        let words = action.words
        switch action.verb {
        case "buy", "promo", "token-promo", "code", "winback", "word":
            return try await buy(action, by: customer)
        case "outside":
            let code = try await makeCode(words[0], words[1])
            return try await bought(
                store.redeem(code, account: customer.name, bundleID: YearCatalogue.bundleID), customer)
        case "approve", "decline":
            guard let number = customer.waiting.withLock({ $0 }) else { return "nothing waits" }
            return refusal(try await store.decide(number, approved: action.verb == "approve"))
        case "found", "join", "leave", "card", "parent", "move", "delete":
            return try await changeAccount(action, of: customer)
        case "refundonce", "reverseonce", "finish": return try await actOnce(action, of: customer)
        case "ask" where !["club", "home", "extra"].contains(words[0]):
            guard let bought = try await lastBought(words[0], by: customer) else { return "nothing to ask for" }
            return try await ask(bought, answer: words[1])
        default:
            let known = try await world.subscription(of: customer.name, words.first ?? "")
            if action.verb == "change" { return try await change(to: words[0], by: customer) }
            guard let known else { return "no subscription" }
            return try await changeSubscription(action, known, of: customer)
        }
    }

    private func refusal<Value>(_ result: Result<Value, StoreRefusal>) -> String? {
        if case .failure(let refusal) = result { return refusal.code }
        return nil
    }

    private func bought(_ result: Result<PurchaseResult, StoreRefusal>, _ customer: YearCustomer) -> String? {
        switch result {
        case .failure(let refusal): return refusal.code
        case .success(.failed): return "failed"
        case .success(.cancelled): return "cancelled"
        case .success(.waiting(let transaction)):
            customer.waiting.withLock { $0 = transaction.number }
            return nil
        case .success(.purchased), .success(.ownedAlready), .success(.scheduled): return nil
        }
    }

    // MARK: Purchases

    private func buy(_ action: YearStories.Action, by customer: YearCustomer) async throws -> String? {
        let product = ProductID(action.words[0])
        let more = action.words.count > 1 ? action.words[1] : ""
        var request = PurchaseRequest(bundleID: YearCatalogue.bundleID, productID: product)
        request.account = customer.name
        switch action.verb {
        case "buy":
            if let outcome = PurchaseRequest.Outcome(rawValue: more) { request.outcome = outcome }
            if let quantity = Int64(more) { request.quantity = quantity }
        case "promo":
            let signed = try world.signer.signature(for: try PromotionalOffer(productID: product, offerID: more))
            let paper = OfferSignature.classic(
                keyIdentifier: signed.keyID, nonce: signed.nonce, timestamp: signed.timestamp.milliseconds,
                signature: signed.signature)
            request.offer = .promotional(identifier: more, signature: paper)
        case "token-promo":
            let token = try world.signer.token(for: try PromotionalOffer(productID: product, offerID: more))
            request.offer = .promotional(identifier: more, signature: .jws(token))
        case "code": request.offer = .code(try await makeCode(product.text, more))
        case "winback": request.offer = .winBack(identifier: more)
        default:
            let known = try await world.transactions(of: customer.name).first { $0.state == .purchased }
            request.introductoryEligibility = try world.signer.token(
                for: try IntroductoryEligibility(
                    productID: product, isAllowed: more == "yes", transactionID: try #require(known).id))
        }
        request.appAccountToken = try await app.token(world, customer, action.verb, request)
        return bought(try await store.purchase(request), customer)
    }

    private func makeCode(_ product: String, _ offer: String) async throws -> String {
        let codes = try await store.makeOfferCodes(
            .oneTime(count: 1), offer: offer, productID: ProductID(product), bundleID: YearCatalogue.bundleID,
            expires: nil
        ).get()
        return try #require(codes.first)
    }

    private func change(to product: String, by customer: YearCustomer) async throws -> String? {
        let group = YearCatalogue.products.first { $0.id.text == product }?.subscription?.groupID
        guard let known = try await world.subscription(of: customer.name, group ?? "") else {
            return "no subscription"
        }
        return bought(try await store.changePlan(known.original, to: ProductID(product)), customer)
    }

    // MARK: The account

    private func changeAccount(_ action: YearStories.Action, of customer: YearCustomer) async throws -> String? {
        var change = AccountChange()
        switch action.verb {
        case "found", "join": change.family = customer.host
        case "card": change.paymentMethodWorks = action.words[0] == "on"
        case "parent": change.asksToBuy = action.words[0] == "on"
        case "move": change.storefront = action.words[0]
        case "delete":
            try await app.willClose(world, customer)
            change.isDeleted = true
        default: return refusal(try await store.leaveFamily(customer.name))
        }
        return refusal(try await store.changeAccount(customer.name, change))
    }

    // MARK: One-time purchases

    private func lastBought(_ product: String, by customer: YearCustomer) async throws -> StoreTransaction? {
        try await world.transactions(of: customer.name).last {
            $0.productID.text == product && $0.state == .purchased && $0.sharedFrom == nil
        }
    }

    private func actOnce(_ action: YearStories.Action, of customer: YearCustomer) async throws -> String? {
        if action.verb == "finish" {
            for transaction in try await world.transactions(of: customer.name)
            where transaction.state == .purchased && !transaction.isFinished {
                let (status, _) = try await world.api(
                    .post, "/inApps/v1/transactions/\(transaction.number)/finish")
                guard status == 200 else { return "finish was answered with \(status)" }
            }
            return nil
        }
        guard let bought = try await lastBought(action.words[0], by: customer) else { return "nothing bought" }
        return action.verb == "refundonce"
            ? refusal(try await store.refund(bought.number))
            : refusal(try await store.reverseRefund(bought.number))
    }

    /// The customer requests a refund, and the developer's server answers within twelve hours, or not at all.
    private func ask(_ transaction: StoreTransaction, answer: String) async throws -> String? {
        let result = try await store.requestRefund(transaction.number, reason: .unsatisfiedWithPurchase)
        if let code = refusal(result) { return code }
        world.passes(3_000)
        var body: [String: JSONValue] = [
            "customerConsented": true, "deliveryStatus": "DELIVERED", "sampleContentProvided": false,
        ]
        switch answer {
        case "none": return nil
        case "decline": body["refundPreference"] = "DECLINE"
        case "full": body["refundPreference"] = "GRANT_FULL"
        default:
            body["refundPreference"] = "GRANT_PRORATED"
            if transaction.subscription == nil { body["consumptionPercentage"] = 25_000 }
        }
        let (status, json) = try await world.api(
            .put, "/inApps/v2/transactions/consumption/\(transaction.number)", .object(body))
        return status == 202 ? nil : json.encoded()
    }

    // MARK: Subscriptions

    private func changeSubscription(
        _ action: YearStories.Action, _ known: StoreSubscription, of customer: YearCustomer
    ) async throws -> String? {
        let original = known.original
        let word = action.words.count > 1 ? action.words[1] : ""
        switch action.verb {
        case "cancel": return refusal(try await store.cancelSubscription(original))
        case "resume": return refusal(try await store.resumeSubscription(original))
        case "fail": return refusal(try await store.failBilling(original))
        case "recover": return refusal(try await store.recover(original))
        case "answer": return refusal(try await store.answerPriceIncrease(original, accepts: word == "yes"))
        case "raise":
            guard let old = known.renewalPrice, let step = Int64(word) else { return "no price" }
            let price = Money(amount: old.amount + step, currency: old.currency)
            return refusal(
                try await store.raisePrice(of: original, to: price, needsConsent: action.words.last == "ask"))
        case "refund":
            return refusal(try await store.refund(known.current, word == "unused" ? .unusedTime : .full))
        case "reverse": return refusal(try await store.reverseRefund(known.current))
        case "refundolder": return refusal(try await store.refund(original, .full))
        case "reverseolder": return refusal(try await store.reverseRefund(original))
        case "ask":
            guard let current = try await store.transaction(known.current) else { return "no transaction" }
            return try await ask(current, answer: word)
        case "token":
            let token = try await app.newToken(world, customer, known).description
            let (status, json) = try await world.api(
                .put, "/inApps/v1/transactions/\(original)/appAccountToken", ["appAccountToken": .string(token)])
            return status == 200 ? nil : json.encoded()
        case "extend":
            let (status, json) = try await world.api(
                .put, "/inApps/v1/subscriptions/extend/\(original)",
                [
                    "extendByDays": .int(Int64(word) ?? 1), "extendReasonCode": 1,
                    "requestIdentifier": .string("\(original)-\(action.day)"),
                ])
            return status == 200 ? nil : json.encoded()
        default: return "no such act: \(action.verb)"
        }
    }
}
