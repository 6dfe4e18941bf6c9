import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("/verifyReceipt as Apple answers it")
struct VerifyReceiptEndpointTests {
    private func ask(
        _ world: EmulatedWorld, _ receipt: JSONValue?, path: String = "/verifyReceipt",
        _ more: [String: JSONValue] = [:]
    ) async -> JSONValue {
        var body = more
        body["receipt-data"] = receipt
        let answer = await world.ask(.post, path, .object(body))
        #expect(answer.status == 200)
        return answer.json
    }

    @Test("A consumable's receipt yields status 0 and every field as Apple writes it")
    func consumable() async throws {
        let world = try await EmulatedWorld()
        let bought = try await world.buy("points60", ["quantity": 2])
        world.advance(seconds: 2)
        let answer = await ask(world, bought["receipt"])
        #expect(answer["status"] == 0)
        #expect(answer["environment"] == "Sandbox")
        #expect(answer["latest_receipt"] == nil && answer["latest_receipt_info"] == nil)
        let receipt = try #require(answer["receipt"])
        #expect(receipt["receipt_type"] == "ProductionSandbox")
        #expect(receipt["adam_id"] == 0 && receipt["app_item_id"] == 0 && receipt["download_id"] == 0)
        #expect(receipt["version_external_identifier"] == 0)
        #expect(receipt["bundle_id"] == "com.example.learnpoints")
        #expect(receipt["application_version"] == "1")
        #expect(receipt["original_application_version"] == "1.0")
        #expect(receipt["receipt_creation_date"] == "2026-03-01 08:30:00 Etc/GMT")
        #expect(receipt["receipt_creation_date_ms"] == "1772353800000")
        #expect(receipt["receipt_creation_date_pst"] == "2026-03-01 00:30:00 America/Los_Angeles")
        #expect(receipt["request_date_ms"] == "1772353802123")
        #expect(receipt["original_purchase_date"] == "2013-08-01 07:00:00 Etc/GMT")
        #expect(receipt["original_purchase_date_ms"] == "1375340400000")
        #expect(receipt["original_purchase_date_pst"] == "2013-08-01 00:00:00 America/Los_Angeles")
        let item = try #require(receipt["in_app"]?.array?.first)
        #expect(receipt["in_app"]?.array?.count == 1)
        let expected: [String: JSONValue] = [
            "quantity": "2", "product_id": "com.example.learnpoints.points60",
            "transaction_id": bought["transactionId"] ?? .null,
            "original_transaction_id": bought["transactionId"] ?? .null,
            "purchase_date": "2026-03-01 08:30:00 Etc/GMT", "purchase_date_ms": "1772353800000",
            "purchase_date_pst": "2026-03-01 00:30:00 America/Los_Angeles",
            "original_purchase_date": "2026-03-01 08:30:00 Etc/GMT", "original_purchase_date_ms": "1772353800000",
            "original_purchase_date_pst": "2026-03-01 00:30:00 America/Los_Angeles",
            "is_trial_period": "false", "in_app_ownership_type": "PURCHASED",
        ]
        #expect(item.object == expected)
        await world.remove()
    }

    @Test("A subscriber's receipt also yields latest_receipt_info, pending_renewal_info and a new receipt")
    func subscriber() async throws {
        let world = try await EmulatedWorld()
        let first = try await world.buy("member.monthly", ["appAccountToken": "3f2c1a00-1111-4222-8333-444455556666"])
        let id = try #require(first["transactionId"]?.string)
        #expect(await world.ask(.post, "/emulator/subscriptions/\(id)/cancel").status == 200)
        world.advance(seconds: 40 * 86_400)
        let second = try await world.buy("member.monthly")
        let answer = await ask(world, first["receipt"])
        #expect(answer["receipt"]?["in_app"]?.array?.count == 1)
        let latest = try #require(answer["latest_receipt_info"]?.array)
        #expect(latest.map { $0["transaction_id"] } == [first["transactionId"], second["transactionId"]])
        #expect(latest[0]["app_account_token"] == "3f2c1a00-1111-4222-8333-444455556666")
        #expect(latest[0]["expires_date_ms"] == "1775032200000")
        #expect(latest[0]["expires_date_pst"] == "2026-04-01 01:30:00 America/Los_Angeles")
        #expect(latest[1]["original_transaction_id"] == first["transactionId"])
        #expect(latest[1]["subscription_group_identifier"] == "21000001")
        let pending = try #require(answer["pending_renewal_info"]?.array)
        #expect(pending.count == 1)
        #expect(pending[0]["auto_renew_status"] == "1")
        #expect(pending[0]["original_transaction_id"] == first["transactionId"])
        let newer = await ask(world, answer["latest_receipt"])
        #expect(newer["receipt"]?["in_app"]?.array?.count == 2)
        let newest = await ask(world, first["receipt"], ["exclude-old-transactions": true])
        #expect(newest["latest_receipt_info"]?.array?.map { $0["transaction_id"] } == [second["transactionId"]])
        await world.remove()
    }

