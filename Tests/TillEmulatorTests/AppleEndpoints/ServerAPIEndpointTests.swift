import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP

@testable import TillEmulator

@Suite("The server API, call by call")
struct ServerAPIEndpointTests {
    @Test("Get Transaction Info answers a valid token, for transactions of its app only")
    func transactionInfo() async throws {
        let world = try await EmulatedWorld()
        let id = try #require(try await world.buy()["transactionId"]?.string)
        let headers = try await world.bearer()
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
        let stranger = try await world.bearer(claims: ["bid": "com.example.other"])
        #expect(await world.ask(.get, "/inApps/v1/transactions/\(id)", headers: stranger).status == 404)
        await world.remove()
    }

    @Test("A server can finish a transaction that its client never finished")
    func finish() async throws {
        let world = try await EmulatedWorld()
        let id = try #require(try await world.buy()["transactionId"]?.string)
        let headers = try await world.bearer()
        #expect(await world.ask(.post, "/inApps/v1/transactions/\(id)/finish", headers: headers).status == 200)
        #expect(await world.ask(.get, "/emulator/transactions/\(id)").json["finished"] == true)
        #expect(await world.ask(.post, "/inApps/v1/transactions/5/finish", headers: headers).status == 404)
        await world.remove()
    }

    @Test("A test notification is sent, and its attempts can be read")
    func testNotification() async throws {
        let world = try await EmulatedWorld()
        let headers = try await world.bearer()
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
