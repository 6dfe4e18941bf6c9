import TillClient
import TillHTTP
import TillServer

// The people of a world.

extension World {
    private var isOfThieves: Bool { plan.isOfThieves }

    func makeUsers() -> [String] {
        guard terms.hasPhones else { return ["user1"] }
        let count = isOfThieves ? 1 + random.below(2) : 3 + random.below(5)
        return (1...(count + random.below(3))).map { "user\($0)" }
    }

    func makeOwners(_ accounts: [String], users: [String], _ apple: AppleHost, _ server: ServerHost) -> [Owner] {
        guard terms.hasPhones else { return [] }
        let count = min(users.count, isOfThieves ? 2 : SimulationPlan.mostPhones)
        let toStore = Link("phones-store", parts) { apple.end }
        // A payment is one confirmation by its customer, even if the network repeats a packet.
        toStore.repeats = { $0.path != "/emulator/purchases" }
        let toServer = Link("phones-server", parts) { server.end }
        toServer.hear = { [self] in overhear($0) }
        var owners: [Owner] = []
        for number in 1...count {
            let phone = PhoneHost(
                "phone\(number)", account: random.pick(accounts),
                generation: random.chance(0.5) ? .storeKit1 : .storeKit2, parts,
                lines: PhoneHost.Lines(toStore: toStore, toServer: toServer), folder: folder,
                payment: { [truth] phone, request in truth.note(request, from: phone) },
                asked: { [truth] phone, request in truth.note(asked: request, on: phone) })
            var mine = [users[number - 1]]
            while random.chance(0.35) { mine.append(random.pick(users)) }
            let wishes = max(1, plan.purchases / (isOfThieves ? 3 * count : count))
            guard plan.phones?.contains(number) ?? true else { continue }
            owners.append(Owner(phone, users: mine, wishes: wishes, parts))
        }
        return owners
    }

    private func overhear(_ request: HTTPRequest) {
        mallory?.hear(request)
        stolen.hear(request)
    }

    // MARK: Customers without the client kit

    /// Names with lookalikes.
    private static let names = ["Karl", "Jos\u{E9}", "\u{C5}sa", "Mia", "Kim", "Ren\u{E9}"]

    func makeShoppers(_ apple: AppleHost, _ server: ServerHost, _ backend: Backend, _ auditor: Auditor) -> [Shopper] {
        let toServer = Link("shoppers-server", parts) { server.end }
        toServer.hear = { [self] in overhear($0) }
        let lines = ShopperLines(
            parts: parts, apple: apple, truth: truth, backend: backend, stolen: stolen,
            process: SimulatedProcess("shoppers", on: parts.clockwork), toServer: toServer,
            toStore: Link("shoppers-store", parts) { apple.end }, exposure: isOfThieves ? 0.6 : 0.3,
            restores: terms.restore == .move, isCalm: plan.isCalm,
            complain: { [auditor] in auditor.complain($0, $1, about: $2) })
        if plan.isOfFamilies { return makeFamilies(lines) }
        let count = isOfThieves ? 5 + random.below(4) : 1 + random.below(3)
        let wishes = max(1, isOfThieves ? plan.purchases / count : plan.purchases / 40)
        return (1...count).map { number in
            let habit = ShoppingHabit.draw(&random, isKeyless: terms.isKeyless)
            return Shopper("\(random.pick(Self.names))\(number)", habit, wishes: wishes, lines)
        }
    }

    /// Families of two to four customers, each with an Apple Account, and one customer without a family.
    private func makeFamilies(_ lines: ShopperLines) -> [Shopper] {
        var people: [Shopper] = []
        let families = (1...(1 + random.below(3))).map { Family(account: "family\($0)") }
        let sizes = families.map { _ in 2 + random.below(3) }
        let wishes = max(1, plan.purchases / (sizes.reduce(1, +)))
        for (family, size) in zip(families, sizes) {
            for _ in 0..<size {
                people.append(
                    Shopper(
                        "\(random.pick(Self.names))\(people.count + 1)", ShoppingHabit.ofFamily(&random),
                        wishes: wishes, family: family, lines))
            }
        }
        let alone = ShoppingHabit.draw(&random, isKeyless: terms.isKeyless)
        people.append(Shopper("\(random.pick(Self.names))\(people.count + 1)", alone, wishes: wishes, lines))
        return people
    }

    // MARK: Thieves

    func startThieves(
        _ apple: AppleHost, _ server: ServerHost, _ backend: Backend, _ auditor: Auditor, keys: StoreKeys
    ) {
        let goesOn: @Sendable () -> Bool = { [self] in isStormy }
        let line = Link("thieves-server", parts) { server.end }
        // The checks of subscription rights are exact only in a world without thieves.
        guard !plan.isOfFamilies else { return }
        let seats = SeatHolder(parts, apple, truth, line) { [self] in
            shoppers.flatMap { $0.proofs.sorted { $0.key < $1.key }.map(\.value) }
        }
        process.spawn { await seats.live(while: goesOn) }
        let accounts = shoppers.filter { !$0.habit.isGuest }.map(\.name) + owners.flatMap(\.users)
        let means = Thief.Means(
            parts: parts, apple: apple, truth: truth, backend: backend, stolen: stolen, thefts: thefts,
            process: SimulatedProcess("thieves", on: parts.clockwork), line: line, moves: terms.restore == .move,
            complain: { [auditor] in auditor.complain($0, $1, about: $2) })
        let lookalikes = shoppers.map(\.name)
        let thieves = Thieves.gather(
            plan, means, accounts: accounts.isEmpty ? lookalikes : accounts, lookalikes: lookalikes, keys: keys)
        auditor.watch(thieves: thieves.flatMap(\.users))
        for thief in thieves {
            let pace: Int64 = isOfThieves ? 3_600_000 : 4 * 3_600_000
            process.spawn { await thief.live(pace: pace, while: goesOn) }
        }
    }
}
