extension Refusal {
    /// The problem and its remedy, for a person.
    public var sentence: LocalizedText {
        switch self {
        case .malformed, .missingChain, .chainLength, .badCertificate, .badRoot, .chainUntrusted, .chainExpired,
            .missingOID, .badSignature, .wrongApp, .wrongEnvironment, .wrongDevice, .certificateRevoked,
            .revocationUnknown, .receiptRefused, .receiptNeedsRefresh:
            proofSentence
        case .transactionNotInReceipt, .transactionMismatch, .productMismatch, .unknownProduct, .quantityNotAllowed,
            .unknownOrder, .orderConflict, .orderIDUnproven, .tokenInUse, .staleCursor, .illegalMove, .previewChanged,
            .unknownEntitlement, .insufficientFunds,
            .referenceConflict, .inDebt, .unknownCurrency, .reportUnusable:
            businessSentence
        case .notAutoRenewable, .offerNotOpen, .noInAppPurchaseKey: offerSentence
        case .guestTaken, .accountMerged, .notAGuest, .guestMerged, .undoExpired, .sameUser, .notTheOwner,
            .unknownTransfer, .notReversible:
            transferSentence
        case .unknownTransaction, .notInQuarantine, .notClaimable, .unknownOrderNumber, .noOrderLookup:
            claimSentence
        case .unknownUser, .erasureUnconfirmed, .noErasureKey: personSentence
        case .unknownImport:
            LocalizedText(
                en: "The ledger has no import with this id. GET /v1/imports lists them.",
                zh: "账本中没有此编号的导入。GET /v1/imports 可列出全部导入。")
        case .importUndone:
            LocalizedText(
                en: "The import was undone, at least in part. Begin a new one.", zh: "这次导入已被撤销（至少一部分）。请重新开始一次导入。")
        case .unknownEndpoint:
            LocalizedText(en: "The configuration has no webhook endpoint of this id.", zh: "配置中没有这个 webhook 端点。")
        case .unknownEvent: LocalizedText(en: "There is no such event.", zh: "没有这个事件。")
        default: requestSentence
        }
    }

    private var proofSentence: LocalizedText {
        switch self {
        case .missingChain:
            LocalizedText(
                en: "The signed data carries no certificates, so it can't come from Apple.",
                zh: "签名数据不含证书，不可能来自 Apple。"
            )
        case .chainLength:
            LocalizedText(
                en: "The signed data must carry exactly three certificates; it carries another number.",
                zh: "签名数据必须恰好携带三张证书，实际数量不符。")
        case .badCertificate: LocalizedText(en: "A certificate in the proof can't be read.", zh: "凭证中的证书无法读取。")
        case .badRoot:
            LocalizedText(
                en: "The configured root certificate can't be read. Check \"apple.roots\".",
                zh: "配置的根证书无法读取，请检查 \"apple.roots\"。")
        case .chainUntrusted:
            LocalizedText(
                en: "The proof isn't signed by Apple. Nothing is granted for it.", zh: "该凭证不是由 Apple 签名的，不会发放任何内容。")
        case .chainExpired:
            LocalizedText(
                en: "The certificate wasn't valid when the proof was signed.", zh: "签名时证书不在有效期内。")
        case .missingOID:
            LocalizedText(
                en: "The certificate isn't one that Apple uses for purchases.", zh: "该证书不是 Apple 用于内购签名的证书。")
        case .badSignature:
            LocalizedText(en: "The signature doesn't match: the proof was altered.", zh: "签名不符：凭证已被改动。")
        case .wrongApp: LocalizedText(en: "The proof belongs to another app.", zh: "该凭证属于其他 App。")
        case .wrongEnvironment:
            LocalizedText(
                en: "The proof comes from an environment that this server doesn't accept.", zh: "该凭证所属的环境不被本服务器接受。")
        case .wrongDevice: LocalizedText(en: "The receipt belongs to another device.", zh: "该收据属于其他设备。")
        case .certificateRevoked:
            LocalizedText(
                en: "Apple has revoked the certificate that signed this proof. Fetch the purchase from the store again "
                    + "and send the fresh copy.",
                zh: "签署该凭证的证书已被 Apple 吊销。请从商店重新获取这笔购买并提交新的凭证。")
        case .receiptRefused:
            LocalizedText(
                en: "Apple doesn't confirm this receipt. Nothing is granted for it.",
                zh: "Apple 不认可这份收据，不会发放任何内容。")
        case .receiptNeedsRefresh:
            LocalizedText(
                en: "Apple doesn't accept this receipt. Refresh the receipt on the device and send it again.",
                zh: "Apple 不接受这份收据。请在设备上刷新收据后重新提交。")
        case .revocationUnknown:
            LocalizedText(
                en: "Apple can't be asked about the proof's certificates right now. Nothing is lost; try again later.",
                zh: "暂时无法向 Apple 查询凭证所用的证书。没有丢失任何内容，请稍后重试。")
        default:
            LocalizedText(
                en: "The proof can't be read. Send it exactly as StoreKit gave it.", zh: "凭证无法读取，请原样提交 StoreKit 给出的内容。")
        }
    }

