import TillBilling
import TillCrypto
import TillJSON

// Each kind of token is read first, so that a malformed one is reported before any other failure, and then verified.

extension ProofChecks {
    func transaction(_ jws: [UInt8]) throws(VerificationFailure) -> VerifiedTransaction {
        try judge(readTransaction(jws))
    }

    func renewalInfo(_ jws: [UInt8]) throws(VerificationFailure) -> VerifiedRenewalInfo {
        try judge(readRenewalInfo(jws))
    }

    func appTransaction(_ jws: [UInt8]) throws(VerificationFailure) -> VerifiedAppTransaction {
        try judge(readAppTransaction(jws))
    }

    // MARK: - Reading

    fileprivate typealias TransactionReading = TokenReading<(TransactionPayload, VerifiedTransaction.Essentials)>

    fileprivate func readTransaction(_ jws: [UInt8]) throws(VerificationFailure) -> TransactionReading {
        // The essential fields are read here, so that a payload without them is refused as malformed.
        var essentials: VerifiedTransaction.Essentials?
        let reading = try read(jws, as: .transaction) { json throws(JSONError) in
            try TransactionPayload(json)
        } _: { payload throws(VerificationFailure) in
            essentials = try VerifiedTransaction.Essentials(payload)
            return ProofClaims(
                kind: .transaction, bundleID: payload.bundleID, environment: payload.environment,
                date: payload.signedDate)
        }
        guard let essentials else { throw VerificationFailure(.malformed) }
        return TokenReading(token: reading.token, payload: (reading.payload, essentials), claims: reading.claims)
    }

    fileprivate func readRenewalInfo(
        _ jws: [UInt8]
    ) throws(VerificationFailure) -> TokenReading<RenewalInfoPayload> {
        try read(jws, as: .renewal) { json throws(JSONError) in
            try RenewalInfoPayload(json)
        } _: { payload in
            ProofClaims(kind: .renewal, environment: payload.environment, date: payload.signedDate)
        }
    }

    fileprivate func readAppTransaction(
        _ jws: [UInt8]
    ) throws(VerificationFailure) -> TokenReading<AppTransactionPayload> {
        try read(jws, as: .appTransaction) { json throws(JSONError) in
            try AppTransactionPayload(json)
        } _: { payload in
            ProofClaims(
                kind: .appTransaction, bundleID: payload.bundleID, appAppleID: payload.appAppleID,
                environment: payload.receiptType, date: payload.signedDate ?? payload.receiptCreationDate,
                dateSource: payload.signedDate == nil ? .receiptCreationDate : .signedDate)
        }
    }

    // MARK: - Judging

    fileprivate func judge(_ reading: TransactionReading) throws(VerificationFailure) -> VerifiedTransaction {
        try authenticate(reading.token, reading.claims)
        let environment = try environment(of: reading.claims)
        return VerifiedTransaction(
            reading.payload.1, payload: reading.payload.0, environment: environment, source: .signedTransaction)
    }

    fileprivate func judge(
        _ reading: TokenReading<RenewalInfoPayload>
    ) throws(VerificationFailure) -> VerifiedRenewalInfo {
        try authenticate(reading.token, reading.claims)
        return VerifiedRenewalInfo(payload: reading.payload, environment: try environment(of: reading.claims))
    }

    fileprivate func judge(
        _ reading: TokenReading<AppTransactionPayload>
    ) throws(VerificationFailure) -> VerifiedAppTransaction {
        try authenticate(reading.token, reading.claims)
        return VerifiedAppTransaction(payload: reading.payload, environment: try environment(of: reading.claims))
    }
}

extension ProofChecks {
    fileprivate func readNotification(
        _ jws: [UInt8]
    ) throws(VerificationFailure) -> TokenReading<NotificationPayload> {
        try read(jws, limit: SignedDataVerifier.notificationLimit, as: .notification) {
            json throws(JSONError) in
            try NotificationPayload(json)
        } _: { payload throws(VerificationFailure) in
            guard let id = payload.notificationUUID, (1...VerifiedTransaction.idLimit).contains(id.utf8.count) else {
                throw VerificationFailure(.malformed, "notificationUUID")
            }
            let subject = payload.subject
            return ProofClaims(
                kind: .notification, bundleID: subject.bundleID, appAppleID: subject.appAppleID,
                environment: subject.environment, date: payload.signedDate)
        }
    }

