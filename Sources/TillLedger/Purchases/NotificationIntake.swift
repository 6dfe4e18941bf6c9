import TillAppStore
import TillBilling
import TillSQL

/// Apple's notifications: stored as signed, and processed like every purchase. Both are one commit if the purchase can
/// be processed now; otherwise the notification is stored alone.
extension Ledger {
    /// Stores a notification that Apple signed, whether Apple sent it or the server requested it, and processes it.
    ///
    /// - Returns: whether it is for this app and was new.
    package func take(
        _ reading: NotificationReading, payload: [UInt8], from source: PurchaseSource
    ) async throws -> Bool {
        switch reading {
        case .foreign(let envelope, let reason):
            guard (1...64).contains(envelope.id.utf8.count) else { return false }
            let entry = ForeignNotificationTable.Entry(
                uuid: envelope.id, app: (envelope.bundleID, envelope.appAppleID), environment: envelope.environment,
                type: envelope.type?.rawValue ?? "", subtype: envelope.subtype?.rawValue, receivedAt: clock(),
                reason: (reason.refusal.rawValue, reason.detail),
                payload: String(decoding: payload, as: UTF8.self))
            try await database.write(locking: [.notification(entry.uuid)]) {
                try ForeignNotificationTable($0).insert(entry)
            }
            return false
        case .undecided(let notification):
            // Stored even so, because Apple's sandbox does not send again (facts/notifications §2).
            return try await store(notification, payload: payload) != nil
        case .ours(let notification, let isRevocationUnknown):
            if let purchase = purchase(of: notification, isRevocationUnknown: isRevocationUnknown) {
                return try await take(purchase, of: notification, payload: payload, from: source)
            }
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

    /// Stores a notification and processes its purchase in one commit.
    ///
    /// - Returns: whether the notification was new.
    private func take(
        _ purchase: VerifiedPurchase, of notification: VerifiedNotification, payload: [UInt8],
        from source: PurchaseSource
    ) async throws -> Bool {
        let (uuid, now) = (notification.id, clock())
        do {
            let outcome = try await intake.processor.process(
                purchase, from: .apple(source), locking: [.notification(uuid)],
                unless: NotificationTable.finding(uuid),
                finishing: { outcome, connection in
                    let rowID = try insert(notification, payload, .processed, outcome.sentence, at: now, connection)
                    guard let rowID else { throw DatabaseError(.other, "notification \(uuid) is stored already") }
                    try noteConsumptionRequest(rowID, notification, connection)
                })
            return outcome != nil
        } catch let error as DatabaseError where error.mayHaveCommitted {
            // Whether it is stored is unknown, so Apple has to send it again.
            throw error
        } catch {
            // Storing is enough for Apple; `PendingNotifications` processes later what fails now.
            guard try await store(notification, payload: payload) != nil else { return false }
            workFailed("notification", notification.id, error)
            return true
        }
    }

    /// Nil if the notification has no transaction, or one that does not count on this server.
    private func purchase(of notification: VerifiedNotification, isRevocationUnknown: Bool) -> VerifiedPurchase? {
        guard verifier.accepts(notification.environment), let transaction = notification.transaction,
            let token = notification.signedTransaction
        else { return nil }
        let proof = PurchaseProof(
            kind: .signedTransaction, bytes: Array(token.utf8), isRevocationUnknown: isRevocationUnknown)
        var purchase = VerifiedPurchase(transaction, proof)
        purchase.renewal = notification.renewal
        return purchase
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
        if let purchase = purchase(of: notification, isRevocationUnknown: isRevocationUnknown) {
            _ = try await intake.processor.process(
                purchase, from: .apple(source), locking: [.notification(notification.id)]
            ) { outcome, connection in
                try finish(notification, rowID, outcome.sentence, connection)
            }
            return
        }
        if let renewal = notification.renewal { try await intake.processor.recordRenewal(renewal) }
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
    private func store(_ notification: VerifiedNotification, payload: [UInt8]) async throws -> Int64? {
        let now = clock()
        return try await database.write(locking: [.notification(notification.id)]) { connection in
            try insert(notification, payload, .pending, "", at: now, connection)
        }
    }

    private func insert(
        _ notification: VerifiedNotification, _ payload: [UInt8], _ state: NotificationTable.State, _ detail: String,
        at now: Instant, _ connection: any Connection
    ) throws -> Int64? {
        try NotificationTable(connection, knowing: proofHeaders).insert(
            uuid: notification.id, environment: notification.environment, type: notification.type?.rawValue ?? "",
            subtype: notification.subtype?.rawValue, signedAt: notification.signedDate, at: now, payload: payload,
            state: state, detail: detail)
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
        guard let renewalInfo, let token = signedRenewal else { return nil }
        return SignedRenewal(info: renewalInfo, proof: Array(token.utf8))
    }
}
