import TillBilling
import TillHTTP
import TillJSON

/// An honest customer of an app without the client kit: it creates orders in its own way or not at all, and posts
/// Apple's proof until the server has answered that it is done. Thieves sometimes read its phone.
final class Shopper: @unchecked Sendable {
    /// A payment that is not done yet.
    struct Payment: Sendable {
        let transaction: String
        let product: String
        let order: String?
        let nonce: String?
        let signed: String
        let receipt: String?
        /// Posted at least once.
        var isPosted = false
    }

    let name: String
    let habit: ShoppingHabit
    let device: String
    let account: String
    let shop: ShopperConnections
    let guest: String
    /// The family that shares the Apple Account; nil for an account of one's own.
    let family: Family?
    /// The token in payments in place of an order id.
    let accountToken: String
    var random: SeededRandom
    var payments: [Payment] = []
    var isMerged = false
    private(set) var begun = 0
    private var purchasesLeft: Int

    init(_ name: String, _ habit: ShoppingHabit, purchasesLeft: Int, family: Family? = nil, _ shop: ShopperConnections)
    {
        self.family = family
        self.name = name
        self.habit = habit
        self.purchasesLeft = purchasesLeft
        self.shop = shop
        random = SeededRandom(seed: shop.parts.seed, stream: "shopper \(name)")
        device = UniqueID(random: random.bytes(16)).description
        account =
            family?.account ?? "shopper-\(name.unicodeScalars.filter(\.isASCII).map { String($0) }.joined())"
        guest = "guest-\(UniqueID(random: random.bytes(16)))"
        switch habit.naming {
        case .absentToken:
            accountToken = random.chance(0.5) ? Self.none : Self.all
        default: accountToken = UniqueID(random: random.bytes(16)).description
        }
    }

    private static let none = UniqueID(high: 0, low: 0).description
    private static let all = UniqueID(high: .max, low: .max).description

    var scheduler: SimulatedScheduler { shop.parts.scheduler }

    /// The app's current user.
    var user: String { habit.isGuest && !isMerged ? guest : name }

    // MARK: Living

    /// Buys until all purchases were started, or the fault phase is over.
    func live() async {
        _ = await shop.apple.act(.put, "/emulator/accounts/\(account)", [:])
        if case .accountToken(let registration) = habit.naming {
            shop.groundTruth.note(token: accountToken, of: name)
            shop.stolen.note(accountToken: accountToken, for: SimulatedShop.points60)
            if registration == .before { await register() }
        }
        shop.stolen.note(device: device, of: name)
        await scheduler.pause(random.between(600_000, 3_600_000 * 5))
        while purchasesLeft > 0, !Task.isCancelled {
            purchasesLeft -= 1
            begun += 1
            await buy()
            await scheduler.pause(random.between(60_000, 3_600_000))
            if family != nil { await collect() }
            await deliver()
            if habit.isGuest, !isMerged, random.chance(0.5) { await merge() }
            // Long enough for subscriptions to renew between two changes.
            await scheduler.pause(random.between(600_000, 3_600_000 * (family == nil ? 6 : 96)))
        }
        if case .accountToken(.later) = habit.naming { await register() }
    }

    /// Buys once more, as one member of the family.
    func takeStep() async {
        begun += 1
        await buy()
    }

    /// Completes all remaining work once more.
    func finishPurchases() async {
        if case .accountToken(let registration) = habit.naming, registration != .never { await register() }
        if habit.isGuest, !isMerged { await merge() }
        await collect()
        await deliver()
        if shop.restores { await restore() }
    }

    /// All purchases with their newest proofs, for restores.
    private(set) var proofs: [String: String] = [:]

    private func buy() async {
        let product = random.weighted(
            family == nil
                ? [
                    (SimulatedShop.points60, 50), (SimulatedShop.points300, 20), (SimulatedShop.pro, 12),
                    (SimulatedShop.silver, 10), (SimulatedShop.basic, 8),
                ]
                : [
                    (SimulatedShop.silver, 30), (SimulatedShop.gold, 20), (SimulatedShop.goldYear, 15),
                    (SimulatedShop.platinum, 15),
                    (SimulatedShop.points60, 15), (SimulatedShop.basic, 5),
                ])
        if let family {
            // A change that Apple schedules for the renewal needs an order; without one the server can't attribute it.
            let isPlanned = await family.wouldWait(for: product, shop.apple)
            if isPlanned, habit.naming != .order, habit.naming != .provenOrder { return }
            if !isPlanned, random.chance(0.12), let present = family.order(for: product, notOf: name) {
                return await pay(product, present.id, nil, for: present.user)
            }
        }
        var order: String?
        var nonce: String?
        switch habit.naming {
        case .order, .orderBeside:
            order = await openOrder(product, id: nil, nonce: nil)
            if order == nil { return }
        case .provenOrder:
            let secret = OrderIDNonce(bytes: random.bytes(16))
            guard let secret else { return }
            let id = OrderIDCommitment(user: UserID(user), nonce: secret).id.description
            // The app pays whether or not the server has received the order, which it will receive.
            _ = await openOrder(product, id: id, nonce: secret.text)
            (order, nonce) = (id, secret.text)
        case .accountToken, .absentToken, .nothing: break
        }
        if let order, let family, habit.naming == .order {
            family.note(order: order, for: product, of: name)
            // The order may stay open for another member to pay.
            if random.chance(0.15) { return }
        }
        await pay(product, order, nonce, for: user)
    }

