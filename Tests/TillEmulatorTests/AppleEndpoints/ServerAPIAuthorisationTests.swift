import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Authorisation and rate limits of the App Store Server API")
struct ServerAPIAuthorisationTests {
    @Test("A token with one wrong claim or header gets 401 without a body, at every endpoint")
    func wrongTokens() async throws {
        let world = try await EmulatedWorld()
        let now = world.now.seconds
        let wrong: [(String, claims: [String: JSONValue], header: [String: JSONValue])] = [
            ("alg none", [:], ["alg": "none"]), ("alg HS256", [:], ["alg": "HS256"]), ("no alg", [:], ["alg": .null]),
            ("kid of another", [:], ["kid": "ABCDEFGHIJ"]), ("no kid", [:], ["kid": .null]),
            ("iss of another", ["iss": "69a6de70-03db-47e3-e053-5b8c7c11a4d1"], [:]), ("no iss", ["iss": .null], [:]),
            ("aud", ["aud": "appstoreconnect-v2"], [:]), ("no aud", ["aud": .null], [:]),
            ("a list of aud", ["aud": ["appstoreconnect-v1"]], [:]),
            ("no bid", ["bid": .null], [:]), ("an empty bid", ["bid": ""], [:]), ("a number as bid", ["bid": 5], [:]),
            ("expired", ["exp": .int(now)], [:]), ("no exp", ["exp": .null], [:]),
            ("exp as text", ["exp": .string(String(now + 300))], [:]),
            ("longer than an hour", ["exp": .int(now + 3_601)], [:]), ("endless", ["exp": .int(.max)], [:]),
            ("issued never", ["iat": "today"], [:]),
            ("issued before time", ["iat": .int(.min)], [:]),
            ("expired when issued", ["iat": .int(now + 30), "exp": .int(now + 20)], [:]),
        ]
        var bad: [(String, [(name: String, value: String)])] = [
            ("nothing", []), ("no bearer", [("Authorization", "Basic eDp5")]),
            ("rubbish", [("Authorization", "Bearer x.y.z")]),
            ("too long", [("Authorization", "Bearer " + String(repeating: "a", count: 9_000))]),
            ("another key", try await world.bearer(key: .generate(.p256))),
        ]
        for (name, claims, header) in wrong {
            bad.append((name, try await world.bearer(claims: claims, header: header)))
        }
        let good = try await world.bearer()
        for route in ServerAPIRoute.allCases {
            let path = route.pattern.split(separator: "/").map { $0.hasPrefix("{") ? "1" : $0 }.joined(separator: "/")
            // All of them at one endpoint, one of them at the others.
            for (name, headers) in route == .history ? bad : [bad[3]] {
                let answer = await world.ask(route.method, "/" + path, headers: headers)
                #expect(answer.status == 401, "\(route): \(name)")
                #expect(answer.response.body.isEmpty)
            }
            #expect(await world.ask(route.method, "/" + path, headers: good).status != 401, "\(route)")
        }
        await world.remove()
    }

    @Test("A token that is valid at another time gets 401 with the difference of the clocks (issue 20)")
    func clocksDiffer() async throws {
        let world = try await EmulatedWorld()
        let path = "/inApps/v1/transactions/1"
        func ask(after seconds: Int64) async throws -> (status: Int, json: JSONValue) {
            let now = world.now.seconds + seconds
            let bearer = try await world.bearer(claims: ["iat": .int(now), "exp": .int(now + 300)])
            let answer = await world.ask(.get, path, headers: bearer)
            return (answer.status, answer.json)
        }
        for (seconds, words) in [
            (-30 * 86_400, "differ by 30 days, the store is ahead"),
            (86_400 * 2, "differ by 2 days, the store is behind"),
            (-5 * 3_600, "differ by 5 hours"), (-400, "differ by 7 minutes"), (90, "differ by 90 seconds"),
        ] as [(Int64, String)] {
            let answer = try await ask(after: seconds)
            #expect(answer.status == 401 && answer.json["errorCode"] == 4_010_000)
            #expect(answer.json["errorMessage"]?.string?.contains(words) == true, "\(answer.json.encoded())")
        }
        #expect(try await ask(after: 30).status == 404)
        // A token of another key learns nothing about the clock, whatever its time is.
        let foreign = try await world.bearer(claims: ["iat": .int(world.now.seconds - 86_400)], key: .generate(.p256))
        #expect(await world.ask(.get, path, headers: foreign).response.body.isEmpty)
        await world.remove()
    }

