import TillAPI
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillStorage

extension Server {
    /// `POST /v1/notifications/apple`: the second door. Stored raw before anything is made of it; 4xx only for what is
    /// not Apple's, because Apple does not send again what was answered 200.
    func receiveNotification(_ call: Call) async throws -> HTTPResponse {
        let body = try JSONText.decode(AppleNotificationBody.self, from: call.request.body)
        let notification: VerifiedNotification
        do throws(ProofRefusal) {
            notification = try verifier.notification(body.signedPayload)
        } catch {
            let entry = RefusedProofTable.Entry(
                at: clock(), door: Settle.Door.notification.rawValue, caller: "apple", claimedOrder: nil,
                code: error.refusal.rawValue, detail: error.detail,
                digest: Digest.sha256.hash(error.proof))
            try await database.write { try RefusedProofTable($0).insert(entry) }
            throw Refused(error.refusal, error.detail)
        }
        let uuid = try Bounds.string(notification.id, "notificationUUID", 64)
        let (environment, type, subtype) = (
            notification.environment, notification.type?.rawValue ?? "", notification.subtype?.rawValue
        )
        let (signedAt, now) = (notification.signedDate, clock())
        let sequence = try await database.write { session in
            try NotificationTable(session).insert(
                uuid: uuid, environment: environment, type: type, subtype: subtype, signedAt: signedAt, at: now,
                payload: body.signedPayload)
        }
        // Stored is enough for Apple; what can't be settled now is taken up again by `PendingNotifications`.
        if let sequence { try? await settleNotification(sequence, notification) }
        return JSONText.response(200, [String: String]())
    }

    /// Makes of a stored notification what there is to make of it.
    func settleNotification(_ sequence: Int64, _ notification: VerifiedNotification) async throws {
        guard verifier.accepts(notification.environment) else {
            let detail = "\(Refusal.wrongEnvironment.rawValue): \(notification.environment.rawValue)"
            try await database.write { try NotificationTable($0).mark(sequence, .stuck, detail: detail) }
            return
        }
        var detail = "no transaction"
        if let transaction = notification.transaction, let token = notification.payload.data?.signedTransactionInfo {
            let origin = Settle.Origin(door: .notification, caller: .apple, claimedOrder: nil)
            let proof = Settle.Proof(kind: .signedTransaction, bytes: Array(token.utf8))
            switch try await settle(transaction, proof: proof, origin: origin) {
            case .granted: detail = "granted"
            case .alreadyGranted: detail = "already granted"
            case .revoked: detail = "revoked"
            case .quarantined(let reason): detail = "quarantined: \(reason.rawValue)"
            }
        }
        let outcome = detail
        try await database.write { try NotificationTable($0).mark(sequence, .settled, detail: outcome) }
    }
}
