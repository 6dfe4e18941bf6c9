import TillBilling
import TillCrypto
import TillJSON

// Each kind of token is read first, so that a malformed one is reported before any other failure, and then verified.

extension ProofChecks {
    func transaction(_ jws: [UInt8]) throws(VerificationError) -> VerifiedTransaction {
        try verify(readTransaction(jws))
    }

    func renewalInfo(_ jws: [UInt8]) throws(VerificationError) -> VerifiedRenewalInfo {
        try verify(readRenewalInfo(jws))
    }

    func appTransaction(_ jws: [UInt8]) throws(VerificationError) -> VerifiedAppTransaction {
        try verify(readAppTransaction(jws))
    }

    // MARK: - Reading

    fileprivate typealias ParsedTransaction = ParsedToken<
        (SignedFields<TransactionPayload>, VerifiedTransaction.RequiredFields)
    >

    fileprivate func readTransaction(_ jws: [UInt8]) throws(VerificationError) -> ParsedTransaction {
        // The essential fields are read here, so that a payload without them is refused as malformed.
        var essentials: VerifiedTransaction.RequiredFields?
        let reading = try read(jws, as: .transaction) { json throws(JSONError) in
            SignedFields(try TransactionPayload(json))
        } _: { signed throws(VerificationError) in
            essentials = try VerifiedTransaction.RequiredFields(signed)
            return UnverifiedPayload(
                kind: .transaction, bundleID: signed.fields.bundleID, environment: signed.fields.environment,
                date: signed.fields.signedDate)
        }
        guard let essentials else { throw VerificationError(.malformed) }
        return ParsedToken(token: reading.token, payload: (reading.payload, essentials), unverified: reading.unverified)
    }

    fileprivate func readRenewalInfo(
        _ jws: [UInt8]
    ) throws(VerificationError) -> ParsedToken<SignedFields<RenewalInfoPayload>> {
        try read(jws, as: .renewal) { json throws(JSONError) in
            SignedFields(try RenewalInfoPayload(json))
        } _: { signed in
            UnverifiedPayload(kind: .renewal, environment: signed.fields.environment, date: signed.fields.signedDate)
        }
    }

    fileprivate func readAppTransaction(
        _ jws: [UInt8]
    ) throws(VerificationError) -> ParsedToken<SignedFields<AppTransactionPayload>> {
        try read(jws, as: .appTransaction) { json throws(JSONError) in
            SignedFields(try AppTransactionPayload(json))
        } _: { signed in
            let payload = signed.fields
            return UnverifiedPayload(
                kind: .appTransaction, bundleID: payload.bundleID, appAppleID: payload.appAppleID,
                environment: payload.receiptType, date: payload.signedDate ?? payload.receiptCreationDate,
                dateSource: payload.signedDate == nil ? .receiptCreationDate : .signedDate)
        }
    }

    // MARK: - Judging

    fileprivate func verify(_ reading: ParsedTransaction) throws(VerificationError) -> VerifiedTransaction {
        try authenticate(reading.token, reading.unverified)
        let environment = try environment(of: reading.unverified)
        return VerifiedTransaction(
            reading.payload.1, reading.payload.0, environment: environment, source: .signedTransaction)
    }

    fileprivate func verify(
        _ reading: ParsedToken<SignedFields<RenewalInfoPayload>>
    ) throws(VerificationError) -> VerifiedRenewalInfo {
        try authenticate(reading.token, reading.unverified)
        return VerifiedRenewalInfo(reading.payload, environment: try environment(of: reading.unverified))
    }

    fileprivate func verify(
        _ reading: ParsedToken<SignedFields<AppTransactionPayload>>
    ) throws(VerificationError) -> VerifiedAppTransaction {
        try authenticate(reading.token, reading.unverified)
        return VerifiedAppTransaction(reading.payload, environment: try environment(of: reading.unverified))
    }
}

