import Foundation
import TillAppStore

/// The customer's download of this app (facts/jws §6).
public struct AppTransaction: Hashable, Sendable {
    public let bundleID: String
    public let appVersion: String
    /// In the sandbox always 1.0.
    public let originalAppVersion: String
    /// The app's id in the App Store; nil in the sandbox.
    public let appID: UInt64?
    /// Nil in the sandbox.
    public let appVersionID: UInt64?
    public let environment: AppStore.Environment
    /// In the sandbox the same moment of 2013 for all customers.
    public let originalPurchaseDate: Date
    public let preorderDate: Date?
    /// Unique for each account and app; every family member has their own.
    public let appTransactionID: String
    public let originalPlatform: AppStore.Platform
    public let signedDate: Date
    public let deviceVerification: Data
    public let deviceVerificationNonce: UUID
    let signedText: SignedText

    /// The signed payload, JSON in the schema of facts/jws §6.
    public var jsonRepresentation: Data { signedText.payload }

    @available(*, deprecated, message: "Use originalPlatform")
    public var originalPlatformStringRepresentation: String { originalPlatform.rawValue }

    /// The app transaction, signed again for each request.
    ///
    /// - Throws: `StoreKitError`.
    public static var shared: VerificationResult<AppTransaction> {
        get async throws {
            let session = EmulatedDevice.current.session
            do throws(EmulatorClientError) {
                let account = try await session.status().account
                return try await session.verify(try await session.client.appTransaction(account: account))
            } catch {
                throw StoreKitError(error)
            }
        }
    }

    /// The same as ``shared``: this store requires no repeated sign-in.
    ///
    /// - Throws: `StoreKitError`.
    public static func refresh() async throws -> VerificationResult<AppTransaction> { try await shared }
}

extension AppTransaction: SignedValue {
    static func verify(_ jws: String, by verifier: SignedDataVerifier) throws(VerificationError) {
        _ = try verifier.appTransaction(jws)
    }

    init(_ payload: AppTransactionPayload, _ text: SignedText) {
        signedText = text
        bundleID = payload.bundleID ?? ""
        appVersion = payload.applicationVersion ?? ""
        originalAppVersion = payload.originalApplicationVersion ?? ""
        appID = payload.appAppleID.flatMap { UInt64(exactly: $0) }
        appVersionID = payload.versionExternalIdentifier.flatMap { UInt64(exactly: $0) }
        environment = AppStore.Environment(rawValue: payload.receiptType ?? "")
        originalPurchaseDate = payload.originalPurchaseDate.map { Date($0) } ?? .epoch
        preorderDate = payload.preorderDate.map { Date($0) }
        appTransactionID = payload.appTransactionID ?? ""
        originalPlatform = AppStore.Platform(rawValue: payload.originalPlatform?.rawValue ?? "")
        signedDate = payload.receiptCreationDate.map { Date($0) } ?? .epoch
        (deviceVerification, deviceVerificationNonce) = text.deviceProof
    }
}

extension AppTransaction: CustomDebugStringConvertible {
    public var debugDescription: String { String(decoding: jsonRepresentation, as: UTF8.self) }
}

// Members that Apple declares for each signed type.
extension VerificationResult where SignedType == AppTransaction {
    public var jwsRepresentation: String { text.jws }
    public var headerData: Data { text.header }
    public var payloadData: Data { text.payload }
    public var signatureData: Data { text.signature }
    /// The bytes that the signature covers.
    public var signedData: Data { text.signed }
    public var signedDate: Date { unsafePayloadValue.signedDate }
    public var deviceVerification: Data { unsafePayloadValue.deviceVerification }
    public var deviceVerificationNonce: UUID { unsafePayloadValue.deviceVerificationNonce }
}
