import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillThreads

@testable import TillEmulator

/// The year: its customers and its days.
final class Year: Sendable {
    /// Refused acts, and random acts.
    struct Tally: Sendable, Equatable {
        var acts = 0
        var walks = 0
        var refusals: [String] = []
    }

    private let running: Locked<YearWorld>
    let customers: [YearCustomer]
    private let random: SeededEntropy
    private let tally = Locked(Tally())
    /// The notifications fetched from the history after six failed attempts.
    private let history = Locked<[String]>([])
    private let app: YearApp

    /// - Parameters:
    ///   - stories: repeated, each time three days later, until there are enough customers.
    ///   - isWild: whether all customers act at random in addition to their stories.
    init(
        _ world: YearWorld, subscribers: Int, stories: [YearStories.Story] = YearStories.all, seed: UInt64,
        isWild: Bool = false, app: YearApp = YearApp()
    ) async throws {
        running = Locked(world)
        random = SeededEntropy(seed &+ 77)
        self.app = app
        var customers: [YearCustomer] = []
        var round: Int64 = 0
        while customers.count < subscribers {
            for (index, story) in stories.enumerated() where customers.count < subscribers {
                let host = Self.name(customers.count)
                for acts in story.roles {
                    customers.append(
                        YearCustomer(
                            Self.name(customers.count), story: story.name, isWalker: isWild || story.isWalker,
                            host: host,
                            storefront: YearCatalogue.storefronts[(index + Int(round)) % 4],
                            acts: acts.map { action in
                                var action = action
                                action.day += 3 * (round % 10)
                                return action
                            }))
                }
            }
            round += 1
        }
        self.customers = customers
        for customer in customers {
            var change = AccountChange()
            change.storefront = customer.storefront
            _ = try await world.store.changeAccount(customer.name, change).get()
        }
    }

    /// The running store; another one after a restart.
    var world: YearWorld { running.withLock { $0 } }

    private static func name(_ index: Int) -> String { "c" + String(10_001 + index).dropFirst() }

    var tallied: Tally { tally.withLock { $0 } }

    // MARK: Days

    /// Performs the acts of each day, and then the night.
    func live(_ days: Range<Int64>) async throws {
        for day in days {
            let acts = YearActions(world: world, app: app)
            for customer in customers {
                for action in customer.acts where action.day == day {
                    tally.withLock { $0.acts += 1 }
                    guard let refused = try await acts.perform(action, by: customer) else { continue }
                    let words = ([action.verb] + action.words).joined(separator: " ")
                    // A random act may have made the story's act impossible.
                    if !customer.isWalker {
                        tally.withLock { $0.refusals.append("\(customer.story), day \(day), \(words): \(refused)") }
                    }
                }
            }
            try await walk(day, acts)
            try await develop(day)
            try await world.advance(toDay: day + 1)
        }
    }

    private func isRandom(_ day: Int64) -> Bool { day >= 10 }

    /// Stops the store and starts it again.
    func restart() async throws {
        let world = try await world.restarted()
        running.withLock { $0 = world }
    }

    /// Random acts: each random customer acts every few days, and may be refused.
    private func walk(_ day: Int64, _ acts: YearActions) async throws {
        let words = [
            "cancel club", "resume club", "cancel home", "resume home", "fail club", "recover club", "fail home",
            "recover home", "card off", "card on", "card on", "buy silver.month", "buy gold.month", "buy silver.twin",
            "buy bronze.week", "buy silver.year", "buy home.month", "buy house.month", "buy alone.month",
            "buy flash.week", "change silver.month", "change gold.month", "change home.month", "change house.month",
            "change alone.month", "raise club 100 ask", "raise home 100 tell", "answer club yes", "answer club no",
            "refund club full", "refund home unused", "reverse club", "reverse home", "refundolder club",
            "ask club none",
            "ask home decline", "ask club prorated", "extend club 5", "extend home 9", "token club",
            "promo silver.month half", "promo gold.month up", "code silver.month silver-gift",
            "outside gold.month gold-code", "winback silver.month back", "buy points60", "buy library",
            "refundonce library", "buy points60 deferred", "buy gold.month interrupted", "approve", "decline", "finish",
            "join", "leave", "join",
        ]
        for customer in customers where customer.isWalker && isRandom(day) && random.draw(4) == 0 {
            let parts = words[random.draw(words.count)].split(separator: " ").map(String.init)
            let action = YearStories.Action(day: day, verb: parts[0], words: Array(parts.dropFirst()))
            tally.withLock { $0.walks += 1 }
            _ = try await acts.perform(action, by: customer)
        }
    }

    /// The developer's acts for all customers.
    private func develop(_ day: Int64) async throws {
        world.passes(7_003)
        let store = world.store
        switch day {
        case 50: #expect(try await world.api(.post, "/inApps/v1/notifications/test").0 == 200)
        case 70:
            var staged = StagedNotification(type: .rescindConsent, bundleID: YearCatalogue.bundleID)
            staged.account = customers[0].name
            _ = try await store.stage(staged).get()
        case 130, 160:
            let step: ProductReview.Step = day == 130 ? .removeFromSale : .returnToSale
            _ = try await store.review(step, "flash.week", withAppVersion: false, byApple: false).get()
        case 140: try await fetchFailures()
        case 230: try await extendAll("silver.month", days: 7, storefronts: nil)
        case 260: try await extendAll("bronze.week", days: 3, storefronts: ["USA", "DEU"])
        case 280:
            let price = Money(amount: 599, currency: Currency("USD"))
            _ = try await store.raisePrice(
                of: ProductID("silver.month"), bundleID: YearCatalogue.bundleID, storefront: "USA", to: price,
                needsConsent: false
            ).get()
        default: break
        }
    }

    private func extendAll(_ product: String, days: Int64, storefronts: [JSONValue]?) async throws {
        var body: [String: JSONValue] = [
            "extendByDays": .int(days), "extendReasonCode": 2, "productId": .string(product),
            "requestIdentifier": .string(UniqueID(random: random.bytes(16)).description),
        ]
        body["storefrontCountryCodes"] = storefronts.map { .array($0) }
        #expect(try await world.api(.post, "/inApps/v1/subscriptions/extend/mass", .object(body)).0 == 200)
    }

    // MARK: The developer's server

    /// Every notification once, in the order of arrival.
    var notifications: [String] {
        world.attempts.filter(\.isTaken).map(\.signedPayload) + fetched
    }

    var fetched: [String] { history.withLock { $0 } }

    /// Fetches the notifications with six failed attempts from the history, after a long outage.
    private func fetchFailures() async throws {
        let now = world.store.now
        var token: String?
        repeat {
            let (status, page) = try await world.api(
                .post, "/inApps/v1/notifications/history",
                query: token.map { [(name: "paginationToken", value: $0)] } ?? [],
                [
                    "startDate": .int(YearWorld.day(100).milliseconds), "endDate": .int(now.milliseconds),
                    "onlyFailures": true,
                ])
            #expect(status == 200)
            for item in page["notificationHistory"]?.array ?? [] {
                #expect(item["sendAttempts"]?.array?.count == 6)
                history.withLock { $0.append(item["signedPayload"]?.string ?? "") }
            }
            token = page["hasMore"]?.bool == true ? page["paginationToken"]?.string : nil
        } while token != nil
    }
}
