extension Refusal {
    /// What is wrong with a transfer, for a person.
    var transferSentence: Text {
        switch self {
        case .guestTaken:
            Text(
                en: "This guest's purchases went to another account. An operator can take that back.",
                zh: "该游客的购买已并入另一个账号。可由运营人员撤销。")
        case .accountMerged:
            Text(
                en: "This account was itself a guest and is part of another account now. Name that one.",
                zh: "该账号本身曾是游客，已并入另一个账号。请改用那个账号。")
        case .notAGuest:
            Text(
                en: "Only a guest becomes part of an account, and this user isn't one. Show a token of the guest with "
                    + "\"guest\": true; between accounts an operator transfers purchases.",
                zh: "只有游客才能并入账号，而该用户不是游客。请提供带有 \"guest\": true 的游客令牌；账号之间的购买由运营人员转移。")
        case .guestMerged:
            Text(
                en: "This guest signed in to an account, and everything it bought is there. Use that account.",
                zh: "该游客已登录并入账号，其全部购买都在那个账号中。请使用该账号。")
        case .undoExpired:
            Text(
                en: "The time in which this merge could be taken back is over. Transfer single purchases instead.",
                zh: "已超过可撤销该合并的期限。请改为逐笔转移购买。")
        case .sameUser: Text(en: "The two users are the same.", zh: "转出与转入是同一个用户。")
        case .notTheHolder:
            Text(
                en: "That user doesn't have this purchase. List the user's transfers to see where it went.",
                zh: "该用户没有这笔购买。请查看该用户的转移记录。")
        case .unknownTransfer: Text(en: "There is no such transfer.", zh: "没有这条转移记录。")
        default:
            Text(
                en: "This can't be reversed: it is a reversal itself, or both users are one account by now. Make a new "
                    + "transfer.",
                zh: "无法撤销：它本身就是一次撤销，或双方现已是同一个账号。请新建一次转移。")
        }
    }
}

extension Transfer.Kind {
    /// For operators: why it was moved.
    public var sentence: Text {
        switch self {
        case .guestMerge: Text(en: "A guest signed in to an account.", zh: "游客登录了账号。")
        case .restore: Text(en: "It was restored, and the shop lets it move.", zh: "在设备上恢复购买，且商店允许转移。")
        case .support: Text(en: "Somebody of the shop decided so.", zh: "由运营人员决定。")
        case .reversal: Text(en: "A transfer was taken back.", zh: "撤销了一次转移。")
        case .signedBuyer:
            Text(
                en: "A receipt had granted it, and the copy that Apple signed names another customer.",
                zh: "先前仅凭收据发放，而 Apple 签名的凭证指明了另一位用户。")
        }
    }
}
