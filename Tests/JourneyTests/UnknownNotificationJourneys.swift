import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillSQL
import TillSQLite
import TillServer

@Suite("Notifications of unknown apps, types and orders (U4)") struct UnknownNotificationJourneys {
    @Test(
        "One for another app is stored unchanged and answered 200, once, and processes nothing (U4)",
        arguments: Reach.allCases)
    func otherApp(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let order = try await shop.openOrder(as: "u1")
            let nested = try Signed.transaction(of: "com.example.other", token: order, by: shop)
            let payload = try Signed.notification(
                ["bundleId": "com.example.other", "signedTransactionInfo": .string(nested)], by: shop)
            for _ in 0..<3 { #expect(try await Signed.post(payload, to: shop).status == 200) }
            let stored = try await Signed.foreign(in: shop.ledger)
            #expect(stored.map(\.payload) == [payload])
            #expect(stored.first?.code == "wrong_app")
            #expect(stored.first?.bundleID == "com.example.other")
            #expect(try await PendingNotifications(shop.server.ledger).processAll() == 0)
            #expect(try await shop.grantCount() == 0)
            #expect(try await shop.status(of: order) == "prepared")
            #expect(try await Signed.refusals(in: shop.ledger).isEmpty)
            #expect(try await Signed.stored(in: shop.ledger).isEmpty)
        }
    }

    @Test("One for this bundle id and another app's number, in production, is another app's too (facts/jws §2)")
    func otherAppleID() async throws {
        try await Shop.open(environments: [.production], change: { $0.apple.appAppleID = 1_234 }) { shop in
            let data: JSONValue = ["appAppleId": 9_999, "environment": "Production", "bundleVersion": "1"]
            let payload = try Signed.notification(data.object ?? [:], by: shop)
            #expect(try await Signed.post(payload, to: shop).status == 200)
            #expect(try await Signed.foreign(in: shop.ledger).map(\.detail) == ["appAppleId"])
            let ours = try Signed.notification(
                ["appAppleId": 1_234, "environment": "Production"], ["notificationUUID": "uuid-2"], by: shop)
            #expect(try await Signed.post(ours, to: shop).status == 200)
            #expect(try await Signed.stored(in: shop.ledger).map(\.uuid) == ["uuid-2"])
        }
    }

    @Test(
        "One that states neither app nor environment in the known places is kept: Apple adds kinds (U4)",
        arguments: Reach.allCases)
    func otherSubject(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let payloads = [
                try Signed.notification(nil, ["notificationUUID": "n1", "newData": ["bundleId": "x"]], by: shop),
                try Signed.notification(["environment": "Mars"], ["notificationUUID": "n2"], by: shop),
            ]
            for payload in payloads { #expect(try await Signed.post(payload, to: shop).status == 200) }
            let stored = try await Signed.foreign(in: shop.ledger)
            #expect(Set(stored.map(\.payload)) == Set(payloads))
            #expect(Set(stored.map(\.code)) == ["wrong_app", "wrong_environment"])
            for _ in 0..<2 { #expect(try await PendingNotifications(shop.server.ledger).processAll() == 0) }
            #expect(try await Signed.foreign(in: shop.ledger).count == 2)
        }
    }

    @Test(
        "An unknown type and subtype is stored, and its transaction is still processed (U4)",
        arguments: Reach.allCases)
    func otherType(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: order)
            let payload = try Signed.notification(
                ["signedTransactionInfo": .string(payment.signed), "newField": ["a": [1, .null]]],
                ["notificationType": "GIFT_UNWRAPPED", "subtype": "WITH_RIBBON"], by: shop)
            #expect(try await Signed.post(payload, to: shop).status == 200)
            let stored = try #require(await Signed.stored(in: shop.ledger).first)
            #expect(stored.type == "GIFT_UNWRAPPED" && stored.subtype == "WITH_RIBBON")
            #expect(stored.payload == payload)
            #expect(stored.state == .processed && stored.detail == "granted")
            #expect(try await shop.points(of: "u1") == 60)
            let bare = try Signed.notification(
                [:], ["notificationType": "WEATHER", "notificationUUID": "n2"], by: shop)
            #expect(try await Signed.post(bare, to: shop).status == 200)
            #expect(try await Signed.stored(in: shop.ledger).last?.detail == "no transaction")
        }
    }

    @Test("One about an unknown order is stored, its purchase quarantined (U4)", arguments: Reach.allCases)
    func otherOrder(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let token = try #require(UniqueID("00000000-0000-4000-8000-000000000001"))
            let payment = try await shop.pay(token: token)
            let payload = try Signed.notification(["signedTransactionInfo": .string(payment.signed)], by: shop)
            #expect(try await Signed.post(payload, to: shop).status == 200)
            #expect(try await Signed.stored(in: shop.ledger).map(\.detail) == ["quarantined: unknown_token"])
            #expect(try await shop.grantCount() == 0)
        }
    }

    @Test("One that Apple did not sign, or with a bad token inside, is refused and logged, for any app (P9)")
    func refused() async throws {
        try await Shop.open { shop in
            try await Shop.open { other in
                // Genuine for another app, and altered; of another root; with a nested token of another root, of
                // another app than its own, of another environment.
                let data: [String: JSONValue] = ["bundleId": "com.example.other"]
                let good = try Signed.notification(data, by: shop)
                let foreignRoot = try Signed.transaction(of: "com.example.other", token: nil, by: other)
                let ours = try await shop.pay(token: nil).signed
                let bad = [
                    (String(good.dropLast(4)) + (good.hasSuffix("AAAA") ? "BBBA" : "AAAA"), "bad_signature"),
                    (try Signed.notification(data, by: other), "chain_untrusted"),
                    (
                        try Signed.notification(
                            data.merging(["signedTransactionInfo": .string(foreignRoot)]) { $1 }, by: shop),
                        "chain_untrusted"
                    ),
                    (
                        try Signed.notification(
                            data.merging(["signedTransactionInfo": .string(ours)]) { $1 }, by: shop), "wrong_app"
                    ),
                    (
                        try Signed.notification(
                            ["environment": "Production", "signedTransactionInfo": .string(ours)], by: shop),
                        "wrong_environment"
                    ),
                    (try Signed.notification(data, ["notificationUUID": .null], by: shop), "malformed"),
                ]
                for (payload, code) in bad {
                    let reply = try await Signed.post(payload, to: shop)
                    #expect(reply.status == 422 && reply.code == code, "\(reply.status) \(reply.code), not \(code)")
                }
                #expect(try await Signed.refusals(in: shop.ledger) == bad.map(\.1).reversed())
                #expect(try await Signed.foreign(in: shop.ledger).isEmpty)
                #expect(try await Signed.stored(in: shop.ledger).isEmpty)
            }
        }
    }

    @Test("Notifications for other apps can't fill the disk: their newest thousand are kept, and all of this app's")
    func flood() async throws {
        try await Shop.open { shop in
            let ours = try Signed.notification([:], by: shop)
            #expect(try await Signed.post(ours, to: shop).status == 200)
            let capacity = Int(ForeignNotificationTable.capacity)
            try await shop.ledger.write { connection in
                for number in 0..<(capacity - 1) {
                    try ForeignNotificationTable(connection).insert(Self.entry("old-\(number)"))
                }
            }
            for number in 0..<3 {
                let payload = try Signed.notification(
                    ["bundleId": "com.example.other"], ["notificationUUID": .string("new-\(number)")], by: shop)
                #expect(try await Signed.post(payload, to: shop).status == 200)
            }
            let stored = try await Signed.foreign(in: shop.ledger)
            #expect(stored.count == capacity)
            #expect(stored.prefix(3).map(\.uuid) == ["new-2", "new-1", "new-0"])
            #expect(stored.last?.uuid == "old-2")
            #expect(try await Signed.stored(in: shop.ledger).count == 1)
        }
    }

    @Test("A repeated one for another app does not wait for the ledger's writer")
    func replayed() async throws {
        try await Shop.open { shop in
            let payload = try Signed.notification(["bundleId": "com.example.other"], by: shop)
            #expect(try await Signed.post(payload, to: shop).status == 200)
            let (begun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            async let isOpened = shop.ledger.write { _ in
                begun.signal()
                return gate.wait(timeout: .now() + 5) == .success
            }
            await Self.wait(for: begun)
            for _ in 0..<100 { #expect(try await Signed.post(payload, to: shop).status == 200) }
            gate.signal()
            #expect(try await isOpened, "answered while the writer was busy")
            #expect(try await Signed.foreign(in: shop.ledger).count == 1)
        }
    }

    private static func wait(for semaphore: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                semaphore.wait()
                continuation.resume()
            }
        }
    }

    @Test("New ones for other apps are rate limited per address, and those for this app are not")
    func paced() async throws {
        try await Shop.open { shop in
            func post(_ number: Int) async throws -> Reply {
                let payload = try Signed.notification(
                    ["bundleId": .string("com.example.other\(number % 5)")],
                    ["notificationUUID": .string("n\(number)")], by: shop)
                return try await Signed.post(payload, to: shop)
            }
            for number in 0..<60 { #expect(try await post(number).status == 200) }
            let refused = try await post(60)
            #expect(refused.status == 429 && refused.headers["Retry-After"] != nil)
            #expect(try await Signed.post(Signed.notification([:], by: shop), to: shop).status == 200)
            shop.time.advance(seconds: 2)
            #expect(try await post(60).status == 200)
            #expect(try await Signed.foreign(in: shop.ledger).count == 61)
        }
    }

    private static func entry(_ uuid: String) -> ForeignNotificationTable.Entry {
        ForeignNotificationTable.Entry(
            uuid: uuid, app: ("com.example.other", nil), environment: "Sandbox", type: "TEST", subtype: nil,
            receivedAt: Instant(seconds: 0), reason: ("wrong_app", "bundleId"), payload: "x.y.z")
    }

    @Test("A mistyped bundle id loses nothing: with the right one they are processed, once")
    func mistyped() async throws {
        try await Shop.open(change: { $0.apple.bundleID = "com.example.lern" }) { shop in
            let payment = try await shop.pay(token: nil)
            let payload = try Signed.notification(["signedTransactionInfo": .string(payment.signed)], by: shop)
            let alien = try Signed.notification(
                ["bundleId": "com.example.other"], ["notificationUUID": "n2"], by: shop)
            for payload in [payload, alien] { #expect(try await Signed.post(payload, to: shop).status == 200) }
            #expect(try await Signed.foreign(in: shop.ledger).count == 2)
            #expect(try await PendingNotifications(shop.server.ledger).processAll() == 0)

            var configuration = shop.server.configuration
            configuration.apple.bundleID = Shop.bundleID
            let restarted = try Server(
                configuration: configuration, database: shop.ledger, clock: { shop.time.now },
                entropy: { [UInt8](repeating: 7, count: $0) })
            #expect(try await PendingNotifications(restarted.ledger).processAll() == 1)
            #expect(try await Signed.stored(in: shop.ledger).map(\.detail) == ["quarantined: no_owner"])
            #expect(try await Signed.foreign(in: shop.ledger).map(\.uuid) == ["n2"])
            #expect(try await PendingNotifications(restarted.ledger).processAll() == 0)
            // Under the mistyped bundle id the shop's own server takes the proof for another app's.
            shop.willChangeRows()
        }
    }

    @Test("A notification answered 200 is still there after the process was killed and restarted (U4)")
    func restart() async throws {
        try await ServerProcess.withFiles { files in
            let (first, port) = try await files.start()
            let payment = try await files.pay(token: UniqueID("00000000-0000-4000-8000-000000000001"))
            let foreign = try Signed.notification(["bundleId": "com.example.other"], by: files.emulator.issuer.sign)
            let unknown = try Signed.notification(
                ["signedTransactionInfo": .string(payment.signed)],
                ["notificationType": "GIFT_UNWRAPPED", "notificationUUID": "n2"], by: files.emulator.issuer.sign)
            for payload in [foreign, unknown] {
                let reply = try await files.send(
                    port, .post, "/v1/notifications/apple", ["signedPayload": .string(payload)], as: .anonymous)
                #expect(reply.status == 200)
            }
            first.send(SIGKILL)
            #expect(await first.end() == -SIGKILL)

            let (again, newPort) = try await files.start()
            for payload in [foreign, unknown] {
                let reply = try await files.send(
                    newPort, .post, "/v1/notifications/apple", ["signedPayload": .string(payload)], as: .anonymous)
                #expect(reply.status == 200)
            }
            again.send(SIGTERM)
            #expect(await again.end() == 0)
            let ledger = try SQLiteDatabase.open(path: files.ledgerFile, role: .server, options: .init(.ledger))
            #expect(try await Signed.foreign(in: ledger).map(\.payload) == [foreign])
            #expect(try await Signed.stored(in: ledger).map(\.detail) == ["quarantined: unknown_token"])
            await ledger.close()
        }
    }
}

/// Payloads in Apple's format that tests sign themselves, and their results.
enum Signed {
    typealias Signing = ([UInt8]) throws -> String

    static func notification(
        _ data: [String: JSONValue]?, _ changes: [String: JSONValue] = [:], by shop: Shop
    ) throws -> String {
        try notification(data, changes, by: shop.emulator.issuer.sign)
    }

    /// - Parameters:
    ///   - data: merged into sound data; nil leaves it out.
    ///   - changes: changes of the whole payload; null leaves a member out.
    static func notification(
        _ data: [String: JSONValue]?, _ changes: [String: JSONValue] = [:], by sign: Signing
    ) throws -> String {
        var members: [String: JSONValue] = [
            "notificationType": "ONE_TIME_CHARGE", "notificationUUID": "uuid-1", "version": "2.0",
            "signedDate": .int(1_790_000_000_000),
        ]
        if let data {
            let usual: [String: JSONValue] = ["bundleId": .string(Shop.bundleID), "environment": "Sandbox"]
            members["data"] = .object(usual.merging(data) { $1 })
        }
        members.merge(changes) { $1 }
        members = members.filter { !$0.value.isNull }
        return try sign(Array(JSONValue.object(members).encoded().utf8))
    }

    static func transaction(of bundleID: String, token: OrderID?, by shop: Shop) throws -> String {
        var members: [String: JSONValue] = [
            "transactionId": "700", "originalTransactionId": "700", "bundleId": .string(bundleID),
            "productId": .string(Shop.points60), "purchaseDate": .int(1_790_000_000_000), "quantity": 1,
            "type": "Consumable", "signedDate": .int(1_790_000_000_000), "environment": "Sandbox",
        ]
        members["appAccountToken"] = token.map { .string($0.description) }
        return try shop.emulator.issuer.sign(payload: Array(JSONValue.object(members).encoded().utf8))
    }

    static func post(_ payload: String, to shop: Shop) async throws -> Reply {
        try await shop.send(.post, "/v1/notifications/apple", ["signedPayload": .string(payload)], as: .anonymous)
    }

    static func foreign(in ledger: any Database) async throws -> [ForeignNotificationTable.Entry] {
        try await ledger.read { try ForeignNotificationTable($0).list(limit: 2_000) }
    }

    /// The codes of refused proofs, newest first.
    static func refusals(in ledger: any Database) async throws -> [String] {
        try await ledger.read { try RefusedProofTable($0).list(claiming: nil, limit: 100).map(\.code) }
    }

    /// The notifications for this app, oldest first.
    static func stored(in ledger: any Database) async throws -> [NotificationTable.Stored] {
        try await ledger.read { connection in
            try connection.query("SELECT uuid FROM notifications ORDER BY row_id", []) { $0.text("uuid") }
                .compactMap { try NotificationTable(connection).find(uuid: $0) }
        }
    }
}
