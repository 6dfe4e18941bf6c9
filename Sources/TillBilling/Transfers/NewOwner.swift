/// The owner of a newly paid transaction, if earlier purchases were moved.
public struct NewOwner: Hashable, Sendable {
    /// Why the owner is not the buyer. Recorded as evidence.
    public enum Ground: String, Hashable, Sendable, CaseIterable {
        /// An earlier transaction of the chain, under the same order, now belongs to another customer.
        case currentChainOwner = "chain_owner"
        /// The buyer was a guest and has been merged into an account.
        case mergedGuest = "merged_guest"
    }

    public let user: UserID
    public let ground: Ground?

    /// - Parameters:
    ///   - buyer: the customer whose order Apple signed.
    ///   - chainOwner: the owner of the newest transaction of the same chain that was paid under the same order. A
    ///     chain stays with its owner; a customer who restarts a chain with an order of their own becomes its owner.
    ///   - account: the buyer's account, if the buyer was a guest.
    public init(buyer: UserID, currentChainOwner: UserID?, account: UserID?) {
        if let currentChainOwner {
            user = currentChainOwner
            ground = currentChainOwner == buyer ? nil : .currentChainOwner
        } else if let account {
            user = account
            ground = .mergedGuest
        } else {
            user = buyer
            ground = nil
        }
    }
}

extension Grant {
    /// The same grant with its current owner.
    ///
    /// - Parameter order: the order under which the owner holds it; nil for the order of the grant.
    public func owned(by user: UserID, under order: OrderID? = nil) -> Grant {
        Grant(
            id: id, environment: environment, transactionID: transactionID, orderID: order ?? orderID, userID: user,
            productID: productID, quantity: quantity, points: points, entitlement: entitlement, at: at)
    }
}

extension NewOwner.Ground {
    /// For operators.
    public var sentence: LocalizedText {
        switch self {
        case .currentChainOwner:
            LocalizedText(
                en: "Its subscription was transferred to another customer, who also gets the renewals.",
                zh: "该订阅已转移给其他客户，续订也归其所有。")
        case .mergedGuest:
            LocalizedText(en: "It was paid by a guest who has since signed in to an account.", zh: "由游客付款，该游客已并入账号。")
        }
    }
}
