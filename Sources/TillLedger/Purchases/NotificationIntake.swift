import TillAppStore
import TillBilling
import TillSQL

/// Apple's notifications: stored raw first, then processed like every purchase.
extension Ledger {
    /// Stores a notification that Apple signed, whether Apple sent it or the server requested it, and processes it.
    ///
    /// - Returns: whether it is for this app and was new.
    package func take(
        _ reading: NotificationReading, payload: String, from source: PurchaseSource
    ) async throws -> Bool {
        switch reading {
        case .foreign(let envelope, let reason):
            guard (1...64).contains(envelope.id.utf8.count) else { return false }
            let entry = ForeignNotificationTable.Entry(
                uuid: envelope.id, app: (envelope.bundleID, envelope.appAppleID), environment: envelope.environment,
                type: envelope.type?.rawValue ?? "", subtype: envelope.subtype?.rawValue, receivedAt: clock(),
                reason: (reason.refusal.rawValue, reason.detail), payload: payload)
            try await database.write(locking: [.notification(entry.uuid)]) {
                try ForeignNotificationTable($0).insert(entry)
            }
            return false
        case .undecided(let notification):
            // Stored even so, because Apple's sandbox does not send again (facts/notifications §2).
            return try await store(notification, payload: payload) != nil
        case .ours(let notification, let isRevocationUnknown):
            guard let rowID = try await store(notification, payload: payload) else { return false }
            // Storing is enough for Apple; `PendingNotifications` processes later what fails now.
            do {
                try await process(notification, rowID, isRevocationUnknown: isRevocationUnknown, from: source)
            } catch {
                workFailed("notification", notification.id, error)
            }
            return true
        }
    }

    /// Writes that a piece of work failed that is done again later.
    ///
    /// - Parameter id: what the work is about, for example Apple's id of the notification.
    func workFailed(_ work: String, _ id: String, _ error: any Error) {
        log.write(.workFailed, ["work": .text(work), "id": .text(id), "cause": .cause(error)])
    }

    /// Processes a stored notification. The signed transaction decides the result and not the notification's type, so
    /// future types work too.
    func process(
        _ notification: VerifiedNotification, _ rowID: Int64, isRevocationUnknown: Bool,
        from source: PurchaseSource = .notification
    ) async throws {
        guard verifier.accepts(notification.environment) else {
            let detail = "\(Refusal.wrongEnvironment.rawValue): \(notification.environment.rawValue)"
            log.write(
                .notificationStuck,
                [
                    "id": .text(notification.id), "code": .text(Refusal.wrongEnvironment.rawValue),
                    "cause": .text(notification.environment.rawValue),
                ])
            try await database.write(locking: [.notification(notification.id)]) {
                try NotificationTable($0).mark(rowID, .stuck, detail: detail)
            }
            return
        }
        let renewal = notification.renewal
        if let transaction = notification.transaction, let token = notification.payload.data?.signedTransactionInfo {
            let proof = PurchaseProof(
                kind: .signedTransaction, bytes: Array(token.utf8), isRevocationUnknown: isRevocationUnknown)
            var purchase = VerifiedPurchase(transaction, proof)
            purchase.renewal = renewal
            _ = try await intake.processor.process(
                purchase, from: .apple(source), locking: [.notification(notification.id)]
            ) { outcome, connection in
                try finish(notification, rowID, outcome.sentence, connection)
            }
            return
        }
        if let renewal { try await intake.processor.recordRenewal(renewal) }
        try await database.write(locking: [.notification(notification.id)]) { connection in
            try finish(notification, rowID, "no transaction", connection)
        }
    }

    private func finish(
        _ notification: VerifiedNotification, _ rowID: Int64, _ detail: String, _ connection: any Connection
    ) throws {
        try NotificationTable(connection).mark(rowID, .processed, detail: detail)
        try noteConsumptionRequest(rowID, notification, connection)
    }

    /// - Returns: the row id; nil if the notification was already stored.
    private func store(_ notification: VerifiedNotification, payload: String) async throws -> Int64? {
        let (environment, type, subtype) = (
            notification.environment, notification.type?.rawValue ?? "", notification.subtype?.rawValue
        )
        let (uuid, signedAt, now) = (notification.id, notification.signedDate, clock())
        return try await database.write(locking: [.notification(uuid)]) { connection in
            try NotificationTable(connection).insert(
                uuid: uuid, environment: environment, type: type, subtype: subtype, signedAt: signedAt, at: now,
                payload: payload)
        }
    }
}

extension PurchaseOutcome {
    /// For operators.
    fileprivate var sentence: String {
        switch self {
        case .granted: "granted"
        case .alreadyGranted: "already granted"
        case .moved: "moved to the signed buyer"
        case .contested(_, let reason): "contested: \(reason.rawValue)"
        case .revoked, .revokedUnseen: "revoked"
        case .quarantined(let reason): "quarantined: \(reason.rawValue)"
        }
    }
}

extension VerifiedNotification {
    /// The signed renewal information with its bytes.
    var renewal: SignedRenewal? {
        guard let renewalInfo, let token = payload.data?.signedRenewalInfo else { return nil }
        return SignedRenewal(info: renewalInfo, proof: Array(token.utf8))
    }
}
