/// The precedence of signed copies of one transaction: the newest copy counts, in whatever order they arrive
/// (facts/notifications §3).
///
/// Of two copies that Apple signed at the same moment, a revocation counts as the later one, then an upgrade: neither
/// is reversed at the moment it happens.
public struct SignedCopy: Hashable, Sendable {
    /// Whether it is a receipt without a revocation. It never overrides a signed transaction, because receipts do not
    /// show the refund of a consumable (facts/business-rules §10).
    public let isReceiptWithoutRefund: Bool
    public let signedAt: Instant
    public let isRevoked: Bool
    public let isUpgraded: Bool
    public let expiresAt: Instant?

    public init(_ transaction: PaidTransaction) {
        isReceiptWithoutRefund = transaction.isFromReceipt && transaction.revokedAt == nil
        signedAt = transaction.signedAt
        isRevoked = transaction.revokedAt != nil
        isUpgraded = transaction.terms.isUpgraded
        expiresAt = transaction.terms.expiresAt
    }
}

extension SignedCopy: Comparable {
    public static func < (left: SignedCopy, right: SignedCopy) -> Bool {
        left.order.lexicographicallyPrecedes(right.order)
    }

    private var order: [Int64] {
        [
            isReceiptWithoutRefund ? 0 : 1, signedAt.milliseconds, isRevoked ? 1 : 0, isUpgraded ? 1 : 0,
            expiresAt?.milliseconds ?? .min,
        ]
    }
}

extension SignedCopy {
    /// Whether Apple signed this copy after the other one.
    public func isNewer(than other: SignedCopy) -> Bool {
        #if PLANTED_MISTAKES
            if PlantedMistake.keepsLastCopy.isPlanted { return true }
        #endif
        return self > other
    }

    /// Whether Apple signed this copy before the other one.
    public func isOlder(than other: SignedCopy) -> Bool {
        #if PLANTED_MISTAKES
            if PlantedMistake.keepsLastCopy.isPlanted { return false }
        #endif
        return self < other
    }
}
