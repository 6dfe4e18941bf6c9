import TillBilling
import TillCrypto

extension SignedDataVerifier {
    /// A signed transaction (JWSTransaction), as StoreKit 2, the server API and notifications deliver it.
    ///
    /// - Parameter jws: the compact serialization, at most 64 KiB.
    /// - Throws: the first check that fails; `malformed` also if what a settlement needs is missing (ids, product,
    ///   dates).
    public func transaction(_ jws: [UInt8]) throws(VerificationFailure) -> VerifiedTransaction {
        let (token, json) = try token(jws, limit: Self.tokenLimit)
        try Self.check(json, is: .transaction)
        let payload = try Self.decoding { () throws(JSONError) in try TransactionPayload(json) }
        let essentials = try VerifiedTransaction.Essentials(payload)
        try authenticate(token, signedAt: payload.signedDate)
        try checkApp(bundleID: payload.bundleID)
        return VerifiedTransaction(
            essentials, payload: payload, environment: try environment(payload.environment), source: .signedTransaction)
    }

    public func transaction(_ jws: String) throws(VerificationFailure) -> VerifiedTransaction {
        try transaction(Array(jws.utf8))
    }

    /// A signed renewal info (JWSRenewalInfo). It names no app: believe it only beside its transaction.
    public func renewalInfo(_ jws: [UInt8]) throws(VerificationFailure) -> VerifiedRenewalInfo {
        let (token, json) = try token(jws, limit: Self.tokenLimit)
        try Self.check(json, is: .renewal)
        let payload = try Self.decoding { () throws(JSONError) in try RenewalInfoPayload(json) }
        try authenticate(token, signedAt: payload.signedDate)
        return VerifiedRenewalInfo(payload: payload, environment: try environment(payload.environment))
    }

    public func renewalInfo(_ jws: String) throws(VerificationFailure) -> VerifiedRenewalInfo {
        try renewalInfo(Array(jws.utf8))
    }

    /// A signed app transaction (AppTransaction): the customer's download of the app.
    public func appTransaction(_ jws: [UInt8]) throws(VerificationFailure) -> VerifiedAppTransaction {
        let (token, json) = try token(jws, limit: Self.tokenLimit)
        try Self.check(json, is: .appTransaction)
        let payload = try Self.decoding { () throws(JSONError) in try AppTransactionPayload(json) }
        try authenticate(token, signedAt: payload.signedDate ?? payload.receiptCreationDate)
        try checkApp(bundleID: payload.bundleID)
        try checkApp(appAppleID: payload.appAppleID, environment: payload.receiptType)
        return VerifiedAppTransaction(payload: payload, environment: try environment(payload.receiptType))
    }

    public func appTransaction(_ jws: String) throws(VerificationFailure) -> VerifiedAppTransaction {
        try appTransaction(Array(jws.utf8))
    }

    /// An App Store Server Notification of version 2, by its `signedPayload`, with every token nested in it verified
    /// too. A nested token's verdict becomes the notification's, with its name in the detail.
    ///
    /// - Parameter signedPayload: the compact serialization, at most 512 KiB.
    public func notification(_ signedPayload: [UInt8]) throws(VerificationFailure) -> VerifiedNotification {
        let (token, json) = try token(signedPayload, limit: Self.notificationLimit)
        try Self.check(json, is: .notification)
        let payload = try Self.decoding { () throws(JSONError) in try NotificationPayload(json) }
        guard let id = payload.notificationUUID, (1...VerifiedTransaction.idLimit).contains(id.utf8.count) else {
            throw VerificationFailure(.malformed, "notificationUUID")
        }
        try authenticate(token, signedAt: payload.signedDate)
        let subject = payload.subject
        try checkApp(bundleID: subject.bundleID)
        try checkApp(appAppleID: subject.appAppleID, environment: subject.environment)
        let environment = try environment(subject.environment)

        let transaction = try nested(payload.data?.signedTransactionInfo, "signedTransactionInfo", in: environment) {
            token throws(VerificationFailure) in
            let transaction = try self.transaction(token)
            guard transaction.bundleID == subject.bundleID else { throw VerificationFailure(.wrongApp, "bundleId") }
            return (transaction, transaction.environment)
        }
        let renewalInfo = try nested(payload.data?.signedRenewalInfo, "signedRenewalInfo", in: environment) {
            token throws(VerificationFailure) in
            let renewalInfo = try self.renewalInfo(token)
            return (renewalInfo, renewalInfo.environment)
        }
        let appTransaction = try nested(
            payload.appData?.signedAppTransactionInfo, "signedAppTransactionInfo", in: environment
        ) { token throws(VerificationFailure) in
            let appTransaction = try self.appTransaction(token)
            guard appTransaction.payload.bundleID == subject.bundleID else {
                throw VerificationFailure(.wrongApp, "bundleId")
            }
            return (appTransaction, appTransaction.environment)
        }
        return VerifiedNotification(
            id: id, payload: payload, environment: environment, bundleID: subject.bundleID, transaction: transaction,
            renewalInfo: renewalInfo, appTransaction: appTransaction)
    }

    public func notification(_ signedPayload: String) throws(VerificationFailure) -> VerifiedNotification {
        try notification(Array(signedPayload.utf8))
    }

    /// Verifies a token inside a notification, which must come from the notification's own environment.
    private func nested<Verified>(
        _ token: String?, _ name: String, in environment: Environment,
        _ verify: (String) throws(VerificationFailure) -> (Verified, Environment)
    ) throws(VerificationFailure) -> Verified? {
        guard let token else { return nil }
        do throws(VerificationFailure) {
            let (verified, itsEnvironment) = try verify(token)
            guard itsEnvironment == environment else {
                throw VerificationFailure(.wrongEnvironment, itsEnvironment.rawValue)
            }
            return verified
        } catch {
            throw error.nested(in: name)
        }
    }

    /// A proof of one kind is not taken for another, whoever signed it.
    private static func check(_ json: JSONObject, is expected: TokenKind) throws(VerificationFailure) {
        let kind = TokenKind { key in json.has(key) }
        guard kind == expected else {
            throw VerificationFailure(.malformed, "\(kind.rawValue) instead of \(expected.rawValue)")
        }
    }
}

/// What a JWS of Apple's is, told by the keys of its payload; the format itself does not say.
enum TokenKind: String {
    case notification
    case appTransaction = "apptransaction"
    case transaction
    case renewal

    init(having has: (StaticString) -> Bool) {
        self =
            has("notificationType")
            ? .notification : has("receiptType") ? .appTransaction : has("bundleId") ? .transaction : .renewal
    }
}
