/// How much one signed copy of a transaction counts beside the others: the newest one counts, in whatever order they
/// come (U4, U8; facts/notifications §3).
///
/// Of two copies that Apple signed in one moment the revocation is the later one, and then the upgrade: neither is
/// ever taken back in the moment it happens.
public struct SignedCopy: Hashable, Sendable {
    /// A receipt that shows no revocation argues against no signed transaction: it never shows the refund of a
    /// consumable (facts/business-rules §10).
    public let isSilentReceipt: Bool
    public let signedAt: Instant
    public let isRevoked: Bool
    public let isUpgraded: Bool
    public let expiresAt: Instant?

    public init(_ transaction: PaidTransaction) {
        isSilentReceipt = transaction.isFromReceipt && transaction.revokedAt == nil
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
            isSilentReceipt ? 0 : 1, signedAt.milliseconds, isRevoked ? 1 : 0, isUpgraded ? 1 : 0,
            expiresAt?.milliseconds ?? .min,
        ]
    }
}

extension SignedCopy {
    /// Whether Apple signed this copy after the other one.
    public func isNewer(than other: SignedCopy) -> Bool {
        #if PLANTED_MISTAKES
            if PlantedMistake.believesLastCopy.isPlanted { return true }
        #endif
        return self > other
    }

    /// Whether Apple signed this copy before the other one.
    public func isOlder(than other: SignedCopy) -> Bool {
        #if PLANTED_MISTAKES
            if PlantedMistake.believesLastCopy.isPlanted { return false }
        #endif
        return self < other
    }
}
