import TillAppStore
import TillBilling

/// A purchase with a verified proof: the signed data, and its original bytes.
package struct VerifiedPurchase: Sendable {
    package let transaction: VerifiedTransaction
    package let proof: PurchaseProof

    package init(_ transaction: VerifiedTransaction, _ proof: PurchaseProof) {
        self.transaction = transaction
        self.proof = proof
    }

    /// What Apple stated about the receipt; nil if Apple was not asked.
    package var statement: ReceiptStatement?
    /// Renewal information that may come beside it.
    package var renewal: SignedRenewal?
}

/// The signed bytes, unchanged.
package struct PurchaseProof: Sendable {
    package let kind: ProofTable.Kind
    package let bytes: [UInt8]
    /// Accepted on its signature, while Apple did not say whether its signer's certificate was revoked.
    package var isRevocationUnknown = false

    package init(kind: ProofTable.Kind, bytes: [UInt8], isRevocationUnknown: Bool = false) {
        self.kind = kind
        self.bytes = bytes
        self.isRevocationUnknown = isRevocationUnknown
    }

    /// Stands for a proof that the ledger already has.
    static let stored = PurchaseProof(kind: .signedTransaction, bytes: [])
}

/// Signed renewal information, with its original bytes.
package struct SignedRenewal: Sendable {
    package let info: VerifiedRenewalInfo
    package let proof: [UInt8]

    package init(info: VerifiedRenewalInfo, proof: [UInt8]) {
        self.info = info
        self.proof = proof
    }
}

extension VerifiedTransaction {
    /// Whether Apple's system renewed it. Before API 1.8 Apple gave no reason, and neither does a receipt: then every
    /// transaction of a subscription except the first counts as a renewal (facts/jws §4).
    var isRenewal: Bool {
        if let transactionReason { return transactionReason == .renewal }
        return type == .autoRenewable && id != originalID
    }
}

extension VerifiedTransaction {
    /// Nil for the purchaser's own and the family's copies. A receipt does not state the ownership.
    fileprivate var otherOwnership: String? {
        guard source == .signedTransaction, let ownership, ownership != .purchased, ownership != .familyShared else {
            return nil
        }
        #if PLANTED_MISTAKES
            if PlantedMistake.grantsUnknownOwnership.isPlanted { return nil }
        #endif
        return ownership.rawValue
    }

    /// An assigned copy repeats the purchaser's number of seats but is only one of them (facts/seats-and-groups §4).
    fileprivate var seatsOfOwner: Int { otherOwnership == Ownership.assigned.rawValue ? 1 : quantity }
}

extension PaidTransaction {
    /// A receipt with Apple's statement about it is a copy from the time of the statement.
    init(_ purchase: VerifiedPurchase) {
        let statement = purchase.statement.flatMap { purchase.proof.kind == .receipt ? $0 : nil }
        self.init(purchase.transaction, statement)
    }

    /// The part of the signed data that processing needs.
    init(_ verified: VerifiedTransaction, _ statement: ReceiptStatement? = nil) {
        let token = statement?.token ?? AppAccountToken(text: verified.appAccountTokenText)
        let signedAt = statement.map { max($0.statedAt, verified.signedDate) } ?? verified.signedDate
        self.init(
            id: verified.id, originalID: verified.originalID, productID: verified.productID,
            quantity: verified.seatsOfOwner, environment: verified.environment, token: token,
            purchasedAt: verified.purchaseDate, signedAt: signedAt,
            revokedAt: statement?.revokedAt ?? verified.revocationDate,
            isRenewal: verified.isRenewal, isFromReceipt: verified.source == .receipt, price: verified.signedPrice,
            terms: TransactionTerms(verified), chainBeganAt: verified.originalPurchaseDate,
            statesReason: verified.transactionReason != nil || !verified.isRenewal,
            appTransactionID: verified.appTransactionID.flatMap { $0.isEmpty ? nil : $0 })
    }
}

extension AppAccountToken {
    /// Nil without a token, and for the UUIDs that stand for none.
    init?(text: String?) {
        guard let text, !text.isEmpty else { return nil }
        guard let id = UniqueID(text) else {
            self = .unreadable
            return
        }
        if id.isNilOrMaximum { return nil }
        self = .order(id)
    }
}

extension TransactionTerms {
    init(_ verified: VerifiedTransaction) {
        self.init(
            type: verified.type,
            expiresAt: verified.expiresDate,
            isUpgraded: verified.isUpgraded, isFamilyShared: verified.ownership == .familyShared,
            groupID: verified.subscriptionGroupID, storefront: verified.storefront,
            offer: verified.offer.flatMap { offer in
                offer.type.map {
                    Offer(type: $0.rawValue, id: offer.identifier, discount: offer.discountType?.rawValue)
                }
            })
        otherOwnership = verified.otherOwnership
        revocationType = verified.revocationType?.rawValue
        revocationPercentage = verified.revocationPercentage
    }
}
