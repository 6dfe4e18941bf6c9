import Foundation
import TillAppStore

/// The customer's download of this app (facts/jws §6).
@available(iOS 16.0, macOS 13.0, tvOS 16.0, watchOS 9.0, *)
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
    @available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, *)
    public let originalPlatform: AppStore.Platform
    /// The store that the customer got the app from. The emulated store is the one for consumers.
    @available(iOS 27.0, macOS 27.0, tvOS 27.0, watchOS 27.0, *)
    public let storeType: StoreType
    /// When the purchase of the app itself was revoked. The emulated store revokes none, so it is nil.
    public let revocationDate: Date?
    public let signedDate: Date
    public let deviceVerification: Data
    public let deviceVerificationNonce: UUID
    let signedText: SignedText

    /// The signed payload, JSON in the schema of facts/jws §6.
    public var jsonRepresentation: Data { signedText.payload }

    @available(iOS, introduced: 16.0, deprecated: 18.4, message: "Use originalPlatform")
    @available(macOS, introduced: 13.0, deprecated: 15.4, message: "Use originalPlatform")
    @available(tvOS, introduced: 16.0, deprecated: 18.4, message: "Use originalPlatform")
    @available(watchOS, introduced: 9.0, deprecated: 11.4, message: "Use originalPlatform")
    public var originalPlatformStringRepresentation: String { originalPlatform.rawValue }

    @available(iOS, introduced: 16.0, deprecated: 27.0, message: "Use storeType")
    @available(macOS, introduced: 13.0, deprecated: 27.0, message: "Use storeType")
    @available(tvOS, introduced: 16.0, deprecated: 27.0, message: "Use storeType")
    @available(watchOS, introduced: 9.0, deprecated: 27.0, message: "Use storeType")
    public var storeTypeStringRepresentation: String { storeType.rawValue }

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
        storeType = .consumer
        revocationDate = nil
        signedDate = payload.receiptCreationDate.map { Date($0) } ?? .epoch
        (deviceVerification, deviceVerificationNonce) = text.deviceProof
    }
}

extension AppTransaction {
    /// Apple documents the raw value of `consumer` only; the others follow its form.
    @available(iOS 27.0, macOS 27.0, tvOS 27.0, watchOS 27.0, *)
    public struct StoreType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public static let consumer = StoreType(rawValue: "CONSUMER")
        public static let education = StoreType(rawValue: "EDUCATION")
        public static let enterprise = StoreType(rawValue: "ENTERPRISE")
    }

    /// All app transactions of this version of the app: here always the account's own one. Empty while the store can't
    /// be reached.
    @available(iOS 27.0, macOS 27.0, tvOS 27.0, watchOS 27.0, *)
    public static var all: AppTransactions { AppTransactions() }

    @available(iOS 27.0, macOS 27.0, tvOS 27.0, watchOS 27.0, *)
    public struct AppTransactions: AsyncSequence, Sendable {
        public typealias Element = VerificationResult<AppTransaction>

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }

        public struct AsyncIterator: AsyncIteratorProtocol {
            private var hasBegun = false

            init() {}

            public mutating func next() async -> VerificationResult<AppTransaction>? {
                guard !hasBegun else { return nil }
                hasBegun = true
                return try? await AppTransaction.shared
            }
        }
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