    @Test("A malformed receipt is 21002, another root or a changed byte 21003, and a GET 21000")
    func refusals() async throws {
        let world = try await EmulatedWorld()
        let other = try await EmulatedWorld()
        let receipt = try #require(try await world.buy()["receipt"]?.string)
        #expect(await ask(world, nil) == ["status": 21002])
        #expect(await ask(world, 5) == ["status": 21002])
        #expect(await ask(world, "not base64!") == ["status": 21002])
        #expect(await ask(world, "AAAA") == ["status": 21002])
        #expect(await ask(world, .string(String(receipt.dropLast(400)))) == ["status": 21002])
        let noJSON = HTTPRequest(method: .post, path: "/verifyReceipt", body: Array("receipt-data=".utf8))
        #expect(try JSONValue(decoding: await world.emulator.respond(to: noJSON).body) == ["status": 21002])
        let foreign = try #require(try await other.buy()["receipt"]?.string)
        #expect(await ask(world, .string(foreign)) == ["status": 21003])
        let genuine = try #require(Base64.decode(receipt))
        let forged = try #require(try Issuer.forged(receipt: genuine, at: world.now) { RandomBytes.make(16) })
        #expect(await ask(world, .string(Base64.encode(forged))) == ["status": 21003])
        var bytes = try #require(Base64.decode(receipt))
        let product = Array("com.example.learnpoints.points60".utf8)
        let at = try #require(bytes.indices.first { bytes[$0...].starts(with: product) })
        bytes[at + product.count - 2] = UInt8(ascii: "9")
        #expect(await ask(world, .string(Base64.encode(bytes))) == ["status": 21003])
        #expect(await world.ask(.get, "/verifyReceipt").json == ["status": 21000])
        let broken = receipt.enumerated().map { $0.offset % 64 == 63 ? "\($0.element)\r\n" : "\($0.element)" }.joined()
        #expect(await ask(world, .string(broken))["status"] == 0)
        await world.remove()
        await other.remove()
    }

    @Test("The wrong host answers 21007 or 21008, and one retry at the other host succeeds")
    func faces() async throws {
        let sandbox = try await EmulatedWorld()
        let receipt = try await sandbox.buy()["receipt"]
        #expect(await ask(sandbox, receipt, path: "/production/verifyReceipt") == ["status": 21007])
        #expect(await ask(sandbox, receipt, path: "/sandbox/verifyReceipt")["status"] == 0)
        await sandbox.remove()
        var configuration = EmulatorConfiguration()
        configuration.environment = .production
        configuration.verifyReceiptFace = .sandbox
        let production = try await EmulatedWorld(configuration)
        let real = try await production.buy()["receipt"]
        #expect(await ask(production, real) == ["status": 21008])
        let answer = await ask(production, real, path: "/production/verifyReceipt")
        #expect(answer["environment"] == "Production")
        #expect(answer["receipt"]?["receipt_type"] == "Production")
        #expect(answer["receipt"]?["adam_id"] == 690_661_663)
        await production.remove()
    }

