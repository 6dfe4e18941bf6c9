import Foundation

/// A promotional offer with the developer's signature over it (iOS 12.2).
open class SKPaymentDiscount: NSObject, @unchecked Sendable {
    // Written once, in the initialiser.
    public let identifier: String
    public let keyIdentifier: String
    public let nonce: UUID
    /// Base64 of DER.
    public let signature: String
    /// Milliseconds.
    public let timestamp: NSNumber

    public init(identifier: String, keyIdentifier: String, nonce: UUID, signature: String, timestamp: NSNumber) {
        self.identifier = identifier
        self.keyIdentifier = keyIdentifier
        self.nonce = nonce
        self.signature = signature
        self.timestamp = timestamp
    }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SKPaymentDiscount else { return false }
        return identifier == other.identifier && keyIdentifier == other.keyIdentifier && nonce == other.nonce
            && signature == other.signature && timestamp.int64Value == other.timestamp.int64Value
    }

    open override var hash: Int { nonce.hashValue }
}
