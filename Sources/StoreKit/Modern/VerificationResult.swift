import Foundation

/// Whether what the store signed passed StoreKit's checks on this device.
@frozen public enum VerificationResult<SignedType> {
    case unverified(SignedType, VerificationError)
    case verified(SignedType)

    public enum VerificationError: Error, Hashable, Sendable {
        case revokedCertificate
        /// No chain that ends at the store's root.
        case invalidCertificateChain
        /// Signed for another device, or for another app.
        case invalidDeviceVerification
        case invalidEncoding
        case invalidSignature
        case missingRequiredProperties
    }

    /// - Throws: `VerificationError` for what is not verified.
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

extension VerificationResult where SignedType: SignedValue {
    /// What was signed, for the public members that Apple declares type by type.
    var text: SignedText { unsafePayloadValue.signedText }
}
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
