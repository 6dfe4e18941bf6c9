import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Changes that a device reads while an app runs")
struct DeviceUpdateTests {
    /// A change of ann's purchases, and the entries that her device reads.
    struct Event: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var received: [String]
        /// The preparation, before the device starts to read.
        var before: @Sendable (EmulatedWorld) async throws -> String
        var happens: @Sendable (EmulatedWorld, _ id: String) async throws -> Void

        init(
            _ name: String, _ received: [String],
            before: @escaping @Sendable (EmulatedWorld) async throws -> String = { _ in "" },
            _ happens: @escaping @Sendable (EmulatedWorld, String) async throws -> Void
        ) {
            testDescription = name
            self.received = received
            self.before = before
            self.happens = happens
        }
    }

    private static func buying(
        _ product: String, _ more: [String: JSONValue] = [:]
    ) -> @Sendable (EmulatedWorld) async throws -> String {
        { world in
            try world.identifier(try await world.buy(product, ["account": "ann"].merging(more) { $1 }))
        }
    }

    private static let purchases = [
        Event("a purchase elsewhere", ["points60 purchased"]) { world, _ in
            _ = try await world.buy("points60", ["account": "ann"])
        },
        Event("a cancelled one", []) { world, _ in
            _ = try await world.buy("points60", ["account": "ann", "outcome": "cancelled"])
        },
        Event("Ask to Buy", ["points60 deferred"]) { world, _ in
            _ = try await world.buy("points60", ["account": "ann", "outcome": "deferred"])
        },
        Event("approved", ["points60 purchased"], before: buying("points60", ["outcome": "deferred"])) {
            await $0.post($1, "approve")
        },
        Event("declined", ["points60 declined"], before: buying("points60", ["outcome": "deferred"])) {
            await $0.post($1, "decline")
        },
        Event("no answer", ["points60 declined"], before: buying("points60", ["outcome": "deferred"])) {
            world, _ in world.advance(seconds: 86_400)
        },
        Event("interrupted", ["points60 interrupted"]) { world, _ in
            _ = try await world.buy("points60", ["account": "ann", "outcome": "interrupted"])
        },
        Event("and gone through", ["points60 purchased"], before: buying("points60", ["outcome": "interrupted"])) {
            await $0.post($1, "approve")
        },
        Event("refunded", ["points60 purchased revoked"], before: buying("points60")) {
            await $0.post($1, "refund")
        },
        Event(
            "refund reversed", ["points60 purchased"],
            before: { world in
                let id = try await buying("points60")(world)
                await world.post(id, "refund")
                return id
            }
        ) { await $0.post($1, "refundReversal") },
        Event("finished", [], before: buying("points60")) { await $0.post($1, "finish") },
        Event("another app's", []) { world, _ in
            _ = try await world.buy("points60", ["account": "ann", "bundleId": "com.example.other"])
        },
        Event("another account's", []) { world, _ in _ = try await world.buy("points60", ["account": "eve"]) },
    ]

    private static let subscriptions = [
        Event("renewed", ["monthly purchased renewal"], before: buying("member.monthly")) { world, _ in
            world.advance(seconds: 31 * 86_400)
        },
        Event("cancelled", [], before: buying("member.monthly")) { try await $0.subscription($1, "cancel") },
        Event(
            "upgraded", ["yearly purchased", "monthly purchased upgraded"], before: buying("member.monthly")
        ) { world, _ in _ = try await world.buy("member.yearly", ["account": "ann"]) },
        Event("extended", ["monthly purchased"], before: buying("member.monthly")) {
            try await $0.subscription($1, "extend", ["days": 5])
        },
        Event(
            "a code redeemed in the App Store", ["yearly purchased"],
            before: { world in
                let made = await world.ask(
                    .post, "/emulator/offer-codes",
                    [
                        "productId": "com.example.learnpoints.member.yearly", "offerId": "welcome", "code": "SPRING",
                        "limit": 5,
                    ])
                try #require(made.status == 200, "\(made.json.encoded())")
                return ""
            }
        ) { world, _ in
            let redeemed = await world.ask(.post, "/emulator/offer-codes/SPRING/redeem", ["account": "ann"])
            try #require(redeemed.status == 200, "\(redeemed.json.encoded())")
        },
        Event(
            "a family begins to share", ["library purchased shared"],
            before: { world in
                await world.put(account: "mum", ["family": "mum"])
                return try world.identifier(try await world.buy("library", ["account": "mum"]))
            }
        ) { world, _ in await world.put(account: "ann", ["family": "mum"]) },
        Event(
            "and stops", ["library purchased revoked shared"],
            before: { world in
                await world.put(account: "mum", ["family": "mum"])
                await world.put(account: "ann", ["family": "mum"])
                return try world.identifier(try await world.buy("library", ["account": "mum"]))
            }
        ) { world, _ in await world.leaveFamily("ann") },
        Event(
            "who paid is refunded", ["library purchased revoked shared"],
            before: { world in
                await world.put(account: "mum", ["family": "mum"])
                await world.put(account: "ann", ["family": "mum"])
                return try world.identifier(try await world.buy("library", ["account": "mum"]))
            }
        ) { await $0.post($1, "refund") },
    ]

    @Test("Each change of a transaction is reported once, in its current state", arguments: purchases + subscriptions)
    func events(_ event: Event) async throws {
        let world = try await EmulatedWorld.withStore()
        let phone = try await world.phone(1, of: "ann")
        let id = try await event.before(world)
        let launch = try await phone.update()
        #expect(launch.changed.isEmpty, "a launch begins at the newest")
        try await event.happens(world, id)
        let update = try await phone.update(after: launch.position)
        #expect(update.lines == event.received)
        #expect(update.position >= launch.position)
        #expect(try await phone.update(after: update.position).changed.isEmpty, "nothing twice")
        #expect(try await phone.update(after: launch.position).lines == event.received, "until it was taken in")
        await world.remove()
    }

    @Test("The answer names account, storefront and position; transactions are signed for the requesting device")
    func shape() async throws {
        let world = try await EmulatedWorld.withStore()
        let phone = try await world.phone(1, of: "ann")
        let launch = try await phone.update()
        #expect(launch.json["account"] == "ann")
        #expect(launch.json["storefront"] == ["countryCode": "CHN", "id": "143465", "currency": "CNY"])
        #expect(launch.json["mayPay"] == true)
        let own = try #require(launch.json["deviceVerificationId"]?.string)
        await world.put(account: "ann", ["mayPay": false, "storefront": "FJI"])
        let moved = try await phone.update()
        #expect(moved.json["mayPay"] == false)
        #expect(moved.json["storefront"] == ["countryCode": "FJI", "id": "FJI", "currency": "USD"], "no known number")
        await world.put(account: "ann", ["mayPay": true, "storefront": "CHN"])
        let token = "3f2c91ab-0000-4000-8000-0000000000aa"
        _ = try await world.buy("points60", ["account": "ann", "appAccountToken": .string(token), "quantity": 2])
        let item = try #require(try await phone.update(after: launch.position).changed.first)
        #expect(item["appAccountToken"] == .string(token))
        #expect(item["reason"] == "PURCHASE" && item["quantity"] == 2)
        #expect((item["position"]?.int ?? 0) > launch.position)
        let signed = try payload(of: item["signedTransaction"]?.string)
        let nonce = try #require(signed["deviceVerificationNonce"]?.string)
        let hash = Digest.sha384.hash(Array((nonce.lowercased() + own.lowercased()).utf8))
        #expect(signed["deviceVerification"]?.string == Base64.encode(hash))
        await world.put(account: "ann", ["isDeleted": true])
        #expect(try await phone.update().json["mayPay"] == false)
        await world.remove()
    }

    @Test("Positions never go back over pages, other accounts, empty answers or a restart; every change comes once")
    func positions() async throws {
        let world = try await EmulatedWorld.withStore()
        let phone = try await world.phone(1, of: "ann")
        let launch = try await phone.update().position
        for number in 0..<250 {
            try await world.plant("points\(number)", account: "ann") { transaction in
                if number % 3 == 1 { transaction.state = .deferred }
                if number % 3 == 2 { transaction.state = .declined }
            }
            if number % 10 == 0 { try await world.plant(account: "eve") }
        }
        var (position, pages, received) = (launch, 0, [String]())
        while true {
            let update = try await phone.update(after: position)
            #expect(update.position > position)
            #expect(update.changed.count <= 100)
            position = update.position
            received += update.changed.compactMap { $0["productId"]?.string }
            pages += 1
            guard update.json["hasMore"] == true, pages < 10 else { break }
            #expect(update.changed.last?["position"] == .int(update.position))
        }
        #expect(pages == 3)
        #expect(received == (0..<250).map { "\(EmulatedWorld.app).points\($0)" }, "in the order of change")
        await world.close()
        let later = try await EmulatedWorld.withStore(directory: world)
        let again = Phone(id: phone.id, world: later)
        #expect(try await again.update().position == position)
        #expect(try await again.update(after: position).position == position)
        _ = try await later.buy("points60", ["account": "ann"])
        let update = try await again.update(after: position)
        #expect(update.changed.count == 1 && update.position > position)
        let foreign = try await again.update(after: update.position + 1_000)
        #expect(foreign.position == update.position && foreign.changed.isEmpty, "a place that was never given")
        await later.remove()
    }

    @Test("Two devices of an account both read its changes; a device that changes accounts reads only the new one's")
    func phones() async throws {
        let world = try await EmulatedWorld.withStore()
        let (first, second) = (try await world.phone(1, of: "ann"), try await world.phone(2, of: "ann"))
        let start = try await first.update().position
        let bought = try world.identifier(try await world.buy("points60", ["deviceId": .string(first.id)]))
        #expect(try await first.update(after: start).ids == [bought])
        #expect(try await second.update(after: start).ids == [bought])
        await world.post(bought, "finish")
        let position = try await first.update(after: start).position
        try await world.phone(1, of: "ben")
        let handed = try await first.update(after: position)
        #expect(handed.json["account"] == "ben" && handed.changed.isEmpty)
        _ = try await world.buy("points300", ["account": "ann"])
        let his = try world.identifier(try await world.buy("points680", ["deviceId": .string(first.id)]))
        #expect(try await first.update(after: position).ids == [his])
        #expect(try await second.update(after: position).lines == ["points300 purchased"])
        #expect(try await first.update(after: 0).ids == [his], "nothing of ann's, however far back")
        await world.remove()
    }

    @Test("Every route refuses a device without an account, and values that are no UUID or number")
    func strangers() async throws {
        let world = try await EmulatedWorld()
        let unknown = "3f2c1a00-9999-4222-8333-444455556666"
        for path in ["", "/news", "/products", "/transactions", "/subscription-statuses"] {
            let query: [(name: String, value: String)] =
                path == "/products" ? [("ids", "a")] : path == "/transactions" ? [("set", "all")] : []
            let answer = await world.ask(.get, "/emulator/devices/\(unknown)\(path)", query: query)
            #expect(answer.status == 404 && answer.json["code"] == "unknown_device", "\(path)")
            #expect(await world.ask(.get, "/emulator/devices/phone\(path)", query: query).status == 400, "\(path)")
        }
        let phone = try await world.phone(1, of: "ann")
        #expect(try await phone.ask("")["account"] == "ann")
        for query in [("after", "-1"), ("after", "x"), ("after", ""), ("since", "1")] {
            #expect(await world.ask(.get, "/emulator/devices/\(phone.id)/news", query: [query]).status == 400)
        }
        await world.remove()
    }
}