    /// - Parameter owner: the owner of the purchase.
    private func pay(_ product: String, _ order: String?, _ nonce: String?, for owner: String) async {
        var token: String?
        switch habit.naming {
        case _ where owner != user: token = order
        case .order, .provenOrder: token = order
        case .accountToken, .absentToken: token = accountToken
        case .orderBeside, .nothing: break
        }
        var wanted: [String: JSONValue] = [
            "bundleId": .string(SimulatedShop.bundleID), "productId": .string(product), "account": .string(account),
        ]
        wanted["appAccountToken"] = token.map { .string($0) }
        if let token, habit.naming != .absentToken { shop.groundTruth.note(token: token, of: owner) }
        guard case .object(let answer)? = await shop.apple.act(.post, "/emulator/purchases", .object(wanted)),
            let id = StolenData.text(answer["transactionId"]),
            let signed = StolenData.text(answer["signedTransaction"])
        else { return }
        shop.groundTruth.note(sale: id, of: owner)
        let receipt = StolenData.text(answer["receipt"])
        proofs[id] = signed
        // A lasting product that is owned already is returned again.
        guard !payments.contains(where: { $0.transaction == id }) else { return }
        payments.append(
            Payment(
                transaction: id, product: product, order: order, nonce: nonce, signed: signed, receipt: receipt))
        shop.parts.log.record(
            "shopper", "\(user) pays for \(product): \(id), token \(token ?? "none")",
            about: ["transaction \(id)", "user \(user)"] + (token.map { ["order \($0)"] } ?? []))
        if family == nil, random.chance(shop.exposure) { expose(id, product, signed, receipt, token) }
    }

    /// Adds sales without the app, such as an upgrade in the settings, from the phone's queue.
    private func collect() async {
        let queue = await sales([("account", account), ("unfinished", "true"), ("limit", "100")])
        for case .object(let sale) in queue {
            guard let id = StolenData.text(sale["transactionId"]),
                let product = StolenData.text(sale["productId"]),
                let signed = StolenData.text(sale["signedTransaction"]),
                !payments.contains(where: { $0.transaction == id }), await isMine(id)
            else { continue }
            payments.append(
                Payment(transaction: id, product: product, order: nil, nonce: nil, signed: signed, receipt: nil))
        }
    }

    /// All members of a family see their Apple Account's queue; only a transaction's owner submits it.
    private func isMine(_ id: String) async -> Bool {
        guard family != nil else { return true }
        let sold = (try? await shop.apple.transactions(around: id)) ?? []
        let all = Dictionary(sold.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        return all[id].flatMap { shop.groundTruth.owner(of: $0, in: all) } == user
    }

    func sales(_ query: [(String, String)]) async -> [JSONValue] {
        let page = await shop.apple.act(.get, "/emulator/transactions", query: query)
        guard case .object(let members)? = page, case .array(let found)? = members["data"] else { return [] }
        return found
    }

    /// A thief reads the phone before the app has submitted the purchase.
    private func expose(_ id: String, _ product: String, _ signed: String, _ receipt: String?, _ token: String?) {
        var known = StolenData.Purchase(
            owner: user, product: product, transaction: id, signed: signed,
            receipt: habit.proof == .signed ? nil : receipt, device: device)
        known.hasNoToken = token == nil || habit.naming == .absentToken
        shop.stolen.note(known)
        if let token, case .accountToken = habit.naming { shop.stolen.note(accountToken: token, for: product) }
    }

    // MARK: The app's backend

    private func register() async {
        for _ in 0..<6 {
            let status = await shop.backend.register(accountToken, of: name)
            if let status, status < 500, status != 429 { return }
            await scheduler.pause(random.between(1_000, 60_000))
        }
    }
}
