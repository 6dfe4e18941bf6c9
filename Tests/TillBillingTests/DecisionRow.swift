import TillBilling

extension Substring {
    var trimmed: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
}

/// Builds facts from the words of a row.
struct DecisionRow {
    private let orderA = UniqueID(high: 0xA, low: 1)
    private let orderB = UniqueID(high: 0xB, low: 1)
    private let unknownOrder = UniqueID(high: 0xF, low: 1)
    private let product = CatalogProduct(
        id: ProductID("points60"), type: .consumable, names: LocalizedText(en: "60 points", zh: "60 学点"),
        price: Money(amount: 600, currency: Currency("CNY")), points: ["points": 60])
    private let words: [String]
    private let age: Int64

    init(_ words: [String], age: Int64 = 0) {
        self.words = words
        self.age = age
    }

    private func has(_ word: String) -> Bool { words.contains(word) }

    private func number(after prefix: String) -> Int64? {
        words.first { $0.hasPrefix(prefix) }.flatMap { Int64($0.dropFirst(prefix.count)) }
    }

    private func at(_ seconds: Int64) -> Instant { Instant(seconds: 1_000_000_000 - age + seconds) }

    private var order: Order {
        let status = words.first { $0.hasPrefix("order status ") }.flatMap {
            OrderStatus(name: String($0.dropFirst(13)))
        }
        let held = words.first { $0.hasPrefix("order holds ") }.map { TransactionID(String($0.dropFirst(12))) }
        let opened = at(has("opened later") ? 401 : has("opened soon after") ? 400 : 90)
        return Order(
            id: orderA, userID: UserID("A"), productID: ProductID(has("order product other") ? "other" : "points60"),
            quantity: Int(number(after: "order quantity ") ?? 1),
            status: status ?? (held == nil ? .prepared : .completed),
            price: product.price, transactionID: held, environment: held == nil ? nil : .sandbox, createdAt: opened,
            updatedAt: opened)
    }

    private var caller: Caller {
        if has("by B") { return .user(UserID("B")) }
        if has("by apple") { return .apple }
        if has("by backend") { return .backend(keyID: "k", naming: nil) }
        if has("by backend naming A") { return .backend(keyID: "k", naming: UserID("A")) }
        if has("by backend naming B") { return .backend(keyID: "k", naming: UserID("B")) }
        return .user(UserID("A"))
    }

    private var token: AppAccountToken? {
        if has("token OA") { return .order(orderA) }
        if has("token unknown") { return .order(unknownOrder) }
        if has("token OA too old") { return .order(orderA) }
        if account != nil { return .order(unknownOrder) }
        return has("token unreadable") ? .unreadable : nil
    }

    private var account: UserID? {
        words.first { $0.hasPrefix("account of ") }.map { UserID(String($0.dropFirst(11))) }
    }

    private var recorded: RecordedTransaction? {
        let grant = Grant(
            id: UniqueID(high: 1, low: 1), environment: .sandbox, transactionID: TransactionID("T"), orderID: orderA,
            userID: UserID("A"), productID: product.id, quantity: 1,
            points: [GrantedPoints(currency: "points", amount: 60)], entitlement: nil, at: at(106))
        if let signed = number(after: "granted at ") {
            return RecordedTransaction(state: .granted, newest: copy(signed, isRevoked: false), grant: grant)
        }
        if let signed = number(after: "taken back at ") {
            return RecordedTransaction(state: .revoked, newest: copy(signed, isRevoked: true), grant: grant)
        }
        if let signed = number(after: "never granted but revoked at ") {
            return RecordedTransaction(state: .revoked, newest: copy(signed, isRevoked: true), grant: nil)
        }
        if let signed = number(after: "quarantined at ") {
            return RecordedTransaction(state: .quarantined, newest: copy(signed, isRevoked: false), grant: nil)
        }
        return nil
    }

    private func copy(_ signed: Int64, isRevoked: Bool) -> SignedCopy {
        SignedCopy(transaction(signed: signed, isRevoked: isRevoked, isFromReceipt: false))
    }

    private func transaction(signed: Int64, isRevoked: Bool, isFromReceipt: Bool) -> PaidTransaction {
        let began = number(after: "chain began at ")
        var terms = TransactionTerms(type: has("lasts") ? .nonConsumable : has("renews") ? .autoRenewable : nil)
        terms.isFamilyShared = has("shared")
        terms.otherOwnership = has("assigned") ? "ASSIGNED" : nil
        terms.isUpgraded = has("upgraded")
        if has("partly revoked") { terms.revocationPercentage = 40_000 }
        return PaidTransaction(
            id: TransactionID("T"), originalID: TransactionID(has("renewal") || began != nil ? "S" : "T"),
            productID: product.id, quantity: Int(number(after: "pieces ") ?? 1), environment: .sandbox, token: token,
            purchasedAt: at(100), signedAt: at(signed), revokedAt: isRevoked ? at(105) : nil,
            isRenewal: has("renewal"), isFromReceipt: isFromReceipt, price: nil, terms: terms,
            chainBeganAt: began.map(at))
    }

