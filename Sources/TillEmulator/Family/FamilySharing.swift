import TillBilling
import TillStorage

/// What one member of a family buys, and the others get (facts/business-rules §1, `isFamilyShareable`).
enum FamilySharing {
    /// A shareable product was paid for, or renewed: the members get their copies, or the next period of them.
    static func share(_ transaction: StoreTransaction, _ subscription: StoreSubscription?, _ turn: Turn) throws {}

    /// What was paid is gone, by refund or expiry or because somebody left: the members' copies go too.
    static func revoke(_ transaction: StoreTransaction, _ turn: Turn) throws {}
}
