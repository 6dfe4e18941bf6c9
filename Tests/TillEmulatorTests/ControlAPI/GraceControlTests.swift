import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("The billing grace period at the control API")
struct GraceControlTests {
    private let path = "/emulator/subscriptions/grace"

    /// The state of a subscription whose renewal fails after a month.
    private func failed(_ world: EmulatedWorld, _ account: String) async throws -> JSONValue {
        let bought = try await world.buy("member.monthly", ["account": .string(account)])
        let id = try #require(bought["originalTransactionId"]?.string)
        _ = await world.ask(.post, "/emulator/subscriptions/\(id)/billingFailure")
        #expect(await world.ask(.post, "/emulator/clock", ["advance": "33d"]).status == 200)
        return await world.ask(.get, "/emulator/subscriptions/\(id)").json
    }

    @Test("The setting applies to later billing errors, overrides the configuration, and outlives a restart")
    func setting() async throws {
        var configuration = EmulatorConfiguration()
        configuration.billingGracePeriod = BillingGracePeriod(.three)
        let world = try await EmulatedWorld(configuration)
        #expect(await world.ask(.get, path).json == ["days": 3, "scope": "ALL_RENEWALS"])
        #expect(await world.ask(.put, path, ["days": 28]).json == ["days": 28, "scope": "ALL_RENEWALS"])
        let first = try await failed(world, "lin")
        #expect(first["state"] == "gracePeriod")
        let ended = try #require(first["expiresDate"]?.string.flatMap { Instant(rfc3339: $0) })
        #expect(first["gracePeriodExpiresDate"]?.string == ended.adding(seconds: 28 * 86_400).rfc3339)
        #expect(await world.ask(.put, path, ["days": .null]).json["days"] == JSONValue.null)
        #expect(try await failed(world, "wei")["state"] == "billingRetry")
        await world.close()
        let again = try await EmulatedWorld(configuration, directory: world.directory, start: world.now)
        #expect(await again.ask(.get, path).json["days"] == JSONValue.null)
        await again.remove()
    }

    @Test(
        "A value that Apple does not offer is refused by name",
        arguments: [
            (["days": 7], "days"), (["days": 0], "days"), (["days": "16"], "days"),
            (["scope": "ALL_RENEWALS"], "scope"),
            (["days": 16, "scope": "SOME"], "scope"),
        ] as [(JSONValue, String)])
    func refused(_ body: JSONValue, _ name: String) async throws {
        let world = try await EmulatedWorld()
        let answer = await world.ask(.put, path, body)
        #expect(answer.status == 400 && answer.json["code"] == "wrong_value")
        #expect(answer.json["title"]?.string?.contains("\"\(name)\"") == true)
        #expect(await world.ask(.get, path).json["days"] == JSONValue.null)
        await world.remove()
    }
}
