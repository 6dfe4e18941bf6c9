import Testing
import TillAppStore
import TillBilling
import TillHTTP

@testable import TillEmulator

@Suite("StoreKit's sequences of transactions (facts/storekit-client)")
struct TransactionSetTests {
    /// One purchase of its own product, and the sequences that contain it.
    private struct Line {
        var name: String
        var kind: ProductType
        var sets: String
        var shape: @Sendable (inout StoreTransaction) -> Void

        init(
            _ name: String, _ kind: ProductType, _ sets: String,
            _ shape: @escaping @Sendable (inout StoreTransaction) -> Void = { _ in }
        ) {
            self.name = name
            self.kind = kind
            self.sets = sets
            self.shape = shape
        }
    }

    /// `u` unfinished, `a` all, `c` all with consumables, `e` current entitlements, `l` latest, `m` latest with
    /// consumables.
    private static let lines: [Line] = [
        Line("pack", .consumable, "uac lm"),
        Line("pack.finished", .consumable, "c m") { $0.isFinished = true },
        Line("pack.refunded", .consumable, "uac lm") { $0.revocation = refund($0) },
        Line("pack.finished.refunded", .consumable, "ac lm") {
            $0.isFinished = true
            $0.revocation = refund($0)
        },
        Line("pack.deferred", .consumable, "") { $0.state = .deferred },
        Line("pack.interrupted", .consumable, "") { $0.state = .interrupted },
        Line("pack.declined", .consumable, "") { $0.state = .declined },
        Line("book", .nonConsumable, "uace lm"),
        Line("book.finished", .nonConsumable, "ace lm") { $0.isFinished = true },
        Line("book.refunded", .nonConsumable, "ac lm") {
            $0.isFinished = true
            $0.revocation = refund($0)
        },
        Line("book.shared", .nonConsumable, "ace lm") {
            $0.isFinished = true
            $0.sharedFrom = 1
        },
        Line("course", .nonRenewing, "uace lm"),
        Line("course.finished", .nonRenewing, "ace lm") { $0.isFinished = true },
        Line("course.refunded", .nonRenewing, "uac lm") { $0.revocation = refund($0) },
        Line("book.elsewhere", .nonConsumable, "") { $0.account = "eve" },
    ]

    private static func refund(_ transaction: StoreTransaction) -> StoreTransaction.Revocation {
        StoreTransaction.Revocation(date: transaction.purchased, reason: 0, type: "REFUND_FULL", percentage: 100_000)
    }

    private static let questions: [(letter: Character, set: String, consumables: Bool?)] = [
        ("u", "unfinished", nil), ("a", "all", false), ("c", "all", true), ("e", "currentEntitlements", nil),
        ("l", "latest", nil), ("m", "latest", true),
    ]

    @Test("Kind, finishing and refund determine the sequences of a transaction; pages of one and product filters work")
    func table() async throws {
        let world = try await EmulatedWorld()
        let phone = try await world.phone(1, of: "ann")
        _ = try await world.buy("points60", ["account": "eve"])
        var ids: [String: String] = [:]
        for line in Self.lines {
            let planted = try await world.plant(line.name, kind: line.kind, account: "ann", line.shape)
            ids[line.name] = planted.id.text
        }
        for query in Self.questions {
            let expected = Self.lines.filter { $0.sets.contains(query.letter) }.compactMap { ids[$0.name] }
            #expect(!expected.isEmpty)
            let place = Comment("\(query)")
            #expect(try await phone.set(query.set, consumables: query.consumables) == expected, place)
            #expect(try await phone.set(query.set, consumables: query.consumables, pages: 1) == expected, place)
            for line in Self.lines {
                let own = try await phone.set(
                    query.set, product: "\(EmulatedWorld.app).\(line.name)", consumables: query.consumables)
                #expect(own == (line.sets.contains(query.letter) ? [ids[line.name] ?? ""] : []), "\(line.name)")
            }
            #expect(try await phone.set(query.set, app: "com.example.other").isEmpty)
        }
        await world.remove()
    }

    @Test(
        "Of several purchases of a product, the newest valid one is the entitlement, the newest of all the latest")
    func newest() async throws {
        let world = try await EmulatedWorld()
        let phone = try await world.phone(1, of: "ann")
        func plant(_ product: String, _ kind: ProductType, refunded: Bool = false, shared: Bool = false) async throws
            -> String
        {
            try await world.plant(product, kind: kind, account: "ann") { transaction in
                if refunded { transaction.revocation = Self.refund(transaction) }
                if shared { transaction.sharedFrom = 1 }
            }.id.text
        }
        _ = try await plant("course", .nonRenewing)
        let course = try await plant("course", .nonRenewing)
        let refunded = try await plant("course", .nonRenewing, refunded: true)
        let own = try await plant("book", .nonConsumable)
        let family = try await plant("book", .nonConsumable, shared: true)
        _ = try await plant("pack", .consumable)
        let pack = try await plant("pack", .consumable)
        #expect(try await phone.set("currentEntitlements") == [course, own, family])
        #expect(try await phone.set("latest") == [refunded, family, pack])
        #expect(try await phone.set("latest", product: "\(EmulatedWorld.app).pack") == [pack])
        #expect(try await phone.set("latest", product: "nothing").isEmpty)
        await world.remove()
    }

    @Test("A subscription entitles while it is active, in grace or shared; not in retry, expired or refunded")
    func subscriptions() async throws {
        let states: [(state: StoreSubscription.State, isShared: Bool, entitles: Bool)] = [
            (.active, false, true), (.gracePeriod, false, true), (.billingRetry, false, false),
            (.expired, false, false), (.revoked, false, false), (.active, true, true), (.expired, true, false),
        ]
        for (state, isShared, entitles) in states {
            let world = try await EmulatedWorld()
            let phone = try await world.phone(1, of: "ann")
            let first = try await world.plant("member.monthly", kind: .autoRenewable, account: "ann")
            let second = try await world.plant("member.monthly", kind: .autoRenewable, account: "ann") {
                $0.original = first.number
                $0.reason = "RENEWAL"
                if isShared { $0.sharedFrom = 1 }
            }
            try await world.plantSubscription(second) {
                $0.state = state
                if isShared { $0.sharedFrom = 1 }
            }
            let place = Comment("\(state)")
            let product = "\(EmulatedWorld.app).member.monthly"
            #expect(try await phone.set("currentEntitlements") == (entitles ? [second.id.text] : []), place)
            #expect(
                try await phone.set("currentEntitlements", product: product) == (entitles ? [second.id.text] : []),
                place)
            #expect(try await phone.set("currentEntitlements", product: "\(product).x").isEmpty)
            #expect(try await phone.set("all") == [first.id.text, second.id.text], place)
            #expect(try await phone.set("latest") == [second.id.text], place)
            await world.remove()
        }
    }

    @Test("An unknown sequence and invalid pages are refused")
    func wrong() async throws {
        let world = try await EmulatedWorld()
        let phone = try await world.phone(1, of: "ann")
        for query in [
            [("set", "everything")], [], [("set", "all"), ("limit", "0")], [("set", "all"), ("limit", "101")],
            [("set", "all"), ("cursor", "x")], [("set", "all"), ("consumables", "yes")], [("set", "all"), ("of", "x")],
        ] as [[(name: String, value: String)]] {
            let answer = await world.ask(.get, "/emulator/devices/\(phone.id)/transactions", query: query)
            #expect(answer.status == 400, "\(query)")
        }
        await world.remove()
    }
}
