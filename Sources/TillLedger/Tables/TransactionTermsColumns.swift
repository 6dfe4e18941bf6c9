import TillBilling
import TillSQL

extension Schema {
    /// The terms that Apple signed for a transaction, in columns of their own: what reports and the state of
    /// subscriptions are made of. Types are 1 consumable, 2 non-consumable, 3 auto-renewable, 4 non-renewing,
    /// 5 free; null is a type that nobody here knew when it came, or a row from before these columns.
    static let signedTerms: StaticString = """
        ALTER TABLE transactions ADD COLUMN type INTEGER;
        ALTER TABLE transactions ADD COLUMN expires_at INTEGER;
        ALTER TABLE transactions ADD COLUMN is_renewal INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE transactions ADD COLUMN is_upgraded INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE transactions ADD COLUMN is_shared INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE transactions ADD COLUMN group_id TEXT;
        ALTER TABLE transactions ADD COLUMN storefront TEXT;
        ALTER TABLE transactions ADD COLUMN offer_type INTEGER;
        ALTER TABLE transactions ADD COLUMN offer_id TEXT;
        ALTER TABLE transactions ADD COLUMN offer_discount TEXT;
        ALTER TABLE transactions ADD COLUMN revocation_type TEXT;
        ALTER TABLE transactions ADD COLUMN revocation_percentage INTEGER;
        """
}

extension Schema {
    /// Apple's raw word about the owner, where it is neither PURCHASED nor FAMILY_SHARED: what has one is no sale. And
    /// the quantity of an order for more than ten, which an operator grants: `quantity` is 10 there.
    static let otherOwnership: StaticString = """
        ALTER TABLE transactions ADD COLUMN ownership TEXT;
        ALTER TABLE orders ADD COLUMN large_quantity INTEGER
            CHECK (large_quantity IS NULL OR (large_quantity > 10 AND quantity = 10));
        """
}

extension Schema {
    /// Apple's id of the account in this app, one for each Apple Account: with which account a device's orders were
    /// paid.
    /// The index holds all orders of a device, so that a grant does not write to it.
    static let payingAccounts: StaticString = """
        ALTER TABLE transactions ADD COLUMN app_transaction TEXT;
        DROP INDEX orders_unpaid_by_device;
        CREATE INDEX orders_by_device ON orders (device, sequence) WHERE device IS NOT NULL;
        """
}

extension ProductType {
    /// In `ProductType.allCases`' order, from 1.
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

extension PaidTransaction {
    var tokenColumn: SQLValue {
        switch token {
        case .order(let id): .id(id)
        case .unreadable, nil: .null
        }
    }

    /// 0 a purchase, 1 a renewal, 2 a later period of which Apple did not say which of the two it is.
    private var renewalColumn: Int64 { statesReason ? (isRenewal ? 1 : 0) : 2 }

    /// In the order of `INSERT` and `UPDATE` in `TransactionTable`.
    var termsColumns: [SQLValue] {
        [
            terms.type?.column ?? .null, .optional(terms.expiresAt?.milliseconds), .integer(renewalColumn),
            .flag(terms.isUpgraded), .flag(terms.isFamilyShared), .optional(terms.groupID),
            .optional(terms.storefront), .optional(terms.offer.map { Int64($0.type) }), .optional(terms.offer?.id),
            .optional(terms.offer?.discount), .optional(terms.revocationType),
            .optional(terms.revocationPercentage.map { Int64($0) }), .optional(terms.otherOwnership),
        ]
    }
}

extension Row {
    /// Thirteen columns from `first`, in the order of `termsColumns`.
    func terms(from first: Int) -> TransactionTerms {
        var terms = TransactionTerms(
            type: isNull(first) ? nil : ProductType(column: integer(first)), expiresAt: optionalInstant(first + 1),
            isUpgraded: integer(first + 3) != 0, isFamilyShared: integer(first + 4) != 0,
            groupID: optionalText(first + 5), storefront: optionalText(first + 6))
        if !isNull(first + 7) {
            terms.offer = TransactionTerms.Offer(
                type: Int(integer(first + 7)), id: optionalText(first + 8), discount: optionalText(first + 9))
        }
        terms.revocationType = optionalText(first + 10)
        terms.revocationPercentage = isNull(first + 11) ? nil : Int(integer(first + 11))
        terms.otherOwnership = optionalText(first + 12)
        return terms
    }
}
