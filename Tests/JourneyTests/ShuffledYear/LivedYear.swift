import TillBilling
import TillThreads

@testable import TillEmulator

/// One seed's year at the store: the actions of its customers, the orders that they opened at the server before they
/// paid, and every notification in the order of sending.
struct LivedYear: Sendable {
    struct Order: Sendable {
        let proven: ProvenOrder
        let user: String
        let product: ProductID
        let quantity: Int64
        let at: Instant
    }

    /// A server that accepts everything, so that each notification is sent once.
    let world: YearWorld
    private let year: Year
    private let opened: Locked<[Order]>

    var orders: [Order] { opened.withLock { $0 } }
    var notifications: [YearWorld.Attempt] { world.attempts }
    /// The Apple Accounts' own names, and those of all other users of the app with one of them.
    var users: [String] { Array(Set(year.customers.map(\.name)).union(orders.map(\.user))).sorted() }

    /// Stories per seed: consecutive seeds run all stories in turn.
    static let storyCount = 8
    /// The least number of seeds that run every story.
    static var roundOfSeeds: Int { (told.count + storyCount - 1) / storyCount }

    private static let told: [YearStories.Story] = {
        var random = SeededNumbers(state: 2_026)
        return YearStories.all.filter { !$0.isWalker }.shuffled(using: &random)
    }()

    /// The seed's own stories, those of the plans, and a random customer's.
    init(seed: UInt64) async throws {
        let first = Int(seed % UInt64(Self.roundOfSeeds)) * Self.storyCount
        let stories = (0..<Self.storyCount).map { Self.told[(first + $0) % Self.told.count] }
        let walkers = YearStories.all.filter(\.isWalker)
        try await self.init(
            stories + YearProducts.planStories + Household.stories + [walkers[Int(seed % UInt64(walkers.count))]],
            seed: seed, losing: 12)
    }

    /// - Parameter losing: one in so many purchases loses its token on the way (U1); 0 for none.
    init(_ stories: [YearStories.Story], seed: UInt64 = 1, losing: Int = 0) async throws {
        let opened = Locked<[Order]>([])
        world = try await YearWorld(seed: seed, keys: Shop.receiptKeys, outages: [])
        year = try await Year(
            world, subscribers: stories.reduce(0) { $0 + $1.roles.count }, stories: stories, seed: seed,
            app: Self.app(opened, SeededEntropy(seed &+ 4_711), losing))
        self.opened = opened
    }

    /// The app opens orders before any purchase in it.
    private static func app(_ opened: Locked<[Order]>, _ random: SeededEntropy, _ losing: Int) -> YearApp {
        @Sendable func open(_ world: YearWorld, _ user: String, _ product: ProductID, _ quantity: Int64) -> OrderID {
            let number = random.bytes(8).reduce(0) { $0 << 8 | Int($1) }
            let order = Order(
                proven: ProvenOrder(of: user, number), user: user, product: product, quantity: quantity,
                at: world.store.now)
            opened.withLock { $0.append(order) }
            return order.proven.id
        }
        var app = YearApp()
        let households = Locked<[String: Int]>([:])
        app.token = { world, customer, _, request in
            let number = households.withLock { known in
                known[customer.name, default: 0] += 1
                return known[customer.name, default: 0]
            }
            let buyer = Household(customer)?.buyer(number) ?? Household.Buyer(user: customer.name)
            let order = open(world, buyer.user, request.productID, request.quantity)
            return buyer.losesToken || losing > 0 && random.draw(losing) == 0 ? nil : order
        }
        // The developer's server sets a token on a subscription without one, and repeats a known one.
        app.newToken = { world, customer, known in
            known.appAccountToken ?? open(world, customer.name, known.productID, 1)
        }
        return app
    }

    func live(_ days: Range<Int64>) async throws { try await year.live(days) }

    func end() async { await world.remove() }
}
