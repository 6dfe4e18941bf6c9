import TillBilling

/// An error of the kit, with everything that `TillError` shows of it.
package enum StoreError: Error, Hashable, Sendable {
    /// No user is signed in to the app.
    case notSignedIn
    /// The quantity is not 1 to 10.
    case badQuantity
    /// The preview is of another product or quantity.
    case otherPreview
    /// The store doesn't sell a product with this id to this buyer.
    case productUnavailable
    /// Neither the server nor the store provides the list of products, and there is no cached list.
    case productListUnavailable
    /// Purchases are not allowed on this device.
    case paymentsNotAllowed
    /// A purchase of this product is already in progress.
    case purchaseInProgress
    /// This device's StoreKit lacks an option of the purchase.
    case unsupportedOption(UnsupportedOption)
    /// The store refused the request.
    case store(AppStoreError)
    /// The server refused the request, or couldn't be reached.
    case server(ServerError)
    /// The list of orders on this device couldn't be read or changed.
    case journal(JournalError)
    /// This device has no order with this number.
    case unknownOrder
    /// The purchase isn't granted yet, for this reason.
    case undelivered(PendingReason)
    /// Apple refunded or revoked the purchase.
    case refunded
    /// The address in `TillConfiguration.server` is neither `https://` nor `http://` on this machine.
    case insecureServer

    /// A stable code, for programs and logs.
    package var code: String {
        switch self {
        case .notSignedIn: "signed_out"
        case .badQuantity: Refusal.quantityNotAllowed.rawValue
        case .otherPreview: Refusal.previewChanged.rawValue
        case .productUnavailable: "product_unavailable"
        case .productListUnavailable: "product_list_unavailable"
        case .paymentsNotAllowed: "payments_not_allowed"
        case .purchaseInProgress: "purchase_in_progress"
        case .unsupportedOption(.missingScene): "scene_required"
        case .unsupportedOption: "option_not_supported"
        case .store(let problem): problem.code
        case .server(let error): error.code
        case .journal(let error): error.code
        case .unknownOrder: Refusal.unknownOrder.rawValue
        case .undelivered(let pendingReason): pendingReason.code
        case .refunded: "refunded"
        case .insecureServer: "insecure_server"
        }
    }

    /// A Boolean value that indicates whether the same call may succeed later. For a missing sign-in it is true.
    package var isRetryable: Bool {
        switch self {
        case .notSignedIn, .productListUnavailable, .purchaseInProgress: true
        case .badQuantity, .otherPreview, .productUnavailable, .paymentsNotAllowed, .unknownOrder, .refunded,
            .insecureServer, .unsupportedOption:
            false
        case .store(let problem): problem.isRetryable
        case .server(let error): error.isRetryable
        case .journal(let error): error.isRetryable
        case .undelivered(let pendingReason): !pendingReason.isFinal
        }
    }

    /// A Boolean value that indicates whether the buyer cancelled.
    package var isCancellation: Bool {
        if case .store(let problem) = self { return problem.isCancellation }
        return false
    }

    /// A message for the buyer: the problem and the remedy.
    package var sentence: LocalizedText {
        switch self {
        case .notSignedIn: LocalizedText(en: "Sign in first, then try again.", zh: "请先登录，然后重试。")
        case .badQuantity: LocalizedText(en: "Choose a quantity from 1 to 10.", zh: "请选择 1 到 10 之间的数量。")
        case .otherPreview: Refusal.previewChanged.advice
        case .productUnavailable:
            LocalizedText(
                en: "The App Store doesn't offer this product right now. Choose another one, or try again later.",
                zh: "App Store 目前不提供此商品。请选择其他商品，或稍后再试。")
        case .productListUnavailable:
            LocalizedText(
                en: "The product list is unavailable for now. Check the connection and try again.",
                zh: "商品列表暂时不可用，请检查网络后重试。")
        case .paymentsNotAllowed: AppStoreError.paymentNotAllowed.sentence
        case .purchaseInProgress:
            LocalizedText(
                en: "This product is being bought already. Wait until that is done.",
                zh: "此商品正在购买中，请等待完成。")
        case .unsupportedOption(let option): option.sentence
        case .store(let problem): problem.sentence
        case .server(let error): error.advice
        case .journal(let error): error.advice
        case .unknownOrder: Refusal.unknownOrder.advice
        case .undelivered(let pendingReason): pendingReason.sentence
        case .refunded:
            LocalizedText(
                en: "This purchase was refunded. Buy it again if you still want it.", zh: "此次购买已退款；如仍需要，请重新购买。")
        case .insecureServer:
            LocalizedText(
                en: "The purchase server's address must begin with https://. Set one in TillConfiguration.server; "
                    + "http:// works only for a server on this machine (127.0.0.1, ::1, localhost).",
                zh: "购买服务器的地址必须使用 HTTPS，请在 TillConfiguration 中修改；HTTP 仅可用于本机上的服务器。")
        }
    }

    /// The server's id of the refused request.
    var requestID: String? {
        if case .server(.refused(let refusal)) = self { return refusal.requestID }
        return nil
    }

    /// The error below the kit: StoreKit's, the network's or the file system's.
    var underlying: (any Error)? {
        switch self {
        case .store(let error): error.underlying
        case .server(.noResponse(let error)): error.underlying ?? error
        case .journal(.disk(let error)): error
        default: nil
        }
    }
}

extension StoreError {
    /// Converts the reason why a purchase could not begin.
    package init(_ error: PurchaseError) {
        self =
            switch error {
            case .notSignedIn: .notSignedIn
            case .badQuantity: .badQuantity
            case .journal(let error): .journal(error)
            case .cannotOpen(_, let error): .server(error)
            case .refused(_, let refusal): .server(.refused(refusal))
            case .unknownOrder: .unknownOrder
            case .deferred: .undelivered(.deferred)
            }
    }
}

extension UnsupportedOption {
    /// A message for the buyer. The last one is the app's fault.
    fileprivate var sentence: LocalizedText {
        switch self {
        case .offerToken, .introductoryEligibility:
            LocalizedText(
                en: "This device can't apply the offer. Update the system and the app, or buy without the offer.",
                zh: "此设备无法使用该优惠。请更新系统和 App，或不使用优惠购买。")
        case .billingPlan:
            LocalizedText(
                en: "Monthly billing of this subscription isn't available here. Choose another way to pay.",
                zh: "此处不支持该订阅按月付款，请选择其他付款方式。")
        case .missingScene:
            LocalizedText(
                en: "The app didn't say in which window the App Store asks for the payment. Update the app.",
                zh: "App 未指定显示 App Store 付款界面的窗口，请更新 App。")
        }
    }
}
