import TillBilling
import TillSQL

extension ProductType {
    /// The position in `ProductType.allCases`, counted from 1.
    var column: SQLValue {
        switch self {
        case .consumable: .integer(1)
        case .nonConsumable: .integer(2)
        case .autoRenewable: .integer(3)
        case .nonRenewing: .integer(4)
        case .freeSubscription: .integer(5)
        }
    }

    init?(column: Int64) {
        switch column {
        case 1: self = .consumable
        case 2: self = .nonConsumable
        case 3: self = .autoRenewable
        case 4: self = .nonRenewing
        case 5: self = .freeSubscription
        default: return nil
        }
    }
}

/// Apple's value for a purchase that another family member pays for.
private let familyShared = "FAMILY_SHARED"

extension PaidTransaction {
    var tokenColumn: SQLValue {
        switch token {
        case .order(let id): .id(id)
        case .unreadable, nil: .null
        }
    }

    /// 0 a purchase, 1 a renewal, 2 a later period for which Apple did not state which of the two it is.
    private var renewalColumn: Int64 { statesReason ? (isRenewal ? 1 : 0) : 2 }

    /// In the order of `TransactionTable.terms`, and of its `UPDATE`.
    var termsColumns: [SQLValue] {
        let terms = terms
        return [
            terms.type?.column ?? .null, .optional(terms.expiresAt?.milliseconds), .integer(renewalColumn),
            .flag(terms.isUpgraded), .optional(terms.groupID),
            .optional(terms.storefront), .optional(terms.offer.map { Int64($0.type) }), .optional(terms.offer?.id),
            .optional(terms.offer?.discount), .optional(terms.revocationType),
            .optional(terms.revocationPercentage.map { Int64($0) }),
            .optional(terms.otherOwnership ?? (terms.isFamilyShared ? familyShared : nil)),
        ]
    }
}

extension Row {
    /// Reads the columns `price` and `currency` of a transaction.
    func signedPrice() -> SignedPrice? {
        isNull("price") || isNull("currency")
            ? nil : SignedPrice(milliunits: integer("price"), currency: Currency(text("currency")))
    }

    /// Reads the columns `TransactionTable.terms`.
    func terms() -> TransactionTerms {
        var terms = TransactionTerms(
            type: optionalInteger("type").flatMap { ProductType(column: $0) },
            expiresAt: optionalInstant("expires_at"), isUpgraded: integer("is_upgraded") != 0,
            isFamilyShared: optionalText("ownership_type") == familyShared, groupID: optionalText("group_id"),
            storefront: optionalText("storefront"))
        if let type = optionalInteger("offer_type") {
            terms.offer = TransactionTerms.Offer(
                type: Int(type), id: optionalText("offer_id"), discount: optionalText("offer_discount"))
        }
        terms.revocationType = optionalText("revocation_type")
        terms.revocationPercentage = optionalInteger("revocation_percentage").map { Int($0) }
        terms.otherOwnership = optionalText("ownership_type").flatMap { $0 == familyShared ? nil : $0 }
        return terms
    }
}
