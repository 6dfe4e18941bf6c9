import TillAPI
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger

extension Server {
    /// `POST /v1/notifications/apple`: stores the payload before processing it, because Apple does not resend a
    /// notification that was answered with 200. A payload that Apple did not sign is answered with 4xx.
    func receiveNotification(_ call: Call) async throws -> HTTPResponse {
        // Apple's notifications share their signer, so most are verified here. A payload with unknown certificates is
        // verified on the executor for heavy work, where no customer waits.
        let request = call.request
        let short = request.isLong ? nil : try Self.payload(of: call)
        if let short, verifier.knowsSigner(of: short) { return try await receiveNotification(short, call) }
        return try await heavy.run(forAnonymous: request) {
            let payload = try short ?? Self.payload(of: call)
            guard
                verifier.knowsSigner(of: payload)
                    || unknownSigners.mayVerify(payload, forAnonymous: request.clientNetwork, now: machineClock())
            else {
                log.write(
                    .limitReached,
                    ["limit": "unknown_signers", "network": .text(request.clientNetworkForLogs)])
                throw HeavyWorkLimiter.refusal
            }
            return try await receiveNotification(payload, call)
        }
    }

    /// TillJSON reads the one member of Apple's long body; the slower reader says what is wrong with another body.
    private static func payload(of call: Call) throws -> [UInt8] {
        if let payload = try? JSONObject(call.request.body).string("signedPayload") { return Array(payload.utf8) }
        return Array(try call.body(AppleNotificationBody.self).signedPayload.utf8)
    }

    private func receiveNotification(_ payload: [UInt8], _ call: Call) async throws -> HTTPResponse {
        let reading: NotificationReading
        do throws(ProofError) {
            reading = try await verifier.notification(payload)
        } catch {
            try await ledger.intake.refusals.write(
                error, fromAnonymous: call.request.clientNetwork, shortened: call.request.clientNetworkForLogs)
            throw RefusalError(error)
        }
        let uuid = try InputLimits.string(reading.id, "notificationUUID", 64)
        if case .foreign = reading {
            // Any client can resend a notification that Apple signed for another app. A known one costs no write; new
            // ones are rate limited.
            let isKnown = try await database.read { try ForeignNotificationTable($0).contains(uuid) }
            if isKnown { return JSONText.response(200, [String: String]()) }
            guard payload.count <= ForeignNotificationTable.payloadLimit else {
                throw RefusalError(.payloadTooLarge)
            }
            guard foreignRateLimit.take(call.request.clientNetwork, now: machineClock()) else {
                log.write(
                    .limitReached,
                    ["limit": "foreign_notifications", "network": .text(call.request.clientNetworkForLogs)])
                throw RefusalError(.tooManyRequests, "too many notifications for other apps", zh: "其他 App 的通知过多")
            }
        }
        _ = try await ledger.take(reading, payload: payload, from: .notification)
        return JSONText.response(200, text: Array("{}".utf8))
    }
}
