import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Notification history")
struct NotificationHistoryTests {
    private static let hour: Int64 = 3_600

    private func furnished() async throws -> EmulatedWorld {
        var configuration = EmulatorConfiguration()
        configuration.environment = .production
        let world = try await EmulatedWorld(configuration)
        _ = await world.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/hook"])
        return world
    }

    private func span(_ world: EmulatedWorld, _ more: [String: JSONValue] = [:]) -> JSONValue {
        let now = world.now.milliseconds
        let span: [String: JSONValue] = ["startDate": .int(now - 86_400_000), "endDate": .int(now + 1)]
        return .object(span.merging(more) { _, new in new })
    }

    private func walk(_ world: EmulatedWorld, _ body: JSONValue) async throws -> [JSONValue] {
        var (items, token) = ([JSONValue](), String?.none)
        repeat {
            let query = token.map { [(name: "paginationToken", value: $0)] } ?? []
            let answer = try await world.call(.notificationHistory, query: query, json: body)
            try #require(answer.status == 200, "\(answer.json.encoded())")
            let page = answer.json["notificationHistory"]?.array ?? []
            items += page
            token = answer.json["paginationToken"]?.string
            #expect(answer.json["hasMore"]?.bool == (token != nil))
            #expect(token == nil ? page.count <= 20 : page.count == 20)
        } while token != nil
        return items
    }

    /// The payload with its nested tokens decoded, because new signatures differ.
    private func opened(_ token: String?) throws -> JSONValue {
        let content = try payload(of: token)
        var data = content["data"]?.object ?? [:]
        for name in ["signedTransactionInfo", "signedRenewalInfo"] {
            if let inner = data[name]?.string { data[name] = try payload(of: inner) }
        }
        return content.with(["data": .object(data)])
    }

    @Test("Pages list every notification once, in order, as first sent; filters by type, customer and failure work")
    func pages() async throws {
        let world = try await furnished()
        // Of each seven the third fails.
        world.answerNotifications { count throws(HTTPError) in count % 7 == 3 ? 500 : 200 }
        var ids: [String] = []
        for number in 0..<45 {
            let account: JSONValue = number % 3 == 0 ? "somebody" : "default"
            ids.append(try await world.bought("points60", ["account": account]))
            world.advance(seconds: number % 2 == 0 ? 0 : 7)
        }
        for id in ids.prefix(5) { _ = await world.ask(.post, "/emulator/transactions/\(id)/refund") }
        await world.emulator.sendDueNotifications()
        let all = try await walk(world, span(world))
        #expect(all.count == 50)
        let sent = try world.notifications.map { try opened($0.signedPayload) }
        #expect(try all.map { try opened($0["signedPayload"]?.string) } == sent)
        for item in all {
            let attempts = try #require(item["sendAttempts"]?.array)
            #expect(attempts.count == 1)
            #expect(attempts[0]["attemptDate"] == .int(world.now.milliseconds))
        }
        let refunds = try await walk(world, span(world, ["notificationType": "REFUND"]))
        #expect(refunds.count == 5)
        #expect(try await walk(world, span(world, ["notificationType": "TEST"])).isEmpty)
        let customer = try await walk(world, span(world, ["transactionId": .string(ids[0])]))
        // Fifteen purchases, and the refunds of the first and the fourth.
        #expect(customer.count == 17)
        let failed = try await walk(world, span(world, ["onlyFailures": true]))
        #expect(failed.count == 7)
        #expect(failed.allSatisfy { $0["sendAttempts"]?.array?.last?["sendAttemptResult"] != "SUCCESS" })
        // The second attempts succeed, so nothing counts as failed; the first attempts stay recorded.
        world.advance(seconds: Self.hour + 1)
        world.answerNotifications { _ throws(HTTPError) in 200 }
        await world.emulator.sendDueNotifications()
        #expect(try await walk(world, span(world, ["onlyFailures": true])).isEmpty)
        let again = try await walk(world, span(world))
        #expect(again.filter { $0["sendAttempts"]?.array?.count == 2 }.count == 7)
        #expect(try again.map { try opened($0["signedPayload"]?.string) } == sent)
        await world.remove()
    }

    @Test("The time range includes its start and excludes its end; notifications never attempted are not listed")
    func span() async throws {
        let world = try await furnished()
        let start = world.now
        _ = try await world.bought()
        world.advance(seconds: 10)
        _ = try await world.bought()
        #expect(try await walk(world, span(world)).isEmpty)
        await world.emulator.sendDueNotifications()
        func count(_ from: Int64, _ to: Int64) async throws -> Int {
            try await walk(
                world, ["startDate": .int(start.milliseconds + from), "endDate": .int(start.milliseconds + to)]
            ).count
        }
        #expect(try await count(0, 10_000) == 1)
        #expect(try await count(1, 10_001) == 1)
        #expect(try await count(0, 10_001) == 2)
        #expect(try await count(1, 10_000) == 0)
        // 180 days back, and not a second more.
        let reach: Int64 = 180 * 86_400_000
        let oldest = JSONValue.object(["startDate": .int(world.now.milliseconds - reach), "endDate": .int(.max)])
        #expect(try await walk(world, oldest).count == 2)
        world.advance(seconds: 1)
        #expect(try await world.call(.notificationHistory, json: oldest).json["errorCode"] == 4_000_012)
        await world.remove()
    }

    @Test("A page token belongs to one request body and lasts a day; an invalid token never traps")
    func tokens() async throws {
        let world = try await furnished()
        for _ in 0..<21 { _ = try await world.bought() }
        await world.emulator.sendDueNotifications()
        let body = span(world)
        let token = try #require(try await world.call(.notificationHistory, json: body).json["paginationToken"]?.string)
        func code(_ token: String, _ body: JSONValue) async throws -> JSONValue? {
            let query = [(name: "paginationToken", value: token)]
            let answer = try await world.call(.notificationHistory, query: query, json: body)
            return answer.status == 200 ? nil : answer.json["errorCode"]
        }
        #expect(try await code(token, body) == nil)
        #expect(try await code(token, span(world, ["onlyFailures": true])) == 4_000_014)
        #expect(try await code(token, span(world, ["notificationType": "REFUND"])) == 4_000_014)
        #expect(try await code(token, span(world, ["startDate": .int(world.now.milliseconds - 5)])) == 4_000_014)
        var random = SeededNumbers(state: 6)
        for _ in 0..<100 {
            var letters = Array(token.utf8)
            letters[Int.random(in: 0..<letters.count, using: &random)] ^= UInt8.random(in: 1...127, using: &random)
            #expect(try await code(String(decoding: letters, as: UTF8.self), body) == 4_000_014)
        }
        #expect(try await code(String(repeating: "z", count: 50_000), body) == 4_000_014)
        world.advance(seconds: 86_400)
        #expect(try await code(token, body) == 4_000_017)
        await world.remove()
    }

    @Test("A test notification's token is valid for six months")
    func testTokens() async throws {
        let world = try await furnished()
        let token = try #require(try await world.call(.testNotification).json["testNotificationToken"]?.string)
        #expect(try await world.call(.testNotificationStatus, token).json["errorCode"] == 4_040_008)
        await world.emulator.sendDueNotifications()
        world.advance(seconds: 183 * 86_400)
        let status = try await world.call(.testNotificationStatus, token)
        #expect(status.json["sendAttempts"]?.array?.first?["sendAttemptResult"] == "SUCCESS")
        world.advance(seconds: 2 * 86_400)
        #expect(try await world.call(.testNotificationStatus, token).json["errorCode"] == 4_040_008)
        await world.remove()
    }
}
