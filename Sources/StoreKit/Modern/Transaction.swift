import Foundation

/// Placeholder
public struct Transaction: Sendable, Hashable, Identifiable {
    public let id: UInt64
    let signedText: SignedText
    public var deviceVerification: Data
    public var deviceVerificationNonce: UUID
}
extension Transaction: SignedValue {
    static var token: SignedToken { .transaction }
    init?(_ text: SignedText) {
        guard let members = SignedMembers(text) else { return nil }
        id = members.id("transactionId") ?? 0
        signedText = text
        deviceVerification = members.base64("deviceVerification") ?? Data()
        deviceVerificationNonce = members.uuid("deviceVerificationNonce") ?? UUID([])
    }
}
