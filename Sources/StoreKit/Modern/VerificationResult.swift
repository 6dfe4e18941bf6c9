import Foundation
import TillAppStore
import TillBilling
import TillCrypto
import TillJSON
import TillThreads

/// The result of StoreKit's verification of signed data on this device.
@frozen public enum VerificationResult<SignedType> {
    case unverified(SignedType, VerificationError)
    case verified(SignedType)

    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum VerificationError: Error, Hashable, Sendable {
        case revokedCertificate
        /// The certificate chain doesn't end at the store's root.
        case invalidCertificateChain
        /// Signed for another device, or for another app.
        case invalidDeviceVerification
        case invalidEncoding
        case invalidSignature
        case missingRequiredProperties
    }

    /// - Throws: `VerificationError` if the value isn't verified.
    public var payloadValue: SignedType {
        get throws {
            switch self {
            case .verified(let value): return value
            case .unverified(_, let error): throw error
            }
        }
    }

    /// The value, verified or not.
    public var unsafePayloadValue: SignedType {
        switch self {
        case .verified(let value), .unverified(let value, _): value
        }
    }
}

extension VerificationResult: Sendable where SignedType: Sendable {}
extension VerificationResult: Equatable where SignedType: Equatable {}
extension VerificationResult: Hashable where SignedType: Hashable {}

extension VerificationResult: CustomDebugStringConvertible where SignedType: CustomDebugStringConvertible {
    public var debugDescription: String {
        switch self {
        case .verified(let value): "verified(\(value.debugDescription))"
        case .unverified(let value, let error): "unverified(\(value.debugDescription), \(error))"
        }
    }
}

extension VerificationResult where SignedType: SignedValue {
    /// The signed text, for the public members that Apple declares for each type.
    var text: SignedText { unsafePayloadValue.signedText }
}

@available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *)
extension VerificationResult.VerificationError: LocalizedError {
    public var errorDescription: String? {
        switch self {
        case .revokedCertificate: "The certificate chain was used to sign after it was revoked."
        case .invalidCertificateChain: "The certificate chain does not lead to the App Store's root."
        case .invalidDeviceVerification: "The value was signed for another device or app."
        case .invalidEncoding: "The value is not encoded as the App Store encodes it."
        case .invalidSignature: "The signature is not valid."
        case .missingRequiredProperties: "The value lacks properties that are required."
        }
    }
}

/// A signed token, split into its parts. Its content counts only after `DeviceSession.verify`.
struct SignedText: Sendable, Hashable {
    let jws: String
    let header: Data
    /// JSON, in the schema of facts/jws §4 to §6.
    let payload: Data
    let signature: Data

    /// Nil unless the text has three parts of base64url.
    init?(_ jws: String) {
        let parts = jws.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64.decode(parts[0], .url), let payload = Base64.decode(parts[1], .url),
            let signature = Base64.decode(parts[2], .url)
        else { return nil }
        self.jws = jws
        self.header = Data(header)
        self.payload = Data(payload)
        self.signature = Data(signature)
    }

    /// The bytes that the signature covers.
    var signed: Data {
        let bytes = jws.utf8
        return Data(bytes[..<(bytes.lastIndex(of: UInt8(ascii: ".")) ?? bytes.startIndex)])
    }
}

/// A type of signed data: a transaction, renewal info, or app transaction.
protocol SignedValue: Sendable {
    associatedtype Payload: LenientPayload
    /// Lenient: missing values have a neutral default, because Apple also returns values that fail its verification.
    init(_ payload: Payload, _ text: SignedText)
    /// Verifies a token of this kind.
    static func verify(_ jws: String, by verifier: SignedDataVerifier) throws(VerificationError)
    var signedText: SignedText { get }
    /// The proof that the token was signed for this device; empty if there is none.
    var deviceVerification: Data { get }
    var deviceVerificationNonce: UUID { get }
}

extension SignedValue {
    /// Nil if the payload is not a JSON object, or names a member twice.
    init?(_ text: SignedText) {
        guard text.members != nil, let payload = Payload(lenientlyDecoding: Array(text.payload)) else { return nil }
        self.init(payload, text)
    }
}

extension SignedText {
    fileprivate var members: [String: JSONValue]? { (try? JSONValue(decoding: payload))?.object }

    /// The content, without the members that change with every signature.
    var membersWithoutSigning: [String: JSONValue]? {
        members?.filter { !["signedDate", "deviceVerification", "deviceVerificationNonce"].contains($0.key) }
    }

