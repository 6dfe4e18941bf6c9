extension OwnershipBasis {
    /// For operators: what says that a grant is its owner's.
    public var sentence: Text {
        switch self {
        case .receipt:
            Text(en: "A receipt and the order id beside it. A signed copy may move it.", zh: "收据及随附的订单号。签名凭证可能改变归属。")
        case .orderID:
            Text(en: "A copy that Apple signed without a token.", zh: "Apple 签名但不带令牌的凭证。")
        case .token: Text(en: "The token that Apple signed.", zh: "Apple 签名的令牌。")
        case .person:
            Text(
                en: "A person: an operator, or the customer with Apple's order number.",
                zh: "由人决定：运营人员，或出示 Apple 订单号的顾客。")
        }
    }
}

extension OwnershipDecision.Note {
    /// For operators.
    public var sentence: Text {
        switch self {
        case .olderCopyNamesAnother:
            Text(
                en: "An older signed copy has a token that is not the owner's. Older copies move nothing.",
                zh: "较早的签名凭证带有不属于归属人的令牌。较早的凭证不改变归属。")
        case .tokenChanged:
            Text(
                en: "A newer signed copy has another token. Make a transfer if the purchase is another customer's.",
                zh: "较新的签名凭证带有另一个令牌。若购买属于其他顾客，请新建一次转移。")
        }
    }
}
