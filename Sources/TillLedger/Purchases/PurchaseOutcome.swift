import TillBilling

/// What became of a purchase.
package enum PurchaseOutcome: Sendable {
    case granted(Grant)
    case alreadyGranted(Grant)
    /// Granted by a receipt before; now its signed copy has moved it to the customer whom that names.
    case moved(Grant)
    /// Granted by a receipt; its signed copy names no known customer, so the owner keeps it for now.
    case contested(Grant, QuarantineReason)
    case revoked(Grant)
    /// Apple took it back before anything was granted. With the order that it paid for, if that was known.
    case revokedUnseen(Order?)
    case quarantined(QuarantineReason)

    /// A stable word.
    package var name: String {
        switch self {
        case .granted: "granted"
        case .alreadyGranted: "alreadyGranted"
        case .moved: "moved"
        case .contested(_, let reason): "contested \(reason.rawValue)"
        case .revoked, .revokedUnseen: "revoked"
        case .quarantined(let reason): "quarantined \(reason.rawValue)"
        }
    }
}
