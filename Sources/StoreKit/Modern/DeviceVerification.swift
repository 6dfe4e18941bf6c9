import Foundation
import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

/// The checks that StoreKit makes on the device before it says `verified`: the chain up to the store's root, the
/// signature, the app, and that it was signed for this very device (facts/jws §2).
struct DeviceVerification: Sendable {
    private let verifier: SignedDataVerifier
    /// `AppStore.deviceVerificationID`.
    let deviceID: UUID

    /// - Parameter root: DER of the only certificate that is trusted.
    /// - Returns: nil for a root that is no certificate.
    init?(root: [UInt8], bundleID: String, deviceID: UUID) {
        // Every token of the store states its own date, so nothing here depends on a clock; the chain of one signer
        // is judged once for the life of the app.
        var policy = TrustPolicy(bundleID: bundleID, environments: nil, now: { Instant(milliseconds: 0) })
        policy.roots = [root]
        guard let verifier = try? SignedDataVerifier(policy: policy) else { return nil }
        self.verifier = verifier
        self.deviceID = deviceID
    }

    /// - Returns: nil for a text that can't be read as such a value at all.
    func verify<Value: SignedValue>(
        _ jws: String, as type: Value.Type
    ) -> VerificationResult<Value>? {
        guard let text = SignedText(jws), let value = Value(text) else { return nil }
        do throws(VerificationFailure) {
            try Value.verify(jws, by: verifier)
        } catch {
            return .unverified(value, Self.error(error.verdict, text))
        }
        return isForThisDevice(value) ? .verified(value) : .unverified(value, .invalidDeviceVerification)
    }

    /// SHA-384 over the nonce's and the device's text, both in lower case (facts/jws §2, last paragraph).
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
        // Signed by the store, for another app or another device: not for who asks here.
        case .wrongApp, .wrongDevice: .invalidDeviceVerification
        case .malformed where !isReadable(text): .invalidEncoding
        case .malformed, .wrongEnvironment, .ok: .missingRequiredProperties
        }
    }

    /// Whether the envelope is one that Apple writes; then it is the payload that lacks something.
    private static func isReadable(_ text: SignedText) -> Bool {
        guard let header = try? JSONValue(decoding: Array(text.header)) else { return false }
        return header["alg"] == .string("ES256") && (try? JSONValue(decoding: Array(text.payload))) != nil
    }
}

extension DeviceSession {
    /// Reads what the store signed and checks it as a device does.
    ///
    /// - Throws: `StoreFault` if the store's root can't be had; `unreadable` for a text that is no such token.
    func verify<Value: SignedValue>(
        _ jws: String, as type: Value.Type = Value.self
    ) async throws(StoreFault) -> VerificationResult<Value> {
        guard let result = try await verification().verify(jws, as: type) else { throw .unreadable(status: 200) }
        return result
    }
}