    /// Empty if no device requested the token.
    var deviceProof: (verification: Data, nonce: UUID) {
        let proof = DeviceProofPayload(lenientlyDecoding: Array(payload))
        let verification = (proof?.verification).flatMap { Data(base64Encoded: $0) }
        return (verification ?? Data(), (proof?.nonce).flatMap { UUID(uuidString: $0) } ?? UUID([]))
    }
}

extension Date {
    init(_ instant: Instant) { self.init(timeIntervalSince1970: Double(instant.milliseconds) / 1_000) }

    static let epoch = Date(timeIntervalSince1970: 0)
}

extension Decimal {
    /// - Parameter milliunits: thousandths of the currency's unit.
    init(milliunits: Int64) {
        self.init(sign: milliunits < 0 ? .minus : .plus, exponent: -3, significand: Decimal(milliunits.magnitude))
    }
}

/// StoreKit's verification on the device, which determines `verified`: the chain up to the store's root, the signature,
/// the app, and the device (facts/jws §2).
struct DeviceVerification: Sendable {
    private let verifier: SignedDataVerifier
    /// `AppStore.deviceVerificationID`.
    let deviceID: UUID

    /// - Parameter root: the DER of the only trusted certificate.
    /// - Returns: nil if the root is not a certificate.
    init?(root: [UInt8], bundleID: String, deviceID: UUID) {
        // Every token of the store states its own date, so verification does not depend on a clock; each signer's chain
        // is verified once for the life of the process.
        var policy = TrustPolicy(bundleID: bundleID, environments: nil, now: { Instant(milliseconds: 0) })
        policy.roots = [root]
        let known = Self.newest.withLock { $0 }
        if let known, known.policy.roots == policy.roots, known.policy.bundleID == policy.bundleID {
            verifier = known
        } else {
            guard let new = try? SignedDataVerifier(policy: policy) else { return nil }
            Self.newest.withLock { $0 = new }
            verifier = new
        }
        self.deviceID = deviceID
    }

    /// Apps in one process have one store, and reading its root takes longer than checking a signature.
    private static let newest = Locked<SignedDataVerifier?>(nil)

    /// - Returns: nil if the text can't be decoded as such a value.
    func verify<Value: SignedValue>(
        _ jws: String, as type: Value.Type
    ) -> VerificationResult<Value>? {
        guard let text = SignedText(jws), let value = Value(text) else { return nil }
        do throws(VerificationError) {
            try Value.verify(jws, by: verifier)
        } catch {
            return .unverified(value, Self.error(error.verdict, text))
        }
        return isForThisDevice(value) ? .verified(value) : .unverified(value, .invalidDeviceVerification)
    }

    /// SHA-384 of the nonce's and the device's text, both in lower case (facts/jws §2, last paragraph).
    private func isForThisDevice(_ value: some SignedValue) -> Bool {
        let text = value.deviceVerificationNonce.uuidString.lowercased() + deviceID.uuidString.lowercased()
        return constantTimeEqual(Digest.sha384.hash(Array(text.utf8)), Array(value.deviceVerification))
    }

    private static func error<Value>(
        _ verdict: Verdict, _ text: SignedText
    ) -> VerificationResult<Value>.VerificationError {
        switch verdict {
        case .missingX5C, .chainLength, .badCertificate, .badRoot, .chainUntrusted, .chainExpired, .missingOID:
            .invalidCertificateChain
        case .badSignature: .invalidSignature
        // Signed by the store for another app or another device.
        case .wrongApp, .wrongDevice: .invalidDeviceVerification
        case .malformed where !isReadable(text): .invalidEncoding
        case .malformed, .wrongEnvironment, .ok: .missingRequiredProperties
        }
    }

    /// Whether the envelope is valid, so that the payload must be incomplete.
    private static func isReadable(_ text: SignedText) -> Bool {
        guard let header = try? JSONValue(decoding: Array(text.header)) else { return false }
        return header["alg"] == .string("ES256") && (try? JSONValue(decoding: Array(text.payload))) != nil
    }
}

extension DeviceSession {
    /// Decodes signed data of the store and verifies it as a device does.
    ///
    /// - Throws: `EmulatorClientError` if the store's root can't be fetched; `unreadable` if the text is not such a
    ///   token.
    func verify<Value: SignedValue>(
        _ jws: String, as type: Value.Type = Value.self
    ) async throws(EmulatorClientError) -> VerificationResult<Value> {
        guard let result = try await verification().verify(jws, as: type) else { throw .unreadable(status: 200) }
        return result
    }
}