    @Test("With a shared secret configured, a wrong one is 21004, and a subscriber's receipt requires it")
    func sharedSecret() async throws {
        var configuration = EmulatorConfiguration()
        configuration.sharedSecret = "00112233445566778899aabbccddeeff"
        let world = try await EmulatedWorld(configuration)
        let plain = try await world.buy()["receipt"]
        #expect(await ask(world, plain)["status"] == 0)
        #expect(await ask(world, plain, ["password": "x"]) == ["status": 21004])
        let subscriber = try await world.buy("member.monthly")["receipt"]
        #expect(await ask(world, subscriber) == ["status": 21004])
        #expect(await ask(world, subscriber, ["password": 5]) == ["status": 21004])
        #expect(await ask(world, subscriber, ["password": .null]) == ["status": 21004])
        #expect(await ask(world, subscriber, ["password": "00112233445566778899aabbccddeeff"])["status"] == 0)
        await world.remove()
    }

    @Test("The account's secret works until the app has its own")
    func primarySecret() async throws {
        var configuration = EmulatorConfiguration()
        configuration.primarySecret = "primary"
        for own in [nil, "own"] {
            configuration.sharedSecret = own
            let world = try await EmulatedWorld(configuration)
            let receipt = try await world.buy("member.monthly")["receipt"]
            let primary: JSONValue = own == nil ? 0 : 21004
            #expect(await ask(world, receipt, ["password": "primary"])["status"] == primary)
            #expect(await ask(world, receipt, ["password": "own"])["status"] == (own == nil ? 21004 : 0))
            #expect(await ask(world, receipt) == ["status": 21004])
            await world.remove()
        }
    }

    @Test("A deleted account's receipt is 21010, even an empty one")
    func deletedAccount() async throws {
        let world = try await EmulatedWorld()
        let bought = try await world.buy("points60", ["account": "leaver"])
        let id = try #require(bought["transactionId"]?.string)
        _ = await world.ask(.post, "/emulator/transactions/\(id)/finish")
        let empty = JSONValue.string(
            Base64.encode(try await world.emulator.receipt(account: "leaver", bundleID: EmulatedWorld.bundleID)))
        let old = JSONValue.string(try await world.transactionReceipt(id))
        for receipt in [bought["receipt"], empty, old] { #expect(await ask(world, receipt)["status"] == 0) }
        #expect(await ask(world, empty)["receipt"]?["in_app"] == [])
        try await world.emulator.store.change { change in
            var account = try #require(try AccountTable.find("leaver", change.connection))
            account.isDeleted = true
            try AccountTable.update(account, change.connection)
        }
        for receipt in [bought["receipt"], empty, old] { #expect(await ask(world, receipt) == ["status": 21010]) }
        let other = try await world.buy()
        #expect(await ask(world, other["receipt"])["status"] == 0)
        await world.remove()
    }

    @Test("Only POST is answered, on every host, and a receipt without an account is valid")
    func methods() async throws {
        let world = try await EmulatedWorld()
        for path in ["/verifyReceipt", "/sandbox/verifyReceipt", "/production/verifyReceipt"] {
            for method in HTTPMethod.allCases where method != .post {
                #expect(await world.ask(method, path).json == ["status": 21000], "\(method) \(path)")
            }
        }
        let unknown = try await world.emulator.receipt(account: "nobody", bundleID: EmulatedWorld.bundleID)
        let answer = await ask(world, .string(Base64.encode(unknown)))
        #expect(answer["status"] == 0 && answer["receipt"]?["in_app"] == [])
        await world.remove()
    }

    @Test("Internal errors carry is-retryable only where Apple has it")
    func internalFaults() throws {
        func fault(_ status: Int64, _ retryable: Bool?) throws -> JSONValue {
            let response = VerifyReceiptEndpoint.internalFault(status, retryable: retryable)
            #expect(response.status == 200)
            return try JSONValue(decoding: response.body)
        }
        #expect(try fault(21104, true) == ["status": 21104, "is-retryable": true])
        #expect(try fault(21199, false) == ["status": 21199, "is-retryable": false])
        #expect(try fault(21100, nil) == ["status": 21100])
        #expect(try fault(21005, true) == ["status": 21005])
        #expect(try fault(21009, true) == ["status": 21009])
        for (status, retryable) in [(Int64(21104), true), (21150, false)] {
            let body = VerifyReceiptEndpoint.internalFault(status, retryable: retryable).body
            #expect(try VerifyReceiptResponse(decoding: body).isRetryable == retryable)
        }
    }
}
