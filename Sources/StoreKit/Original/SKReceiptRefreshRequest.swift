import Foundation

public let SKReceiptPropertyIsExpired: String = "expired"
public let SKReceiptPropertyIsRevoked: String = "revoked"
public let SKReceiptPropertyIsVolumePurchase: String = "vpp"

/// Fetches the app receipt anew, to `EmulatedDevice.current.receiptURL`. Nobody is asked for a password here.
open class SKReceiptRefreshRequest: SKRequest, @unchecked Sendable {
    // Written once, in an initialiser, and never changed after.
    private let properties: [String: Any]?

    /// - Parameter properties: of a test receipt (`SKReceiptPropertyIsExpired` and so on). The emulated store's
    ///   receipts are those of bought purchases, so they change nothing.
    public init(receiptProperties properties: [String: Any]?) { self.properties = properties }

    public override init() { properties = nil }

    open var receiptProperties: [String: Any]? { properties }

    override func ask(_ session: DeviceSession) async throws -> @Sendable (any SKRequestDelegate) -> Void {
        try await session.renewReceipt()
        return { _ in }
    }
}
