import TillAPI
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger

extension Server {
    /// `POST /v1/notifications/apple`: the second door. Stored raw before anything is made of it; 4xx only for what is
    /// not Apple's, because Apple does not send again what was answered 200.
    func receiveNotification(_ call: Call) async throws -> HTTPResponse {
        // Apple's next notification is signed as the last one was: it is judged at once. What shows certificates never
        // seen before is judged where no customer waits.
        let request = call.request
        let short = request.isLong ? nil : try Self.payload(of: call)
        if let short, verifier.knowsSigner(of: short) { return try await receiveNotification(short, call) }
        return try await heavy.run(forStranger: request) {
            let payload = try short ?? Self.payload(of: call)
            guard
                verifier.knowsSigner(of: payload)
                    || unknownSigners.mayJudge(payload, forStranger: request.clientNetwork, now: clock())
            else { throw HeavyDesk.refusal }
            return try await receiveNotification(payload, call)
        }
    }

    private static func payload(of call: Call) throws -> String {
        try call.body(AppleNotificationBody.self).signedPayload
    }

    private func receiveNotification(_ payload: String, _ call: Call) async throws -> HTTPResponse {
        let reading: NotificationReading
        do throws(ProofRefusal) {
            reading = try await verifier.notification(payload)
        } catch {
            let pace = refusalPace.keeping(ofStranger: call.request.clientNetwork, now: clock())
            try await log(error, at: .notification, keeping: pace)
            throw Refused(error.refusal, error.detail)
        }
        if case .foreign(let envelope, _) = reading {
            // Anybody can post one again that Apple signed: known ones cost no write, and new ones have a pace.
            let uuid = try Self.uuid(envelope.id)
            let isKnown = try await database.read { try ForeignNotificationTable($0).contains(uuid) }
            if isKnown { return JSONText.response(200, [String: String]()) }
            guard foreignPace.take(call.request.clientNetwork, now: clock()) else {
                throw Refused(.tooManyRequests, "notifications for other apps")
            }
        }
        _ = try await take(reading, payload: payload, at: .notification)
        return JSONText.response(200, [String: String]())
    }

    /// Stores what Apple signed, by whichever door it came, and makes of it what there is to make.
    ///
    /// - Returns: whether it is ours and was not here yet.
    func take(_ reading: NotificationReading, payload: String, at door: Settle.Door) async throws -> Bool {
        switch reading {
        case .foreign(let envelope, let reason):
            let entry = try foreignEntry(envelope, reason, payload: payload)
            try await database.write { try ForeignNotificationTable($0).insert(entry) }
            return false
        case .undecided(let notification):
            // Stored all the same: Apple's sandbox does not send again (facts/notifications §2).
            return try await store(notification, payload: payload) != nil
        case .ours(let notification, let isUnderDoubt):
            guard let sequence = try await store(notification, payload: payload) else { return false }
            // Stored is enough for Apple; what can't be settled now is taken up again by `PendingNotifications`.
            try? await settleNotification(sequence, notification, isUnderDoubt: isUnderDoubt, at: door)
            return true
        }
    }

    /// Makes of a stored notification what there is to make of it. Its type is not asked: what Apple signed about the
    /// transaction says what became of it, also in types that are yet to come (U4).
    func settleNotification(
        _ sequence: Int64, _ notification: VerifiedNotification, isUnderDoubt: Bool,
        at door: Settle.Door = .notification
    ) async throws {
        guard verifier.accepts(notification.environment) else {
            let detail = "\(Refusal.wrongEnvironment.rawValue): \(notification.environment.rawValue)"
            try await database.write { try NotificationTable($0).mark(sequence, .stuck, detail: detail) }
            return
        }
        var detail = "no transaction"
        let renewal = notification.renewal
        if let transaction = notification.transaction, let token = notification.payload.data?.signedTransactionInfo {
            let origin = Settle.Origin(door: door, caller: .apple, claimedOrder: nil)
            let proof = Settle.Proof(
                kind: .signedTransaction, bytes: Array(token.utf8), isUnderDoubt: isUnderDoubt)
            switch try await settle(transaction, proof: proof, origin: origin, renewal: renewal) {
            case .granted: detail = "granted"
            case .alreadyGranted: detail = "already granted"
            case .moved: detail = "moved to the signed buyer"
            case .contested(_, let reason): detail = "contested: \(reason.rawValue)"
            case .revoked, .revokedUnseen: detail = "revoked"
            case .quarantined(let reason): detail = "quarantined: \(reason.rawValue)"
            }
        } else if let renewal {
            try await settle.recordRenewal(renewal.info, proof: renewal.proof)
        }
        let outcome = detail
        try await database.write { session in
            try NotificationTable(session).mark(sequence, .settled, detail: outcome)
            try noteConsumptionRequest(sequence, notification, session)
        }
    }

    /// - Returns: the row's number; nil if it was there already (U4).
    private func store(_ notification: VerifiedNotification, payload: String) async throws -> Int64? {
        let uuid = try Self.uuid(notification.id)
        let (environment, type, subtype) = (
            notification.environment, notification.type?.rawValue ?? "", notification.subtype?.rawValue
        )
        let (signedAt, now) = (notification.signedDate, clock())
        return try await database.write { session in
            try NotificationTable(session).insert(
                uuid: uuid, environment: environment, type: type, subtype: subtype, signedAt: signedAt, at: now,
                payload: payload)
        }
    }

    private func foreignEntry(
        _ envelope: NotificationEnvelope, _ reason: ProofRefusal, payload: String
    ) throws -> ForeignNotificationTable.Entry {
        ForeignNotificationTable.Entry(
            uuid: try Self.uuid(envelope.id), app: (envelope.bundleID, envelope.appAppleID),
            environment: envelope.environment, type: envelope.type?.rawValue ?? "",
            subtype: envelope.subtype?.rawValue, receivedAt: clock(),
            reason: (reason.refusal.rawValue, reason.detail), payload: payload)
    }

    /// What came in Apple's name and is not believed.
    func log(
        _ refused: ProofRefusal, at door: Settle.Door, keeping: RefusalPace.Keeping = .rowAndRecord
    ) async throws {
        guard keeping != .nothing else { return }
        let entry = RefusedProofTable.Entry(
            at: clock(), door: door.rawValue, caller: "apple", claimedOrder: nil,
            code: refused.refusal.rawValue, detail: refused.detail, digest: Digest.sha256.hash(refused.proof),
            record: keeping == .rowAndRecord ? refused.record : nil)
        try await database.write { try RefusedProofTable($0).insert(entry) }
    }

    private static func uuid(_ text: String) throws -> String { try Bounds.string(text, "notificationUUID", 64) }
}

extension VerifiedNotification {
    /// What it says about the next renewal, with its bytes.
    var renewal: Settle.Renewal? {
        guard let renewalInfo, let token = payload.data?.signedRenewalInfo else { return nil }
        return Settle.Renewal(info: renewalInfo, proof: Array(token.utf8))
    }
}
