import Foundation
import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Listing and sending notifications by hand")
struct NotificationControlTests {
    private let start = EmulatedWorld.start

    private func list(_ world: TimedWorld, _ query: [(name: String, value: String)] = []) async -> [JSONValue] {
        await world.ask(.get, "/emulator/notifications", query: query).json["data"]?.array ?? []
    }

    @Test("The list is paged, newest first, and can be filtered by pending and failed")
    func list() async throws {
        var configuration = EmulatorConfiguration()
        configuration.notificationRetries = [3_600_000]
        let world = try await TimedWorld(configuration) { _, payload in
            payload["notificationType"] == "SUBSCRIBED" ? 200 : 404
        }
        await world.tellServer()
        for _ in 0..<5 { try await world.buy() }
        #expect(await list(world).count == 5)
        #expect(await list(world).allSatisfy { $0["attempts"] == 0 && $0["result"] == nil })
        let ids = await list(world).map { $0["id"] }
        var paged: [JSONValue?] = []
        var cursor: String?
        repeat {
            let query = [(name: "limit", value: "2")] + (cursor.map { [(name: "cursor", value: $0)] } ?? [])
            let page = await world.ask(.get, "/emulator/notifications", query: query).json
            paged += (page["data"]?.array ?? []).map { $0["id"] }
            cursor = page["nextCursor"]?.string
        } while cursor != nil
        #expect(paged == ids)
        #expect(await world.advance("2h").status == 200)
        let bought = try await world.buy("member.monthly")
        try await world.emulator.sendDueNotifications()
        try await world.buy()
        try await world.emulator.sendDueNotifications()
        #expect(await list(world, [("state", "failed")]).map { $0["id"] } == ids)
        let pending = await list(world, [("state", "pending")])
        #expect(pending.count == 1)
        #expect(pending.first?["nextAttemptAt"]?.string == start.adding(seconds: 3 * 3_600).rfc3339)
        #expect(pending.first?["result"] == "UNSUCCESSFUL_HTTP_RESPONSE_CODE" && pending.first?["attempts"] == 1)
        let all = await list(world)
        #expect(all.count == 7 && all.first == pending.first)
        let subscribed = all[1]
        #expect(subscribed["type"] == "SUBSCRIBED" && subscribed["subtype"] == "INITIAL_BUY")
        #expect(subscribed["transactionId"] == bought["transactionId"])
        #expect(subscribed["originalTransactionId"] == bought["transactionId"])
        #expect(subscribed["createdAt"] == bought["purchaseDate"])
        #expect(subscribed["result"] == "SUCCESS" && subscribed["nextAttemptAt"] == .null)
        let state = await world.ask(.get, "/emulator/state").json["notifications"]
        #expect(state?["total"] == 7 && state?["pending"] == 1 && state?["failed"] == 5)
        await world.remove()
    }

    @Test("Invalid queries about notifications are refused by name")
    func wrong() async throws {
        let world = try await TimedWorld()
        let unknown = "/emulator/notifications/3f2c1a00-1111-4222-8333-444455556666"
        #expect(await world.ask(.get, unknown).json["code"] == "unknown_notification")
        #expect(await world.ask(.get, "/emulator/notifications/x").status == 404)
        #expect(await world.ask(.post, unknown + "/resend").json["code"] == "unknown_notification")
        for query in [("state", "lost"), ("cursor", "x"), ("limit", "0"), ("limit", "101"), ("page", "2")] {
            #expect(await world.ask(.get, "/emulator/notifications", query: [query]).status == 400)
        }
        #expect(await world.ask(.get, "/emulator/notifications", query: [("cursor", "-5")]).json["data"] == [])
        let noURL = await world.ask(.post, "/emulator/notifications", ["type": "TEST"])
        #expect(noURL.status == 409 && noURL.json["code"] == "no_notification_url")
        await world.tellServer()
        for body in [
            [:], ["type": ""], ["type": 3], ["type": "REFUND", "transactionId": "5"],
            ["type": "TEST", "badSignature": 1],
            ["type": .string(String(repeating: "A", count: 101))], ["type": "TEST", "tokenCreationDate": "soon"],
            ["type": "TEST", "unknownFields": true],
        ] as [JSONValue] {
            let answer = await world.ask(.post, "/emulator/notifications", body)
            #expect([400, 404].contains(answer.status), "\(body.encoded())")
        }
        #expect(await world.ask(.get, "/emulator/state").json["notifications"]?["total"] == 0)
        await world.remove()
    }

