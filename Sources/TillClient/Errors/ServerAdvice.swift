import TillBilling

// Errors of the server and the disk are written for operators; these are the sentences for the buyer, who waits for an
// answer. They announce no automatic retry, because these requests are repeated by the buyer.

extension ServerError {
    var advice: LocalizedText {
        switch self {
        case .signedOut: StoreError.notSignedIn.sentence
        case .noResponse(let error): error.kind.advice
        case .unreadable:
            LocalizedText(
                en: "This response did not come from the server. Try another network, or try again later.",
                zh: "当前网络返回的内容并非来自服务器。请更换网络，或稍后重试。")
        case .refused(let refusal): refusal.advice
        }
    }
}

extension TransportError.Kind {
    var advice: LocalizedText {
        switch self {
        case .offline:
            LocalizedText(en: "This device is offline. Connect to the internet and try again.", zh: "设备当前无网络连接，请联网后重试。")
        case .cannotFindServer:
            LocalizedText(
                en: "The server can't be found on this network. Try another network, or try again later.",
                zh: "在当前网络中找不到服务器。请更换网络，或稍后重试。")
        case .cannotConnect:
            LocalizedText(en: "The server can't be reached right now. Try again in a moment.", zh: "暂时无法连接服务器，请稍后重试。")
        case .timedOut: LocalizedText(en: "The server is slow to answer. Try again in a moment.", zh: "服务器响应超时，请稍后重试。")
        case .connectionLost:
            LocalizedText(
                en: "The connection was interrupted. Check the network and try again.", zh: "网络连接已中断，请检查网络后重试。")
        case .insecure: sentence
        case .other: LocalizedText(en: "The network failed. Check the connection and try again.", zh: "网络出错，请检查网络后重试。")
        }
    }
}

extension ServerRefusal {
    var advice: LocalizedText {
        refusal?.advice
            ?? LocalizedText(
                en: "The server gave a reason this version of the app doesn't know (\(code)). Update the app, or tell "
                    + "support.",
                zh: "服务器给出了此版本 App 未知的原因（\(code)）。请更新 App 或联系客服。")
    }
}

extension Refusal {
    /// The sentence for a buyer. Refusals with the same remedy share a sentence; the code tells support which one it
    /// was.
    var advice: LocalizedText {
        switch self {
        case .malformed, .missingChain, .chainLength, .badCertificate, .badRoot, .chainUntrusted, .chainExpired,
            .missingOID, .badSignature, .wrongApp, .wrongEnvironment, .wrongDevice, .certificateRevoked,
            .transactionNotInReceipt, .transactionMismatch, .productMismatch, .receiptRefused,
            .receiptNeedsRefresh:
            proofAdvice
        case .previewChanged, .insufficientFunds, .inDebt, .notAutoRenewable, .offerNotOpen, .quantityNotAllowed:
            choiceAdvice
        default: requestAdvice
        }
    }

    private var proofAdvice: LocalizedText {
        switch self {
        case .chainExpired, .certificateRevoked:
            LocalizedText(
                en: "This proof of purchase is out of date. Open the app again so that the App Store sends a new one.",
                zh: "购买凭证已过期，请重新打开 App 以便从 App Store 获取新的凭证。")
        case .wrongApp:
            LocalizedText(
                en: "This purchase was made in another app. Open it there.", zh: "此次购买属于其他 App，请在那个 App 中打开。")
        case .wrongEnvironment:
            LocalizedText(
                en: "This is a test purchase, and this app takes real ones only. Sign in to the App Store with your "
                    + "usual Apple Account.",
                zh: "这是一笔测试购买，此 App 只接受正式购买。请使用常用的 Apple 账户登录 App Store。")
        case .wrongDevice:
            LocalizedText(
                en: "The receipt on this device belongs to another one. Restore your purchases to get a new receipt.",
                zh: "本机的收据属于其他设备，请“恢复购买”以获取新的收据。")
        case .transactionNotInReceipt, .transactionMismatch, .productMismatch:
            LocalizedText(
                en: "The receipt doesn't show this purchase yet. Restore your purchases, then try again.",
                zh: "收据中尚未包含此次购买，请“恢复购买”后重试。")
        case .receiptNeedsRefresh:
            LocalizedText(
                en: "The App Store doesn't accept the receipt on this device. Restore your purchases to get a new "
                    + "receipt.",
                zh: "App Store 不接受本机的收据，请“恢复购买”以获取新的收据。")
        case .badRoot: Self.internalError.requestAdvice
        default:
            LocalizedText(
                en: "This purchase could not be confirmed as one of Apple's. If you did pay, send support your receipt "
                    + "from Apple.",
                zh: "无法确认此次购买来自 Apple。如确已付款，请将 Apple 的收据发给客服。")
        }
    }

