import Foundation
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Notifications to the developer's server")
struct NotificationTests {
    private let url: JSONValue = ["url": "http://127.0.0.1:9/v1/notifications/apple"]

    @Test("Without a URL no notification is sent or stored")
    func off() async throws {
        let world = try await EmulatedWorld()
        _ = try await world.buy()
        await world.emulator.sendDueNotifications()
        #expect(world.notifications.isEmpty)
        #expect(await world.ask(.get, "/emulator/state").json["notifications"]?["total"] == 0)
        await world.remove()
    }

    @Test("A purchase, a subscription and a refund are sent in order, with their signed transactions inside")
    func order() async throws {
        let world = try await EmulatedWorld()
        #expect(await world.ask(.put, "/emulator/notifications", url).status == 200)
        let bought = try await world.buy("points60", ["appAccountToken": "3f2c1a00-1111-4222-8333-444455556666"])
        let id = try #require(bought["transactionId"]?.string)
        _ = try await world.buy("member.monthly")
        world.advance(seconds: 30)
        _ = await world.ask(.post, "/emulator/transactions/\(id)/refund")
        await world.emulator.sendDueNotifications()
        let payloads = try world.notifications.map { try payload(of: $0.signedPayload) }
        #expect(payloads.map { $0["notificationType"] } == ["ONE_TIME_CHARGE", "SUBSCRIBED", "REFUND"])
        #expect(payloads.map { $0["subtype"] } == [nil, "INITIAL_BUY", nil])
        #expect(Set(payloads.compactMap { $0["notificationUUID"]?.string }).count == 3)
        #expect(world.notifications.allSatisfy { $0.url == "http://127.0.0.1:9/v1/notifications/apple" })
        let charge = try #require(payloads.first)
        #expect(charge["version"] == "2.0")
        #expect(charge["data"]?["bundleId"] == "com.example.learnpoints")
        #expect(charge["data"]?["environment"] == "Sandbox")
        #expect(charge["data"]?["appAppleId"] == nil)
        #expect(charge["data"]?["signedRenewalInfo"] == nil && charge["data"]?["status"] == nil)
        let inner = try payload(of: charge["data"]?["signedTransactionInfo"]?.string)
        #expect(inner["transactionId"]?.string == id)
        #expect(inner["appAccountToken"] == "3f2c1a00-1111-4222-8333-444455556666")
        let subscribed = payloads[1]
        #expect(subscribed["data"]?["status"] == 1)
        let renewal = try payload(of: subscribed["data"]?["signedRenewalInfo"]?.string)
        #expect(renewal["autoRenewStatus"] == 1)
        #expect(renewal["autoRenewProductId"] == "com.example.learnpoints.member.monthly")
        let refund = try payload(of: payloads[2]["data"]?["signedTransactionInfo"]?.string)
        #expect(refund["transactionId"]?.string == id)
        #expect(refund["revocationDate"] == .int(world.now.milliseconds))
        await world.remove()
    }

    @Test("Sandbox sends without retries")
    func sandboxTriesOnce() async throws {
        let world = try await EmulatedWorld()
        world.answerNotifications { _ in 500 }
        _ = await world.ask(.put, "/emulator/notifications", url)
        _ = try await world.buy()
        await world.emulator.sendDueNotifications()
        world.advance(seconds: 30 * 86_400)
        await world.emulator.sendDueNotifications()
        #expect(world.notifications.count == 1)
        await world.remove()
    }

    @Test("Production retries after 1, 12, 24, 48 and 72 hours with the same text, and then stops")
    func productionRetries() async throws {
        var configuration = EmulatorConfiguration()
        configuration.environment = .production
        let world = try await EmulatedWorld(configuration)
        world.answerNotifications { _ throws(HTTPError) in throw HTTPError(.cannotConnect, "no server there") }
        _ = await world.ask(.put, "/emulator/notifications", url)
        _ = try await world.buy()
        await world.emulator.sendDueNotifications()
        for hours in [1, 12, 24, 48, 72] as [Int64] {
            let before = world.notifications.count
            world.advance(seconds: hours * 3_600 - 1)
            await world.emulator.sendDueNotifications()
            #expect(world.notifications.count == before, "not before \(hours) hours")
            world.advance(seconds: 1)
            await world.emulator.sendDueNotifications()
            #expect(world.notifications.count == before + 1, "after \(hours) hours")
        }
        world.advance(seconds: 365 * 86_400)
        await world.emulator.sendDueNotifications()
        #expect(world.notifications.count == 6)
        #expect(Set(world.notifications.map(\.signedPayload)).count == 1)
        let charge = try payload(of: world.notifications[0].signedPayload)
        #expect(charge["data"]?["appAppleId"] == 690_661_663)
        let state = await world.ask(.get, "/emulator/state").json
        #expect(state["notifications"]?["pending"] == 0)
        await world.remove()
    }

    @Test("A receiver that starts later is reached by a configured retry, in order, also after a restart")
    func laterReceiver() async throws {
        var configuration = EmulatorConfiguration()
        configuration.notificationRetries = [500, 500, 500]
        let world = try await EmulatedWorld(configuration)
        world.answerNotifications { _ in 503 }
        _ = await world.ask(.put, "/emulator/notifications", url)
        let first = try await world.buy()
        let second = try await world.buy()
        await world.emulator.sendDueNotifications()
        #expect(world.notifications.count == 2)
        await world.close()
        let later = try await EmulatedWorld(
            configuration, directory: world.directory, start: world.now.adding(seconds: 1))
        await later.emulator.sendDueNotifications()
        let ids = try later.notifications.map { received in
            let data = try payload(of: received.signedPayload)["data"]
            return try payload(of: data?["signedTransactionInfo"]?.string)["transactionId"]
        }
        #expect(ids == [first["transactionId"], second["transactionId"]])
        #expect(later.notifications.map(\.signedPayload) == world.notifications.map(\.signedPayload))
        await later.remove()
    }

    @Test("run sends each new notification, until its task is cancelled")
    func running() async throws {
        let world = try await EmulatedWorld()
        _ = await world.ask(.put, "/emulator/notifications", url)
        for round in 0..<2 {
            let running = Task { await world.emulator.run() }
            for count in 1...3 {
                _ = try await world.buy("points60", ["receipt": false])
                for _ in 0..<2_000 where world.notifications.count < round * 3 + count {
                    try await Task.sleep(nanoseconds: 2_000_000)
                }
                #expect(world.notifications.count == round * 3 + count)
            }
            running.cancel()
            await running.value
        }
        await world.remove()
    }

    @Test("Above the limit of waiting notifications, further ones are stored and not sent")
    func bounded() async throws {
        var configuration = EmulatorConfiguration()
        configuration.notificationLimit = 2
        let world = try await EmulatedWorld(configuration)
        _ = await world.ask(.put, "/emulator/notifications", url)
        for _ in 0..<3 { _ = try await world.buy() }
        let state = await world.ask(.get, "/emulator/state").json
        #expect(state["notifications"]?["total"] == 3)
        #expect(state["notifications"]?["pending"] == 2)
        await world.emulator.sendDueNotifications()
        #expect(world.notifications.count == 2)
        _ = try await world.buy()
        await world.emulator.sendDueNotifications()
        #expect(world.notifications.count == 3)
        await world.remove()
    }
}
