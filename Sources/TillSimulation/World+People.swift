import TillClient
import TillHTTP
import TillServer

// The people of a world.

extension SimulatedWorld {
    private var hasThieves: Bool { plan.hasThieves }

    func makeUsers() -> [String] {
        guard terms.hasPhones else { return ["user1"] }
        let count = hasThieves ? 1 + random.below(2) : 3 + random.below(5)
        return (1...(count + random.below(3))).map { "user\($0)" }
    }

    func makeOwners(_ accounts: [String], users: [String], _ apple: AppleHost, _ server: ServerHost) -> [PhoneUser] {
        guard terms.hasPhones else { return [] }
        let count = min(users.count, hasThieves ? 2 : SimulationPlan.maximumPhones)
        let toStore = Link("phones-store", parts) { apple.end }
        // A payment is one confirmation by its customer, even if the network repeats a packet.
        toStore.repeats = { $0.path != "/emulator/purchases" }
        let toServer = Link("phones-server", parts) { server.end }
        toServer.observe = { [self] in observe($0) }
        var owners: [PhoneUser] = []
        for number in 1...count {
            let phone = PhoneHost(
                "phone\(number)", account: random.pick(accounts),
                generation: random.chance(0.5) ? .storeKit1 : .storeKit2, parts,
                lines: PhoneHost.Connections(toStore: toStore, toServer: toServer), folder: folder,
                payment: { [groundTruth] phone, request in groundTruth.note(request, from: phone) },
                asked: { [groundTruth] phone, request in groundTruth.note(asked: request, on: phone) })
            var mine = [users[number - 1]]
            while random.chance(0.35) { mine.append(random.pick(users)) }
            let purchasesLeft = max(1, plan.purchases / (hasThieves ? 3 * count : count))
            guard plan.phones?.contains(number) ?? true else { continue }
            owners.append(PhoneUser(phone, users: mine, purchasesLeft: purchasesLeft, parts))
        }
        return owners
    }

    private func observe(_ request: HTTPRequest) {
        let proof = ObservedProof(request)
        mallory?.observe(request, proof)
        stolen.observe(request, proof)
    }

    // MARK: Customers without the client kit

    /// Names with lookalikes.
    private static let names = ["Karl", "Jos\u{E9}", "\u{C5}sa", "Mia", "Kim", "Ren\u{E9}"]

    func makeShoppers(_ apple: AppleHost, _ server: ServerHost, _ backend: Backend, _ auditor: Auditor) -> [Shopper] {
        let toServer = Link("shoppers-server", parts) { server.end }
        toServer.observe = { [self] in observe($0) }
        let lines = ShopperConnections(
            parts: parts, apple: apple, groundTruth: groundTruth, backend: backend, stolen: stolen,
            process: SimulatedProcess("shoppers", on: parts.scheduler), toServer: toServer,
            toStore: Link("shoppers-store", parts) { apple.end }, exposure: hasThieves ? 0.6 : 0.3,
            restores: terms.restore == .move, isQuiet: plan.isQuiet,
            complain: { [auditor] in auditor.complain($0, $1, about: $2) })
        if plan.hasFamilies { return makeFamilies(lines) }
        let count = hasThieves ? 5 + random.below(4) : 1 + random.below(3)
        let purchasesLeft = max(1, hasThieves ? plan.purchases / count : plan.purchases / 40)
        return (1...count).map { number in
            let habit = ShoppingHabit.draw(&random, isKeyless: terms.isKeyless)
            return Shopper("\(random.pick(Self.names))\(number)", habit, purchasesLeft: purchasesLeft, lines)
        }
    }

    /// Families of two to four customers, each with an Apple Account, and one customer without a family.
    private func makeFamilies(_ lines: ShopperConnections) -> [Shopper] {
        var people: [Shopper] = []
        let families = (1...(1 + random.below(3))).map { Family(account: "family\($0)") }
        let sizes = families.map { _ in 2 + random.below(3) }
        let purchasesLeft = max(1, plan.purchases / (sizes.reduce(1, +)))
        for (family, size) in zip(families, sizes) {
            for _ in 0..<size {
                people.append(
                    Shopper(
                        "\(random.pick(Self.names))\(people.count + 1)", ShoppingHabit.ofFamily(&random),
                        purchasesLeft: purchasesLeft, family: family, lines))
            }
        }
        let alone = ShoppingHabit.draw(&random, isKeyless: terms.isKeyless)
        people.append(
            Shopper("\(random.pick(Self.names))\(people.count + 1)", alone, purchasesLeft: purchasesLeft, lines))
        return people
    }

    // MARK: Thieves

    func startThieves(
        _ apple: AppleHost, _ server: ServerHost, _ backend: Backend, _ auditor: Auditor, keys: StoreKeys
    ) {
        let isRunning: @Sendable () -> Bool = { [self] in hasFaults }
        let link = Link("thieves-server", parts) { server.end }
        // The checks of subscription rights are exact only in a world without thieves.
        guard !plan.hasFamilies else { return }
        let seats = SeatUser(parts, apple, groundTruth, link) { [self] in
            shoppers.flatMap { $0.proofs.sorted { $0.key < $1.key }.map(\.value) }
        }
        process.spawn { await seats.live(while: isRunning) }
        let accounts = shoppers.filter { !$0.habit.isGuest }.map(\.name) + owners.flatMap(\.users)
        let resources = Thief.Resources(
            parts: parts, apple: apple, groundTruth: groundTruth, backend: backend, stolen: stolen, thefts: thefts,
            process: SimulatedProcess("thieves", on: parts.scheduler), link: link, moves: terms.restore == .move,
            complain: { [auditor] in auditor.complain($0, $1, about: $2) })
        let lookalikes = shoppers.map(\.name)
        let thieves = Thieves.gather(
            plan, resources, accounts: accounts.isEmpty ? lookalikes : accounts, lookalikes: lookalikes, keys: keys)
        auditor.watch(thieves: thieves.flatMap(\.users))
        for thief in thieves {
            let pace: Int64 = hasThieves ? 3_600_000 : 4 * 3_600_000
            process.spawn { await thief.live(pace: pace, while: isRunning) }
        }
    }
}