    @Test("A token of another app sees nothing of this one, and one of no possible app gets 4000002")
    func otherApps() async throws {
        let world = try await EmulatedWorld()
        _ = await world.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/hook"])
        let id = try await world.bought()
        await world.emulator.sendDueNotifications()
        let token = try #require(try await world.call(.testNotification).json["testNotificationToken"]?.string)
        await world.emulator.sendDueNotifications()
        let other = "com.example.other"
        for route in [ServerAPIRoute.transactionInfo, .history, .subscriptionStatuses, .refundHistory, .finish] {
            let answer = try await world.call(route, id, bundleID: other)
            #expect(answer.json["errorCode"] == 4_040_010, "\(route)")
        }
        #expect(try await world.call(.testNotificationStatus, token).status == 200)
        #expect(try await world.call(.testNotificationStatus, token, bundleID: other).status == 404)
        let span = JSONValue.object([
            "startDate": .int(world.now.milliseconds - 1), "endDate": .int(world.now.milliseconds + 1),
        ])
        let body = Array(span.encoded().utf8)
        let own = try await world.call(.notificationHistory, body: body)
        #expect(own.json["notificationHistory"]?.array?.count == 2)
        let foreign = try await world.call(.notificationHistory, body: body, bundleID: other)
        #expect(foreign.json["notificationHistory"]?.array?.isEmpty == true)
        let impossible = try await world.call(.transactionInfo, id, bundleID: "not/an app")
        #expect(impossible.json["errorCode"] == 4_000_002)
        await world.remove()
    }

    // MARK: Quotas

    @Test(
        "Each endpoint and app has an hourly quota; 429 names its end in Unix milliseconds, and requests then succeed")
    func quotas() async throws {
        var configuration = EmulatorConfiguration()
        var quotas = RequestQuotas()
        for endpoint in ServerAPI.Endpoint.allCases { quotas[endpoint, .sandbox] = RequestQuota(3, per: 3_600_000) }
        configuration.rateLimits = quotas
        let world = try await EmulatedWorld(configuration)
        let id = try await world.bought()
        for _ in 0..<3 { #expect(try await world.call(.transactionInfo, id).status == 200) }
        let refused = try await world.call(.transactionInfo, id)
        #expect(refused.status == 429)
        #expect(refused.json["errorCode"] == 4_290_000)
        #expect(refused.json["errorMessage"] == "Rate limit exceeded.")
        let room = try #require(Int64(refused.response.headers["Retry-After"] ?? ""))
        let hour: Int64 = 3_600_000
        #expect(room % hour == 0 && room > world.now.milliseconds && room <= world.now.milliseconds + hour)
        // The old version, another endpoint and another app are counted separately.
        #expect(try await world.call(.history, id).status == 200)
        for _ in 0..<3 { #expect(try await world.call(.historyV1, id).status == 200) }
        #expect(try await world.call(.historyV1, id).status == 429)
        #expect(try await world.call(.history, id).status == 200)
        #expect(try await world.call(.transactionInfo, id, bundleID: "com.example.other").status == 404)
        // A request without a token is not counted and learns nothing.
        #expect(await world.ask(.get, "/inApps/v1/transactions/\(id)").status == 401)
        world.advance(seconds: (room - world.now.milliseconds) / 1_000 + 1)
        #expect(try await world.call(.transactionInfo, id).status == 200)
        await world.remove()
    }

    @Test(
        "The quotas are Apple's: stated per second, counted per hour, and a tenth of that in sandbox",
        arguments: [
            (ServerAPIRoute.transactionInfo, 180_000), (.historyV1, 180_000), (.finish, 180_000),
            (.appTransactionInfo, 180_000), (.extendRenewal, 72_000), (.appAccountToken, 72_000),
            (.orderLookup, 36_000), (.refundHistory, 36_000), (.massExtension, 3_600), (.testNotification, 3_600),
            (.testNotificationStatus, 3_600),
        ])
    func published(_ route: ServerAPIRoute, _ hourly: Int) {
        for (environment, expected) in [(StoreEnvironment.production, hourly), (.sandbox, hourly / 10)] {
            let meter = RequestMeter(nil, environment: environment)
            let now = EmulatedWorld.start
            var taken = 0
            while meter.count(route, of: "app", at: now) == nil, taken <= expected { taken += 1 }
            #expect(taken == expected)
        }
    }

    @Test("Tokens of a million apps share the counters of ten thousand")
    func bounded() {
        let meter = RequestMeter(nil, environment: .sandbox)
        let now = EmulatedWorld.start
        var refused = 0
        for number in 0..<11_000
        where meter.count(.testNotification, of: "app\(number)", at: now) != nil { refused += 1 }
        // The last thousand share one count of 360.
        #expect(refused == 640)
        #expect(meter.count(.testNotification, of: "one more", at: Instant(milliseconds: .max)) == nil)
        #expect(meter.count(.testNotification, of: "one more", at: Instant(milliseconds: .min)) == nil)
    }
}
