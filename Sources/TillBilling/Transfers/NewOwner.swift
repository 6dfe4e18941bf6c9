/// Whose a newly paid transaction becomes, where purchases were moved before it came.
public struct NewOwner: Hashable, Sendable {
    /// Why it is not the buyer's. Recorded as evidence.
    public enum Ground: String, Hashable, Sendable, CaseIterable {
        /// What came before it in its chain under the same order is another customer's now.
        case chainHolder = "chain_holder"
        /// The buyer was a guest, who has an account by now (P12).
        case mergedGuest = "merged_guest"
    }

    public let user: UserID
    public let ground: Ground?

    /// - Parameters:
    ///   - buyer: whose order Apple signed.
    ///   - chainHolder: who has the newest transaction of the same chain that was paid under the same order. A chain
    ///     goes on where it is; a customer who begins a chain anew, with an order of their own, begins it for
    ///     themselves.
    ///   - account: the buyer's account, if the buyer was a guest.
    public init(buyer: UserID, chainHolder: UserID?, account: UserID?) {
        if let chainHolder {
            user = chainHolder
            ground = chainHolder == buyer ? nil : .chainHolder
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
    /// The same as another customer's: of the one who has it now.
    ///
    /// - Parameter order: under which it is theirs; nil: under which it was granted.
    public func held(by user: UserID, under order: OrderID? = nil) -> Grant {
        Grant(
            id: id, environment: environment, transactionID: transactionID, orderID: order ?? orderID, userID: user,
            productID: productID, quantity: quantity, points: points, entitlement: entitlement, at: at)
    }
}

extension NewOwner.Ground {
    /// For operators.
    public var sentence: Text {
        switch self {
        case .chainHolder:
            Text(
                en: "Its subscription was transferred to another customer, who also gets the renewals.",
                zh: "该订阅已转移给其他客户，续订也归其所有。")
        case .mergedGuest:
            Text(en: "It was paid by a guest who has since signed in to an account.", zh: "由游客付款，该游客已并入账号。")
        }
    }
}