    func notification(_ jws: [UInt8]) throws(VerificationFailure) -> VerifiedNotification {
        let reading = try readNotification(jws)
        let payload = reading.payload
        let transaction = try nested(payload.data?.signedTransactionInfo, .transaction) {
            checks, token throws(VerificationFailure) in try checks.readTransaction(token)
        }
        let renewalInfo = try nested(payload.data?.signedRenewalInfo, .renewalInfo) {
            checks, token throws(VerificationFailure) in try checks.readRenewalInfo(token)
        }
        let appTransaction = try nested(payload.appData?.signedAppTransactionInfo, .appTransaction) {
            checks, token throws(VerificationFailure) in try checks.readAppTransaction(token)
        }
        try authenticate(reading.token, reading.claims)
        let environment = try environment(of: reading.claims)
        return VerifiedNotification(
            id: payload.notificationUUID ?? "", payload: payload, environment: environment,
            bundleID: reading.claims.bundleID,
            transaction: try judge(transaction, .transaction, inside: reading.claims) {
                checks, reading throws(VerificationFailure) in try checks.judge(reading)
            },
            renewalInfo: try judge(renewalInfo, .renewalInfo, inside: reading.claims) {
                checks, reading throws(VerificationFailure) in try checks.judge(reading)
            },
            appTransaction: try judge(appTransaction, .appTransaction, inside: reading.claims) {
                checks, reading throws(VerificationFailure) in try checks.judge(reading)
            })
    }
}

extension ProofChecks {
    /// Verifies the whole notification if it names an environment of the App Store; otherwise only the outer signature,
    /// because the content cannot be trusted.
    func envelope(_ jws: [UInt8]) throws(VerificationFailure) -> NotificationEnvelope {
        let reading = try readNotification(jws)
        if reading.claims.environment.flatMap(Environment.init(rawValue:)) != nil {
            _ = try notification(jws)
        } else {
            try authenticate(reading.token, reading.claims)
        }
        let payload = reading.payload
        return NotificationEnvelope(
            id: payload.notificationUUID ?? "", type: payload.notificationType, subtype: payload.subtype,
            signedDate: payload.signedDate, bundleID: payload.subject.bundleID,
            appAppleID: payload.subject.appAppleID, environment: payload.subject.environment)
    }
}

/// The tokens that a notification may contain.
enum NestedToken: String, CaseIterable {
    case transaction = "signedTransactionInfo"
    case renewalInfo = "signedRenewalInfo"
    case appTransaction = "signedAppTransactionInfo"

    var kind: TokenKind {
        switch self {
        case .transaction: .transaction
        case .renewalInfo: .renewal
        case .appTransaction: .appTransaction
        }
    }

    fileprivate var check: CheckCode {
        switch self {
        case .transaction: .nestedTransaction
        case .renewalInfo: .nestedRenewal
        case .appTransaction: .nestedAppTransaction
        }
    }
}

extension ProofChecks {
    /// Reads a token inside a notification, before any part of the notification is verified.
    func nested<Reading>(
        _ text: String?, _ name: NestedToken,
        _ read: (ProofChecks, [UInt8]) throws(VerificationFailure) -> Reading
    ) throws(VerificationFailure) -> (reading: Reading, journal: VerificationJournal?)? {
        guard let text else { return nil }
        let bytes = Array(text.utf8)
        let inner = journal?.nest(name.rawValue, kind: name.kind.proof, input: bytes)
        return try check(.nestedFormat) { () throws(VerificationFailure) in
            do throws(VerificationFailure) {
                return (try read(ProofChecks(demands, journal: inner, chains: chains, witness: witness), bytes), inner)
            } catch {
                throw error.nested(in: name.rawValue)
            }
        }
    }

    /// Verifies a token inside a notification, which must belong to the notification's app and environment.
    func judge<Reading, Verified>(
        _ nested: (reading: Reading, journal: VerificationJournal?)?, _ name: NestedToken,
        inside claims: ProofClaims,
        _ judge: (ProofChecks, Reading) throws(VerificationFailure) -> Verified
    ) throws(VerificationFailure) -> Verified? {
        guard let nested else { return nil }
        return try check(name.check) { () throws(VerificationFailure) in
            let inner = ProofChecks(
                ProofDemands(demands, inside: claims), journal: nested.journal, chains: chains, witness: witness)
            do throws(VerificationFailure) {
                let verified = try judge(inner, nested.reading)
                nested.journal?.complete()
                return verified
            } catch {
                throw error.nested(in: name.rawValue)
            }
        }
    }
}