    private var businessSentence: LocalizedText {
        switch self {
        case .transactionNotInReceipt:
            LocalizedText(
                en: "The receipt doesn't hold this transaction. Refresh the receipt on the device and send it again.",
                zh: "收据中没有这笔交易。请在设备上刷新收据后重新提交。")
        case .transactionMismatch:
            LocalizedText(
                en: "The transaction id differs from the one in the proof.", zh: "交易号与凭证中的不一致。")
        case .productMismatch:
            LocalizedText(en: "The product id differs from the one in the proof.", zh: "商品 ID 与凭证中的不一致。")
        case .unknownProduct:
            LocalizedText(en: "The catalogue has no such product.", zh: "商品目录中没有该商品。")
        case .quantityNotAllowed:
            LocalizedText(
                en: "The quantity must be 1 to 10; only consumables and non-renewing subscriptions allow more than 1.",
                zh: "数量须为 1 到 10；只有消耗型商品和非续期订阅可以大于 1。")
        case .unknownOrder: LocalizedText(en: "There is no such order.", zh: "没有这个订单。")
        case .orderConflict:
            LocalizedText(
                en: "An order of this id exists with other contents. Use a new id for a new order.",
                zh: "该订单号已存在且内容不同。新订单请使用新的订单号。")
        case .orderIDUnproven:
            LocalizedText(
                en:
                    "An app proves that an order id is its user's: send the nonce that the id was made from as "
                    + "idNonce, or leave out the id.",
                zh: "订单号必须是对该用户的承诺值：请随附 idNonce，或不要指定订单号。")
        case .tokenInUse:
            LocalizedText(
                en: "This UUID is in use already, as an order's id or as an account token. Use another one.",
                zh: "该 UUID 已被用作订单号或账户令牌，请换一个。")
        case .staleCursor:
            LocalizedText(
                en:
                    "The ledger was restored from a backup after that page. Start again without a cursor; events that "
                    + "you have processed keep their ids.",
                zh: "在取得该游标之后账本曾恢复自备份。请不带游标重新开始；您已处理过的事件编号不变。")
        case .illegalMove:
            LocalizedText(en: "The order can't change like that any more.", zh: "该订单的状态已不允许这样变更。")
        case .previewChanged:
            LocalizedText(
                en: "The purchase no longer matches the preview. Request a new preview.",
                zh: "此次购买的结果已与预览不符，请重新获取预览。")
        case .unknownEntitlement:
            LocalizedText(en: "The catalogue has no such entitlement.", zh: "商品目录中没有该权益。")
        case .reportUnusable:
            LocalizedText(
                en: "This file can't be read completely as a financial report of Apple. Nothing was stored.",
                zh: "无法将此文件完整读取为 Apple 财务报告，没有保存任何内容。")
        case .insufficientFunds: LocalizedText(en: "The balance is too low.", zh: "余额不足。")
        case .inDebt:
            LocalizedText(
                en:
                    "A refund took back more points than the balance. Nothing can be spent until the debt is paid.",
                zh: "退款收回的点数超过余额，补足欠款之前不能消费。")
        case .unknownCurrency:
            LocalizedText(en: "No product gives points of this kind.", zh: "没有商品发放这种点数。")
        default:
            LocalizedText(
                en: "This reference was used for another posting. Use a new one.", zh: "该流水号已用于另一笔记账，请使用新的流水号。")
        }
    }