    @Test("A notification can be sent again with the same id and content, and the attempt is recorded")
    func resend() async throws {
        let world = try await TimedWorld { world, _ in world.attempts.count == 2 ? 500 : 200 }
        await world.tellServer()
        try await world.buy()
        try await world.emulator.sendDueNotifications()
        let id = try #require(await list(world).first?["id"]?.string)
        world.passes(60_000)
        #expect(await world.ask(.post, "/emulator/notifications/\(id)/resend").json["id"]?.string == id)
        try await world.emulator.sendDueNotifications()
        // It failed this time, and Apple's schedule continues with the second delay.
        #expect(await list(world, [("state", "pending")]).count == 1)
        #expect(await world.advance("13h").status == 200)
        let times = [0, 60, 60 + 12 * 3_600] as [Int64]
        #expect(world.attempts.map(\.at) == times.map { start.adding(seconds: $0) })
        let payloads = try world.attempts.map { try payload(of: $0.signedPayload) }
        #expect(Set(payloads.map { $0["notificationUUID"]?.string }) == [id])
        #expect(Set(payloads.map { $0["signedDate"]?.encoded() }).count == 1)
        #expect(world.attempts[1].signedPayload == world.attempts[2].signedPayload)
        let notified = await world.ask(.get, "/emulator/notifications/\(id)").json
        #expect(
            notified["sendAttempts"]?.array?.map { $0["result"] } == [
                "SUCCESS", "UNSUCCESSFUL_HTTP_RESPONSE_CODE", "SUCCESS",
            ])
        let text = try payload(of: notified["signedPayload"]?.string)
        #expect(text["data"]?["bundleId"] == payloads[0]["data"]?["bundleId"])
        #expect(
            text["notificationUUID"] == payloads[0]["notificationUUID"]
                && text["signedDate"] == payloads[0]["signedDate"])
        #expect(await world.ask(.get, "/emulator/state").json["notifications"]?["pending"] == 0)
        await world.remove()
    }

    @Test("Each kind of failed attempt has Apple's name")
    func results() async throws {
        let kinds: [(HTTPError.Kind, String)] = [
            (.timedOut, "TIMED_OUT"), (.tls, "TLS_ISSUE"), (.cannotConnect, "SOCKET_ISSUE"),
            (.connectionLost, "PREMATURE_CLOSE"), (.cannotResolve, "NO_RESPONSE"),
            (.responseTooLarge, "INVALID_RESPONSE"), (.badURL, "OTHER"), (.other, "OTHER"),
        ]
        for (kind, name) in kinds { #expect(SendAttemptResult(HTTPError(kind, ""))?.rawValue == name) }
        #expect(SendAttemptResult(HTTPError(.stopped, "")) == nil)
        for status in 200...206 { #expect(SendAttemptResult(HTTPResponse(status: status)) == .success) }
        for status in [100, 207, 301, 302, 308, 400, 404, 500, 503, 599] {
            #expect(SendAttemptResult(HTTPResponse(status: status)) == .unsuccessfulStatus)
        }
        for status in [0, -1, 600, 999] { #expect(SendAttemptResult(HTTPResponse(status: status)) == .invalidResponse) }
        for (type, result) in [
            ("text/html; charset=utf-8", .success), ("text/plain;charset=\"UTF-8\"", .success),
            ("text/plain", .success),
            ("; charset", .success), ("text/plain; charset=klingon", .unsupportedCharset),
            ("text/plain; boundary=x; Charset = x-7", .unsupportedCharset), ("text/plain; charset=", .success),
        ] as [(String, SendAttemptResult)] {
            let response = HTTPResponse(status: 200, headers: HTTPHeaders([("Content-Type", type)]))
            #expect(SendAttemptResult(response) == result, "\(type)")
        }
        let world = try await TimedWorld { _, payload throws(HTTPError) in
            if payload["subtype"] == "LATE" { throw HTTPError(.timedOut, "") }
            return 301
        }
        await world.tellServer()
        _ = await world.ask(.post, "/emulator/notifications", ["type": "TEST", "subtype": "LATE"])
        _ = await world.ask(.post, "/emulator/notifications", ["type": "TEST"])
        try await world.emulator.sendDueNotifications()
        #expect(await list(world).map { $0["result"] } == ["UNSUCCESSFUL_HTTP_RESPONSE_CODE", "TIMED_OUT"])
        await world.remove()
    }

    @Test("A notification that can't be signed is given up, and the ones after it are sent")
    func unsignable() async throws {
        let world = try await TimedWorld()
        await world.tellServer()
        try await world.buy()
        try await world.buy()
        _ = try await world.database.write { connection in
            try connection.execute("UPDATE notifications SET content = '{' WHERE number = 1", [])
        }
        try await world.emulator.sendDueNotifications()
        #expect(world.attempts.count == 1)
        #expect(await list(world).map { $0["result"] } == ["SUCCESS", "OTHER"])
        #expect(await world.ask(.get, "/emulator/state").json["notifications"]?["pending"] == 0)
        await world.remove()
    }
}
