import TillBilling

/// The result of processing a purchase. Indirect, because the database's generic code passes it on, and would copy all
/// of a grant's values at each step.
package indirect enum PurchaseOutcome: Sendable {
    case granted(Grant)
    case alreadyGranted(Grant)
    /// Granted by a receipt before; its signed copy has now moved it to the customer whom that copy names.
    case moved(Grant)
    /// Granted by a receipt; its signed copy names no known customer, so the owner keeps it for now.
    case contested(Grant, QuarantineReason)
    case revoked(Grant)
    /// Revoked before anything was granted. With the order that it paid for, if that is known.
    case revokedUnseen(Order?)
    case quarantined(QuarantineReason)

    /// A stable code.
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
