import TillAppStore
import TillBilling
import TillCrypto

/// What a transaction that was asked for on a device carries besides, so that the device can tell that it was signed
/// for it and not copied from another (facts/jws §2, §4).
struct DeviceProof: Sendable, Hashable {
    let nonce: UniqueID
    /// SHA-384 over the nonce's text and the device's own, both in lower case.
    let digest: [UInt8]

    /// - Parameter nonce: a new one each time.
    init(_ device: StoreDevice, nonce: UniqueID) {
        self.nonce = nonce
        digest = Digest.sha384.hash(Array((nonce.description + device.verificationID.description).utf8))
    }

    var payload: DeviceProofPayload {
        var payload = DeviceProofPayload()
        payload.verification = Base64.encode(digest)
        payload.nonce = nonce.description
        return payload
    }
}

extension Issuer {
    /// The transaction as it is signed for one device.
    func signedTransaction(_ transaction: StoreTransaction, for proof: DeviceProof, at now: Instant) throws -> String {
        try sign(SignedContent.transaction(transaction, signed: now), for: proof)
    }

    /// The renewal info as it is signed for one device, whose newest period is `current`.
    func signedRenewal(
        _ subscription: StoreSubscription, current: StoreTransaction, for proof: DeviceProof, at now: Instant
    ) throws -> String {
        try sign(SignedContent.renewal(subscription, current: current, signed: now), for: proof)
    }
}