extension ProofChecks {
    fileprivate func readNotification(
        _ jws: [UInt8]
    ) throws(VerificationError) -> ParsedToken<SignedFields<NotificationPayload>> {
        try read(jws, limit: SignedDataVerifier.notificationLimit, as: .notification) {
            json throws(JSONError) in
            SignedFields(try NotificationPayload(json))
        } _: { signed throws(VerificationError) in
            guard let id = signed.fields.notificationUUID, (1...VerifiedTransaction.idLimit).contains(id.utf8.count)
            else {
                throw VerificationError(.malformed, "notificationUUID")
            }
            let subject = signed.fields.subject
            return UnverifiedPayload(
                kind: .notification, bundleID: subject.bundleID, appAppleID: subject.appAppleID,
                environment: subject.environment, date: signed.fields.signedDate)
        }
    }

    func notification(_ jws: [UInt8]) throws(VerificationError) -> VerifiedNotification {
        let reading = try readNotification(jws)
        let signed = reading.payload
        let transaction = try nested(signed.fields.data?.signedTransactionInfo, .transaction) {
            checks, token throws(VerificationError) in try checks.readTransaction(token)
        }
        let renewalInfo = try nested(signed.fields.data?.signedRenewalInfo, .renewalInfo) {
            checks, token throws(VerificationError) in try checks.readRenewalInfo(token)
        }
        let appTransaction = try nested(signed.fields.appData?.signedAppTransactionInfo, .appTransaction) {
            checks, token throws(VerificationError) in try checks.readAppTransaction(token)
        }
        try authenticate(reading.token, reading.unverified)
        let environment = try environment(of: reading.unverified)
        return VerifiedNotification(
            signed, environment: environment, bundleID: reading.unverified.bundleID,
            transaction: try verify(transaction, .transaction, inside: reading.unverified) {
                checks, reading throws(VerificationError) in try checks.verify(reading)
            },
            renewalInfo: try verify(renewalInfo, .renewalInfo, inside: reading.unverified) {
                checks, reading throws(VerificationError) in try checks.verify(reading)
            },
            appTransaction: try verify(appTransaction, .appTransaction, inside: reading.unverified) {
                checks, reading throws(VerificationError) in try checks.verify(reading)
            })
    }
}

extension ProofChecks {
    /// Verifies the whole notification if it names an environment of the App Store; otherwise only the outer signature,
    /// because the content cannot be trusted.
    func envelope(_ jws: [UInt8]) throws(VerificationError) -> NotificationEnvelope {
        let reading = try readNotification(jws)
        // Apple signs no notification for Xcode.
        let environment = reading.unverified.environment.flatMap(StoreEnvironment.init(rawValue:))
        if environment == .production || environment == .sandbox {
            _ = try notification(jws)
        } else {
            try authenticate(reading.token, reading.unverified)
        }
        let payload = reading.payload.fields
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
        _ read: (ProofChecks, [UInt8]) throws(VerificationError) -> Reading
    ) throws(VerificationError) -> (reading: Reading, recorder: VerificationRecorder?)? {
        guard let text else { return nil }
        let bytes = Array(text.utf8)
        let inner = recorder?.nest(name.rawValue, kind: name.kind.proof, input: bytes)
        return try check(.nestedFormat) { () throws(VerificationError) in
            do throws(VerificationError) {
                return (
                    try read(
                        ProofChecks(verificationPolicy, recorder: inner, chains: chains, observer: observer), bytes),
                    inner
                )
            } catch {
                throw error.nested(in: name.rawValue)
            }
        }
    }

    /// Verifies a token inside a notification, which must belong to the notification's app and environment.
    func verify<Reading, Verified>(
        _ nested: (reading: Reading, recorder: VerificationRecorder?)?, _ name: NestedToken,
        inside unverified: UnverifiedPayload,
        _ verify: (ProofChecks, Reading) throws(VerificationError) -> Verified
    ) throws(VerificationError) -> Verified? {
        guard let nested else { return nil }
        return try check(name.check) { () throws(VerificationError) in
            let inner = ProofChecks(
                VerificationPolicy(verificationPolicy, inside: unverified), recorder: nested.recorder, chains: chains,
                observer: observer)
            do throws(VerificationError) {
                let verified = try verify(inner, nested.reading)
                nested.recorder?.complete()
                return verified
            } catch {
                throw error.nested(in: name.rawValue)
            }
        }
    }
}