    private var offerSentence: LocalizedText {
        switch self {
        case .notAutoRenewable:
            LocalizedText(
                en: "Offers are for auto-renewable subscriptions only, and this product isn't one.",
                zh: "优惠仅适用于自动续期订阅，该商品不是自动续期订阅。")
        case .offerNotOpen:
            LocalizedText(
                en: "Users may request only the promotional offers that the catalogue opens to them, for an unpaid "
                    + "order of their own. The backend requests every other one.",
                zh: "用户只能为自己未付款的订单请求商品目录向用户开放的促销优惠，其他优惠须由后端请求。")
        default:
            LocalizedText(
                en: "This server has no In-App Purchase key, so it can't sign offers or ask Apple. Configure App Store "
                    + "Connect's.",
                zh: "服务器未配置 App 内购买项目密钥，无法签署优惠或向 Apple 查询。请配置 App Store Connect 中的密钥。")
        }
    }

    private var claimSentence: LocalizedText {
        switch self {
        case .unknownTransaction: LocalizedText(en: "There is no such transaction.", zh: "没有这笔交易。")
        case .notInQuarantine:
            LocalizedText(
                en: "This purchase isn't in quarantine: it has an owner, or Apple took the money back.",
                zh: "这笔购买不在待认领之列：已有归属，或 Apple 已退款。")
        case .notClaimable:
            LocalizedText(
                en: "This purchase can't be given to that user. The detail says why.",
                zh: "这笔购买不能发放给该用户，原因见详情。")
        case .unknownOrderNumber:
            LocalizedText(
                en: "You have no such order in this app. Check the number in Apple's mail, and the account.",
                zh: "您在该 App 中没有这个订单号，请核对 Apple 邮件中的号码和所用的账户。")
        default:
            LocalizedText(
                en: "This server can't look up Apple's order numbers. Send the number to support.",
                zh: "本服务器无法查询 Apple 订单号，请将号码发给客服。")
        }
    }

    private var personSentence: LocalizedText {
        switch self {
        case .unknownUser: LocalizedText(en: "The ledger knows no such user.", zh: "账本中没有这位用户。")
        case .erasureUnconfirmed:
            LocalizedText(
                en: "Erasing this customer takes something that the request doesn't name. Confirm it, then try again.",
                zh: "抹除这位客户会使其失去请求中没有写明的内容。请确认后重试。")
        default:
            LocalizedText(
                en: "This server has no key for erasures. Set \"erasure\" in the configuration.",
                zh: "本服务器没有抹除用的密钥。请在配置中设置 \"erasure\"。")
        }
    }

    private var requestSentence: LocalizedText {
        switch self {
        case .malformedJSON:
            LocalizedText(en: "The body isn't the JSON this endpoint expects.", zh: "请求体不是此接口所需的 JSON。")
        case .invalidField: LocalizedText(en: "A field of the request isn't usable.", zh: "请求中有字段不可用。")
        case .unauthorized:
            LocalizedText(
                en: "Send a valid key or user token as \"Authorization: Bearer …\".",
                zh: "请在 \"Authorization: Bearer …\" 中提供有效的密钥或用户令牌。")
        case .forbidden: LocalizedText(en: "This key or token may not do that.", zh: "该密钥或令牌无权执行此操作。")
        case .notFound: LocalizedText(en: "There is no such endpoint.", zh: "此地址不存在。")
        case .methodNotAllowed: LocalizedText(en: "This endpoint doesn't accept that method.", zh: "此地址不支持该请求方法。")
        case .payloadTooLarge: LocalizedText(en: "The body is too large.", zh: "请求体过大。")
        case .idempotencyKeyReused:
            LocalizedText(
                en: "This Idempotency-Key was used with another body. Use a new key.",
                zh: "该 Idempotency-Key 已用于不同的请求体，请使用新的键。")
        case .idempotencyInFlight:
            LocalizedText(
                en: "The first request with this Idempotency-Key is still under way. Try again shortly.",
                zh: "使用该 Idempotency-Key 的首个请求仍在处理，请稍后重试。")
        case .tooManyOrders:
            LocalizedText(
                en: "Too many orders are open or were opened in the last hour. Finish or cancel some, or try later.",
                zh: "未完成的订单过多，或一小时内创建的订单过多。请先完成或取消一些，或稍后再试。")
        case .tooManyRequests: LocalizedText(en: "Too many requests. Try again later.", zh: "请求过多，请稍后重试。")
        case .unavailable:
            LocalizedText(
                en: "This can't be stored safely right now. Nothing is lost; try again later.",
                zh: "暂时无法安全保存。没有丢失任何内容，请稍后重试。")
        default: LocalizedText(en: "Something went wrong on our side. Try again later.", zh: "服务器内部出错，请稍后重试。")
        }
    }
}

