import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Notifications sent to test a receiver")
struct StagedNotificationTests {
    /// Sends one and returns what the server received, with the outer payload decoded.
    private func send(_ world: TimedWorld, _ body: JSONValue) async throws -> (text: String, payload: JSONValue) {
        let answer = await world.ask(.post, "/emulator/notifications", body)
        try #require(answer.status == 200, "\(answer.json.encoded())")
        try await world.emulator.sendDueNotifications()
        let text = try #require(world.attempts.last?.signedPayload)
        let payload = try payload(of: text)
        #expect(payload["notificationUUID"] == answer.json["id"])
        #expect(payload["version"] == "2.0")
        #expect(try payload["signedDate"] == .int(world.emulator.store.now.milliseconds))
        let objects = ["data", "summary", "externalPurchaseToken", "appData"].filter { payload[$0] != nil }
        #expect(objects.count == 1, "exactly one of the four")
        return (text, payload)
    }

    private func verifier(
        _ world: TimedWorld, environments: Set<TillBilling.StoreEnvironment> = [.sandbox]
    ) throws -> SignedDataVerifier {
        let now = try world.emulator.store.now
        var policy = TrustPolicy(bundleID: "com.example.learnpoints", environments: environments, now: { now })
        policy.roots = [try world.emulator.issuer.rootCertificate]
        return try SignedDataVerifier(policy: policy)
    }

    @Test("Every known type, and any other, is sent as Apple writes it, and verifies")
    func types() async throws {
        let world = try await TimedWorld(EmulatorConfiguration())
        await world.tellServer()
        let id = try #require(try await world.buy("member.monthly")["transactionId"]?.string)
        for type in NotificationType.known.map(\.rawValue) + ["SOMETHING_OF_2031"] {
            let (text, payload) = try await send(world, ["type": .string(type), "transactionId": .string(id)])
            #expect(payload["notificationType"]?.string == type)
            let verified = try verifier(world).notification(text)
            #expect(verified.type?.rawValue == type)
            guard let data = payload["data"] else { continue }
            #expect(verified.transaction?.id.text == id && verified.status?.rawValue == 1)
            #expect(data["environment"] == "Sandbox" && data["appAppleId"] == nil && data["bundleVersion"] != nil)
            #expect(data["consumptionRequestReason"] == nil)
        }
        let reason = try await send(
            world,
            ["type": "CONSUMPTION_REQUEST", "transactionId": .string(id), "consumptionRequestReason": "LEGAL"])
        #expect(reason.payload["data"]?["consumptionRequestReason"] == "LEGAL")
        await world.remove()
    }

    @Test("A summary, a rescinded consent and an external purchase token have their own objects")
    func objects() async throws {
        for environment in [TillBilling.StoreEnvironment.sandbox, .production] {
            var configuration = EmulatorConfiguration()
            configuration.environment = environment
            let world = try await TimedWorld(configuration)
            await world.tellServer()
            let isProduction = environment == .production
            let appID: JSONValue? = isProduction ? 690_661_663 : nil
            let summary = try await send(
                world, ["type": "RENEWAL_EXTENSION", "subtype": "SUMMARY", "productId": "p1"]
            ).payload["summary"]
            #expect(summary?["productId"] == "p1" && summary?["succeededCount"] == 1 && summary?["failedCount"] == 0)
            #expect(UniqueID(summary?["requestIdentifier"]?.string ?? "") != nil)
            #expect(summary?["bundleId"] == "com.example.learnpoints" && summary?["appAppleId"] == appID)
            #expect(summary?["environment"]?.string == environment.rawValue)
            let failure = try await send(world, ["type": "RENEWAL_EXTENSION", "subtype": "FAILURE"]).payload
            #expect(failure["data"] != nil)
            let consent = try await send(world, ["type": "RESCIND_CONSENT", "account": "child"]).payload["appData"]
            #expect(consent?["environment"]?.string == environment.rawValue && consent?["appAppleId"] == appID)
            let inner = try payload(of: consent?["signedAppTransactionInfo"]?.string)
            #expect(inner["bundleId"] == "com.example.learnpoints")
            let token = try await send(world, ["type": "EXTERNAL_PURCHASE_TOKEN", "subtype": "UNREPORTED"])
                .payload["externalPurchaseToken"]
            #expect(token?["externalPurchaseId"]?.string?.hasPrefix("SANDBOX") == !isProduction)
            #expect(try token?["tokenCreationDate"] == .int(world.emulator.store.now.milliseconds))
            #expect(token?["environment"] == nil && token?["appAppleId"] == appID)
            let given = try await send(
                world,
                [
                    "type": "EXTERNAL_PURCHASE_TOKEN", "externalPurchaseId": "SANDBOX_x",
                    "tokenCreationDate": "2026-01-02T03:04:05.678Z",
                ]
            ).payload["externalPurchaseToken"]
            #expect(given?["externalPurchaseId"] == "SANDBOX_x" && given?["tokenCreationDate"] == 1_767_323_045_678)
            await world.remove()
        }
    }

    @Test("A deliberate error is refused for its own reason; unknown members are accepted")
    func flaws() async throws {
        let world = try await TimedWorld(EmulatorConfiguration())
        await world.tellServer()
        let id = try #require(try await world.buy()["transactionId"]?.string)
        let verdicts: [(String, Verdict?)] = [
            ("badSignature", .badSignature), ("wrongBundle", .wrongApp), ("wrongEnvironment", .wrongEnvironment),
            ("unknownField", nil), ("unknownType", nil),
        ]
        for (flaw, verdict) in verdicts {
            let (text, payload) = try await send(
                world, ["type": "ONE_TIME_CHARGE", "transactionId": .string(id), flaw: true])
            let verifier = try self.verifier(world)
            do throws(VerificationError) {
                let verified = try verifier.notification(text)
                #expect(verdict == nil, "\(flaw)")
                #expect(verified.transaction?.id.text == id)
                #expect((verified.type?.rawValue == "ONE_TIME_CHARGE") == (flaw != "unknownType"))
                #expect((payload["unheardOf"] != nil) == (flaw == "unknownField"))
            } catch {
                #expect(error.verdict == verdict, "\(flaw)")
            }
            // The nested transaction has the same error.
            let nested = try #require(payload["data"]?["signedTransactionInfo"]?.string)
            if let verdict {
                let failure = #expect(throws: VerificationError.self) { try verifier.transaction(nested) }
                #expect(failure?.verdict == verdict, "\(flaw)")
            }
        }
        // With the wrong environment it is a valid one of the other environment.
        let (text, payload) = try await send(world, ["type": "TEST", "wrongEnvironment": true])
        #expect(payload["data"]?["appAppleId"] == 690_661_663)
        #expect(try verifier(world, environments: [.production]).notification(text).type == .test)
        await world.remove()
    }
}