    /// What the user chose can't be bought or paid for this way.
    private var choiceAdvice: LocalizedText {
        switch self {
        case .previewChanged:
            LocalizedText(
                en: "Your plans or the prices changed since this preview. Check the new preview, then buy.",
                zh: "您的套餐或价格在预览之后发生了变化，请查看新的预览后再购买。")
        case .insufficientFunds: LocalizedText(en: "The balance is too low. Top it up first.", zh: "余额不足，请先充值。")
        case .inDebt:
            LocalizedText(
                en: "A refund took back points that were spent already. Top up to pay for them first.",
                zh: "退款收回了已消费的点数，请先充值补足。")
        case .notAutoRenewable:
            LocalizedText(
                en: "There is no offer for this product. Buy it at the regular price.", zh: "此商品没有优惠，请按原价购买。")
        case .offerNotOpen:
            LocalizedText(
                en: "This offer isn't open to you. Buy at the regular price, or ask support.",
                zh: "此优惠目前不对您开放。请按原价购买，或联系客服。")
        default: StoreError.badQuantity.sentence
        }
    }

    private var requestAdvice: LocalizedText {
        switch self {
        case .revocationUnknown, .unavailable:
            LocalizedText(
                en: "The server can't do this right now. Nothing is lost; try again later.",
                zh: "服务器暂时无法处理。没有丢失任何内容，请稍后重试。")
        case .unknownProduct:
            LocalizedText(
                en: "This product is no longer sold. Open the shop again and choose another one.",
                zh: "此商品已下架，请重新打开商店选择其他商品。")
        case .unknownOrder:
            LocalizedText(en: "There is no such order. Begin the purchase again.", zh: "没有这个订单，请重新发起购买。")
        case .orderIDUnproven:
            LocalizedText(
                en: "The signed-in user differs between the app and the server. Sign in again, then buy.",
                zh: "App 与服务器的登录信息不一致，请重新登录后再购买。")
        case .orderConflict, .tokenInUse:
            LocalizedText(en: "This order has changed. Begin the purchase again.", zh: "此订单已发生变化，请重新发起购买。")
        case .illegalMove:
            LocalizedText(
                en: "This order can't be changed any more. Open the list of orders to see its status.",
                zh: "此订单的状态已不能更改，请打开订单列表查看。")
        case .referenceConflict, .idempotencyKeyReused:
            LocalizedText(
                en: "The same request was made before with other contents. Go back and start again.",
                zh: "相同的请求已提交过且内容不同，请返回后重新操作。")
        case .idempotencyInFlight:
            LocalizedText(
                en: "The same request is still being processed. Wait a moment, then try again.", zh: "相同的请求仍在处理，请稍候再试。")
        case .malformedJSON, .invalidField, .notFound, .methodNotAllowed, .payloadTooLarge:
            LocalizedText(
                en: "The app's version doesn't match the server. Update the app and try again.",
                zh: "App 与服务器的版本不匹配，请更新 App 后重试。")
        case .unauthorized:
            LocalizedText(en: "Your sign-in has expired. Sign in again.", zh: "登录已失效，请重新登录。")
        case .forbidden:
            LocalizedText(
                en: "You are signed in with an account that may not do this. Sign in with another one.",
                zh: "当前登录的账户无权进行此操作，请更换账户登录。")
        case .guestTaken, .notAGuest, .accountMerged, .guestMerged: guestAdvice
        case .unknownOrderNumber:
            LocalizedText(
                en: "No purchase without an owner has this number. Check the number in Apple's mail.",
                zh: "没有找到该订单号对应的待认领购买，请核对 Apple 邮件中的订单号。")
        case .noOrderLookup:
            LocalizedText(
                en: "Order numbers can't be looked up here. Send the number to support.",
                zh: "此处无法查询 Apple 订单号，请将订单号提供给客服。")
        case .tooManyRequests, .tooManyOrders:
            LocalizedText(en: "That was too often. Wait a minute, then try again.", zh: "操作过于频繁，请等待一分钟后重试。")
        default:
            LocalizedText(
                en: "The server has a problem. Nothing is lost; try again later.", zh: "服务器出现问题。没有丢失任何内容，请稍后重试。")
        }
    }

    private var guestAdvice: LocalizedText {
        switch self {
        case .guestTaken:
            LocalizedText(
                en: "What was bought here without an account is in another account already. Sign in there, or tell "
                    + "support.",
                zh: "此前未登录时购买的内容已归入其他账户。请登录那个账户，或联系客服。")
        case .notAGuest:
            LocalizedText(
                en: "What was bought here belongs to another account and stays there. Sign in to that one, or tell "
                    + "support.",
                zh: "此处购买的内容属于另一个账户并保留在那里。请登录那个账户，或联系客服。")
        default:
            LocalizedText(
                en: "This account is part of another one now. Sign in with that one.",
                zh: "此账户已并入其他账户，请登录那个账户。")
        }
    }
}

extension JournalError {
    var advice: LocalizedText {
        switch self {
        case .disk, .otherVersion: sentence
        case .unknownOrder: Refusal.unknownOrder.advice
        case .knownOrder: Refusal.orderConflict.advice
        case .illegalMove: Refusal.illegalMove.advice
        }
    }
}