extension QuarantineReason {
    /// For operators: why the purchase has no owner.
    public var sentence: LocalizedText {
        switch self {
        case .unknownToken: LocalizedText(en: "Its token names no order and no account.", zh: "其令牌不对应任何订单或账户。")
        case .unreadableToken: LocalizedText(en: "Its token isn't a UUID.", zh: "其令牌不是 UUID。")
        case .noOwner: LocalizedText(en: "It carries no token and came without an order id.", zh: "它不带令牌，提交时也没有订单号。")
        case .receiptNeedsOrder:
            LocalizedText(
                en: "A receipt names no owner, and no order id came with it.", zh: "收据不含归属信息，提交时也没有订单号。")
        case .receiptNeedsSignedCopy:
            LocalizedText(
                en: "A receipt names no owner. It waits for Apple's signed transaction, or for an operator.",
                zh: "收据不含归属信息。需等待 Apple 的签名交易，或由运营人员处理。")
        case .claimedOrderUnknown: LocalizedText(en: "The order id sent with it is unknown.", zh: "随附的订单号不存在。")
        case .claimedOrderOfAnother:
            LocalizedText(en: "The order sent with it belongs to another user.", zh: "随附的订单属于其他用户。")
        case .claimedOrderDiffers:
            LocalizedText(
                en: "The order sent with it is for another product or quantity.", zh: "随附订单的商品或数量不同。")
        case .claimedOrderOpenedLater:
            LocalizedText(en: "The order sent with it was opened after the purchase.", zh: "随附的订单晚于购买时间创建。")
        case .claimedOrderTaken:
            LocalizedText(en: "The order sent with it has another transaction.", zh: "随附的订单已对应另一笔交易。")
        case .contradictsOrder:
            LocalizedText(
                en: "Its product or quantity differs from the order its token names. The order's user can accept it.",
                zh: "其商品或数量与令牌所指订单不一致。该订单的用户可以接受它。")
        case .unknownProduct: LocalizedText(en: "The catalogue has no such product.", zh: "商品目录中没有该商品。")
        case .unusableQuantity:
            LocalizedText(
                en: "Its quantity isn't between 1 and 10. An operator can grant more.",
                zh: "其数量不在 1 到 10 之间。超过 10 的可由运营人员发放。")
        case .unknownOwnership:
            LocalizedText(
                en: "Another person pays for it, and Apple doesn't name the user. An operator can grant it.",
                zh: "由其他人付款，Apple 没有指明使用者。可由运营人员发放。")
        }
    }
}

extension OwnerMatch {
    /// For operators: how the owner was matched.
    public var sentence: LocalizedText {
        switch self {
        case .token:
            LocalizedText(en: "Apple signed this order's id as the token.", zh: "Apple 签名的令牌即为该订单号。")
        case .accountToken:
            LocalizedText(
                en: "Apple signed a token that the app's backend registered for this user.",
                zh: "Apple 签名的令牌由 App 的后端登记给了该用户。")
        case .orderID:
            LocalizedText(
                en: "The owner sent this order's id with the proof; product, quantity and time agree.",
                zh: "买家随凭证提交了该订单号，商品、数量与时间相符。")
        case .originalTransaction:
            LocalizedText(en: "It renews a subscription of this order.", zh: "它是该订单所属订阅的续订。")
        case .device:
            LocalizedText(
                en: "It is the only open order of any user on that device that the payment can be for.",
                zh: "在该设备所有用户中，只有这一个未付款订单与付款相符。")
        case .backend: LocalizedText(en: "The app's backend named the user.", zh: "由 App 的后端指定了用户。")
        case .orderNumber:
            LocalizedText(
                en: "It had no owner, and this user claimed it with Apple's order number.",
                zh: "原本没有归属，由该用户凭 Apple 的订单号认领。")
        case .operatorDecision:
            LocalizedText(en: "It had no owner, and an operator assigned it.", zh: "原本没有归属，由运营人员指定归属。")
        case .acceptance:
            LocalizedText(
                en: "Apple's token names this user's order of something else, and the user accepted it.",
                zh: "Apple 签名的令牌指向该用户的另一种商品或数量的订单，并由该用户确认接受。")
        case .claim:
            LocalizedText(
                en: "It had no owner, and this user restored it on their own device.", zh: "原本没有归属，由该用户在自己的设备上恢复购买后取得。")
        }
    }
}
