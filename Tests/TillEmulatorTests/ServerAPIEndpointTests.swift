import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP

@testable import TillEmulator

@Suite("The server API that stands")
struct ServerAPIEndpointTests {
    /// A bearer token as Apple's library makes it, with what a test wants different.
    private func bearer(
        _ world: EmulatedWorld, claims more: [String: JSONValue] = [:], header moreHeader: [String: JSONValue] = [:],
        key other: PrivateKey? = nil
    ) async throws -> [(name: String, value: String)] {
        let key = await world.ask(.get, "/emulator/api-key").json
        let header: [String: JSONValue] = ["alg": "ES256", "kid": key["keyId"] ?? .null, "typ": "JWT"]
        let claims: [String: JSONValue] = [
            "iss": key["issuerId"] ?? .null, "iat": .int(world.now.seconds), "exp": .int(world.now.seconds + 300),
            "aud": "appstoreconnect-v1", "bid": key["bundleId"] ?? .null,
        ]
        let head = JSONValue.object(header.merging(moreHeader) { _, new in new }).encoded()
        let body = JSONValue.object(claims.merging(more) { _, new in new }).encoded()
        let message = Base64.encode(Array(head.utf8), .url) + "." + Base64.encode(Array(body.utf8), .url)
        let signer = try other ?? PrivateKey(pem: try #require(key["privateKey"]?.string))
        let signature = Base64.encode(try signer.signES256(Array(message.utf8)), .url)
        return [("Authorization", "Bearer \(message).\(signature)")]
    }

    @Test("Get Transaction Info answers a good token, for transactions of its app only")
    func transactionInfo() async throws {
        let world = try await EmulatedWorld()
        let id = try #require(try await world.buy()["transactionId"]?.string)
        let headers = try await bearer(world)
        let answer = await world.ask(.get, "/inApps/v1/transactions/\(id)", headers: headers)
        #expect(answer.status == 200)
        let signed = try payload(of: answer.json["signedTransactionInfo"]?.string)
        #expect(signed["transactionId"]?.string == id)
        let unknown = await world.ask(.get, "/inApps/v1/transactions/1", headers: headers)
        #expect(unknown.status == 404)
        #expect(unknown.json["errorCode"] == 4_040_010)
        let malformed = await world.ask(.get, "/inApps/v1/transactions/x", headers: headers)
        #expect(malformed.status == 400)
        #expect(malformed.json["errorCode"] == 4_000_006)
        let stranger = try await bearer(world, claims: ["bid": "com.example.other"])
        #expect(await world.ask(.get, "/inApps/v1/transactions/\(id)", headers: stranger).status == 404)
        await world.remove()
    }

    @Test("Bearer tokens that Apple would not take get 401")
    func unauthorized() async throws {
        let world = try await EmulatedWorld()
        let id = try #require(try await world.buy()["transactionId"]?.string)
        let now = world.now.seconds
        let bad: [[(name: String, value: String)]] = [
            [],
            [("Authorization", "Bearer x.y.z")],
            try await bearer(world, claims: ["exp": .int(now + 3_601)]),
            try await bearer(world, claims: ["exp": .int(now)]),
            try await bearer(world, claims: ["iat": .int(now + 3_000), "exp": .int(now + 3_300)]),
            try await bearer(world, claims: ["iat": "today"]),
            try await bearer(world, claims: ["exp": .int(.max)]),
            try await bearer(world, claims: ["aud": "appstoreconnect-v2"]),
            try await bearer(world, claims: ["iss": "69a6de70-03db-47e3-e053-5b8c7c11a4d1"]),
            try await bearer(world, claims: ["bid": .null]),
            try await bearer(world, header: ["kid": "ABCDEFGHIJ"]),
            try await bearer(world, header: ["alg": "none"]),
            try await bearer(world, key: .generate(.p256)),
        ]
        for (index, headers) in bad.enumerated() {
            let answer = await world.ask(.get, "/inApps/v1/transactions/\(id)", headers: headers)
            #expect(answer.status == 401, "case \(index)")
            #expect(answer.response.body.isEmpty)
        }
        await world.remove()
    }

    @Test("A server can finish what its client never finished")
    func finish() async throws {
        let world = try await EmulatedWorld()
        let id = try #require(try await world.buy()["transactionId"]?.string)
        let headers = try await bearer(world)
        #expect(await world.ask(.post, "/inApps/v1/transactions/\(id)/finish", headers: headers).status == 200)
        #expect(await world.ask(.get, "/emulator/transactions/\(id)").json["finished"] == true)
        #expect(await world.ask(.post, "/inApps/v1/transactions/5/finish", headers: headers).status == 404)
        await world.remove()
    }

    @Test("A test notification is sent and its attempts can be asked for")
    func testNotification() async throws {
        let world = try await EmulatedWorld()
        let headers = try await bearer(world)
        let without = await world.ask(.post, "/inApps/v1/notifications/test", headers: headers)
        #expect(without.json["errorCode"] == 4_040_007)
        _ = await world.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/hook"])
        let asked = await world.ask(.post, "/inApps/v1/notifications/test", headers: headers)
        let token = try #require(asked.json["testNotificationToken"]?.string)
        let early = await world.ask(.get, "/inApps/v1/notifications/test/\(token)", headers: headers)
        #expect(early.json["errorCode"] == 4_040_008)
        await world.emulator.sendDueNotifications()
        let status = await world.ask(.get, "/inApps/v1/notifications/test/\(token)", headers: headers)
        #expect(status.json["sendAttempts"]?.array?.count == 1)
        #expect(status.json["sendAttempts"]?.array?.first?["sendAttemptResult"] == "SUCCESS")
        let sent = try payload(of: try #require(world.notifications.first).signedPayload)
        #expect(sent["notificationType"] == "TEST")
        #expect(try payload(of: status.json["signedPayload"]?.string) == sent)
        await world.remove()
    }
}
