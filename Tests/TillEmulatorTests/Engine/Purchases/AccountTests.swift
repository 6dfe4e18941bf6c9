import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Apple Accounts and their devices")
struct AccountTests {
    @Test("An account is opened, changed in parts, listed in pages, and kept over a restart")
    func life() async throws {
        let world = try await EmulatedWorld()
        #expect(await world.put(account: "bo", ["storefront": "USA"]).json["storefront"] == "USA")
        #expect(await world.put(account: "bo", ["asksToBuy": true]).json["storefront"] == "USA")
        _ = await world.put(account: "ada", [:])
        let page = await world.ask(.get, "/emulator/accounts", query: [("limit", "1")]).json
        #expect(page["data"]?.array?.map { $0["id"] } == ["ada"])
        let rest = await world.ask(
            .get, "/emulator/accounts", query: [("cursor", page["nextCursor"]?.string ?? "")]
        ).json
        #expect(rest["data"]?.array?.map { $0["id"] } == ["bo"])
        #expect(rest["hasMore"] == false)
        #expect(await world.ask(.get, "/emulator/accounts/nobody").json["code"] == "unknown_account")
        #expect(await world.put(account: "bo", ["storefront": "usa"]).status == 400)
        #expect(await world.put(account: "bo", ["asks": true]).status == 400)
        await world.close()
        let later = try await EmulatedWorld(directory: world.directory, start: world.now)
        let stored = await later.ask(.get, "/emulator/accounts/bo").json
        #expect(stored["asksToBuy"] == true && stored["storefront"] == "USA" && stored["mayPay"] == true)
        await later.remove()
    }

    @Test("L3: Where Screen Time forbids payments every purchase is refused with that reason")
    func forbidden() async throws {
        let world = try await EmulatedWorld()
        await world.put(account: "kid", ["mayPay": false])
        let refused = await world.tryToBuy("points60", ["account": "kid"])
        #expect(refused.status == 409)
        #expect(refused.json["code"] == "payment_not_allowed")
        #expect(await world.transactions(of: "kid").isEmpty)
        await world.put(account: "kid", ["mayPay": true])
        #expect(await world.tryToBuy("points60", ["account": "kid"]).status == 200)
        await world.remove()
    }

    @Test("L10: With a failing payment method a purchase fails, and an owned product is returned free of charge")
    func brokenCard() async throws {
        let world = try await EmulatedWorld()
        let owned = try await world.buy("library", ["account": "bo"])
        await world.put(account: "bo", ["paymentMethodWorks": false])
        #expect(try await world.buy("points60", ["account": "bo"])["outcome"] == "failed")
        #expect(try await world.buy("library", ["account": "bo"])["transactionId"] == owned["transactionId"])
        #expect(await world.transactions(of: "bo").count == 1)
        await world.remove()
    }

    @Test("A deleted account can no longer buy, restore or sign in")
    func deleted() async throws {
        let world = try await EmulatedWorld()
        _ = try await world.buy("library", ["account": "bo"])
        await world.put(account: "bo", ["isDeleted": true])
        #expect(await world.tryToBuy("points60", ["account": "bo"]).json["code"] == "account_deleted")
        #expect(await world.ask(.post, "/emulator/restore", ["account": "bo"]).json["code"] == "account_deleted")
        let device: JSONValue = ["id": "3f2c1a00-1111-4222-8333-444455556666"]
        #expect(await world.ask(.put, "/emulator/accounts/bo/devices", device).json["code"] == "account_deleted")
        await world.remove()
    }

    @Test("After a change of storefront the next purchase has the new price, and earlier ones keep theirs")
    func storefront() async throws {
        let world = try await EmulatedWorld()
        let before = try await world.buy("points60", ["account": "bo"])
        await world.put(account: "bo", ["storefront": "USA"])
        let after = try await world.buy("points60", ["account": "bo"])
        #expect(after["price"] == ["amount": 99, "currency": "USD"])
        #expect(await world.transactions(of: "bo").first?["price"] == before["price"])
        await world.put(account: "bo", ["storefront": "FRA"])
        #expect(await world.tryToBuy("points60", ["account": "bo"]).json["code"] == "not_for_sale")
        await world.remove()
    }

    @Test("A payload signed for a device verifies on that device only, with a new nonce each time")
    func deviceVerification() async throws {
        let world = try await EmulatedWorld()
        await world.put(account: "bo", [:])
        let id = "3f2c1a00-1111-4222-8333-444455556666"
        let device = await world.ask(
            .put, "/emulator/accounts/bo/devices", ["id": .string(id), "name": "Bo's", "platform": "macOS"])
        let own = try #require(device.json["deviceVerificationId"]?.string)
        let listed = await world.ask(.get, "/emulator/accounts/bo/devices").json["data"]?.array
        #expect(listed == [device.json])
        let bought = try await world.buy("points60", ["account": "bo", "deviceId": .string(id)])
        let again = await world.ask(
            .get, "/emulator/transactions/\(try world.identifier(bought))", query: [("deviceId", id)])
        let all = await world.ask(
            .get, "/emulator/transactions", query: [("account", "bo"), ("deviceId", id.uppercased())])
        let tokens = [bought, again.json, try #require(all.json["data"]?.array?.first)]
        var nonces: Set<String> = []
        for token in tokens {
            let signed = try payload(of: token["signedTransaction"]?.string)
            let nonce = try #require(signed["deviceVerificationNonce"]?.string)
            nonces.insert(nonce)
            let expected = Digest.sha384.hash(Array((nonce.lowercased() + own.lowercased()).utf8))
            #expect(expected.count == 48)
            #expect(signed["deviceVerification"]?.string == Base64.encode(expected))
        }
        #expect(nonces.count == 3)
        let plain = try payload(of: try await world.buy("points60", ["account": "bo"])["signedTransaction"]?.string)
        #expect(plain["deviceVerification"] == nil && plain["deviceVerificationNonce"] == nil)
        await world.remove()
    }

    @Test("An unregistered device, or one of another account, is refused before any charge")
    func wrongDevice() async throws {
        let world = try await EmulatedWorld()
        let id: JSONValue = "3f2c1a00-1111-4222-8333-444455556666"
        #expect(await world.tryToBuy("points60", ["deviceId": id]).json["code"] == "unknown_device")
        await world.put(account: "bo", [:])
        await world.put(account: "ada", [:])
        let first = await world.ask(.put, "/emulator/accounts/bo/devices", ["id": id]).json
        let second = await world.ask(.put, "/emulator/accounts/ada/devices", ["id": id]).json
        #expect(first["deviceVerificationId"] == second["deviceVerificationId"], "it belongs to the device")
        let refused = await world.tryToBuy("points60", ["account": "bo", "deviceId": id])
        #expect(refused.json["code"] == "device_of_another_account")
        #expect(await world.transactions(of: "bo").isEmpty)
        #expect(await world.tryToBuy("points60", ["account": "ada", "deviceId": id]).status == 200)
        await world.remove()
    }

    @Test("The SHA-384 of abc is that of FIPS 180")
    func sha384() {
        let hash = Digest.sha384.hash(Array("abc".utf8)).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        #expect(
            hash.joined()
                == "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
                + "8086072ba1e7cc2358baeca134c825a7")
    }
}