    /// A second order on the same device.
    private func neighbour(of user: String, _ status: OrderStatus) -> Order {
        Order(
            id: orderB, userID: UserID(user), productID: ProductID("points60"), quantity: 1, status: status,
            price: product.price, createdAt: at(80), updatedAt: at(80))
    }

    private var deviceOrders: [Order]? {
        guard has("device OA") || has("device none") else { return nil }
        var orders = has("device OA") ? [order] : []
        if has("open of A") { orders.append(neighbour(of: "A", .prepared)) }
        if has("open of B") { orders.append(neighbour(of: "B", .prepared)) }
        if has("closed of A") { orders.append(neighbour(of: "A", .cancelled)) }
        if has("closed of B") { orders.append(neighbour(of: "B", .failed)) }
        return orders
    }

    /// The purchase that T renews: S at 50, after another one at 40.
    private func renewed(_ renewal: PaidTransaction) -> RenewedPurchase? {
        guard has("repeats") || has("inherited") || has("hidden") || has("waiting") else { return nil }
        var token: OrderID?
        if case .order(let id)? = renewal.token { token = id }
        func period(_ id: String, at seconds: Int64, isRenewal: Bool = false) -> PaidPeriod {
            PaidPeriod(
                transactionID: TransactionID(id), productID: product.id, purchasedAt: at(seconds), signedAt: at(110),
                isRenewal: isRenewal, terms: TransactionTerms(expiresAt: at(seconds + 50)))
        }
        let owner = has("waiting") ? nil : UserID("A")
        let earlier = ChainPeriod(
            period: period("R", at: 40), owner: UserID("C"), token: has("inherited") ? token : nil)
        let purchase = ChainPeriod(
            period: period("S", at: 50), owner: owner, token: has("repeats") ? token : nil, hidesToken: has("hidden"),
            isWithdrawn: has("purchase taken back"))
        return RenewedPurchase(
            of: ChainPeriod(period: period("T", at: 100, isRenewal: true), owner: nil, token: token),
            in: [purchase, earlier])
    }

    private var ownershipClaim: OwnershipClaim? {
        if has("numbered by A") { return OwnershipClaim(user: UserID("A"), ground: .orderNumber) }
        if has("numbered by B") { return OwnershipClaim(user: UserID("B"), ground: .orderNumber) }
        if let user = ["A", "B"].first(where: { has("accepted by \($0)") }) {
            return OwnershipClaim(user: UserID(user), ground: .order)
        }
        return has("decided for B") ? OwnershipClaim(user: UserID("B"), ground: .operatorDecision) : nil
    }

    var facts: PurchaseFacts {
        let transaction = transaction(
            signed: 110, isRevoked: has("revoked") || has("partly revoked"), isFromReceipt: has("receipt"))
        let claimed = has("claims OA") ? orderA : has("claims OB") ? orderB : has("claims unknown") ? unknownOrder : nil
        var facts = PurchaseFacts(
            transaction: transaction, caller: caller, recorded: recorded, tokenOrder: has("token OA") ? order : nil,
            claimedOrderID: claimed, claimedOrder: has("claims OA") ? order : nil,
            originalOrder: has("original OA") ? order : nil, product: has("product unknown") ? nil : product,
            claimant: has("restored by B") ? UserID("B") : nil)
        facts.tokenAccount = has("shared") ? nil : account
        facts.provenUser = has("proven for B") ? UserID("B") : nil
        facts.isTokenOlderThanOrder = has("token OA too old")
        facts.isInChainOfTokenOrder = has("in OA's chain")
        facts.deviceOrders = deviceOrders
        facts.ownershipClaim = ownershipClaim
        facts.needsSignedCopy = has("needs signed copy")
        facts.renewed = renewed(transaction)
        facts.replacedOwner = has("replaces what A had") ? UserID("A") : nil
        facts.originalBasis = has("rests on receipt") ? .receipt : .token
        return facts
    }

    var decision: String {
        switch PurchaseDecision(facts).outcome {
        case .grant(let user, let order, let newOrderID, let step):
            let target = order != nil ? "OA" : newOrderID == unknownOrder ? "token-id" : newOrderID == nil ? "new" : "?"
            return "grant \(user) \(target) \(step.rawValue)"
        case .alreadyGranted: return "alreadyGranted"
        case .revoke: return "revoke"
        case .reinstate: return "reinstate"
        case .revoked: return "revoked"
        case .quarantine(let reason): return "quarantine \(reason.rawValue)"
        }
    }
}
