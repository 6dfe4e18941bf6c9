import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Everything that `Store` may answer instead of what was asked for: a stable `code` for programs, a sentence for the
/// buyer in both languages, and whether asking again may help.
public enum StoreError: Error, Hashable, Sendable {
    /// Nobody is signed in to the app.
    case notSignedIn
    /// Not 1 to 10.
    case badQuantity
    /// The store does not sell a product of this id to this buyer (L4).
    case productUnavailable
    /// Neither the server nor the store says what is for sale, and nothing is kept from earlier (P1, C12).
    case productListUnavailable
    /// `canMakePayments` is false (L3).
    case paymentsNotAllowed
    /// This product is being bought already (G3).
    case purchaseInProgress
    /// The store said no.
    case store(StoreProblem)
    /// The server said no, or could not be heard.
    case server(ServerFault)
    /// The list of orders on this device could not be read or changed.
    case journal(JournalFault)
    /// No order of that number is on this device.
    case unknownOrder
    /// Not granted yet, and why (L9).
    case undelivered(Trouble)
    /// Apple gave the money back.
    case refunded
    /// The address in `StoreConfiguration.server` is neither `https://` nor `http://` on this machine.
    case insecureServer

    /// Stable: what programs decide by and logs are searched for.
    public var code: String {
        switch self {
        case .notSignedIn: "signed_out"
        case .badQuantity: Refusal.quantityNotAllowed.rawValue
        case .productUnavailable: "product_unavailable"
        case .productListUnavailable: "product_list_unavailable"
        case .paymentsNotAllowed: "payments_not_allowed"
        case .purchaseInProgress: "purchase_in_progress"
        case .store(let problem): problem.code
        case .server(let fault): fault.code
        case .journal(let fault): fault.code
        case .unknownOrder: Refusal.unknownOrder.rawValue
        case .undelivered(let trouble): trouble.code
        case .refunded: "refunded"
        case .insecureServer: "insecure_server"
        }
    }

    /// Whether the very same call may go better later. Who is signed out can sign in; the rest is the fault's own word.
    public var isRetryable: Bool {
        switch self {
        case .notSignedIn, .productListUnavailable, .purchaseInProgress: true
        case .badQuantity, .productUnavailable, .paymentsNotAllowed, .unknownOrder, .refunded, .insecureServer: false
        case .store(let problem): problem.isRetryable
        case .server(let fault): fault.isRetryable
        case .journal(let fault): fault.isRetryable
        case .undelivered(let trouble): !trouble.isFinal
        }
    }

    /// Whether it was the buyer who ended it.
    public var isCancellation: Bool {
        if case .store(let problem) = self { return problem.isCancellation }
        return false
    }

    /// What happened and what to do, for the buyer.
    public var sentence: Text {
        switch self {
        case .notSignedIn: Text(en: "Sign in first, then try again.", zh: "请先登录，然后重试。")
        case .badQuantity: Text(en: "Choose a quantity from 1 to 10.", zh: "请选择 1 到 10 之间的数量。")
        case .productUnavailable:
            Text(
                en: "The App Store doesn't offer this product right now. Choose another one, or try again later.",
                zh: "App Store 目前不提供此商品。请选择其他商品，或稍后再试。")
        case .productListUnavailable:
            Text(
                en: "The product list is unavailable for now. Check the connection and try again.",
                zh: "商品列表暂时不可用，请检查网络后重试。")
        case .paymentsNotAllowed: StoreProblem.paymentNotAllowed.sentence
        case .purchaseInProgress:
            Text(
                en: "This product is being bought already. Wait until that is done.",
                zh: "此商品正在购买中，请等待完成。")
        case .store(let problem): problem.sentence
        case .server(let fault): fault.advice
        case .journal(let fault): fault.advice
        case .unknownOrder: Refusal.unknownOrder.advice
        case .undelivered(let trouble): trouble.sentence
        case .refunded:
            Text(
                en: "This purchase was refunded. Buy it again if you still want it.", zh: "此次购买已退款；如仍需要，请重新购买。")
        case .insecureServer:
            Text(
                en: "The purchase server's address must begin with https://. Set one in StoreConfiguration.server; "
                    + "http:// works only for a server on this machine (127.0.0.1, ::1, localhost).",
                zh: "购买服务器的地址必须使用 HTTPS，请在 StoreConfiguration 中修改；HTTP 仅可用于本机上的服务器。")
        }
    }

    /// The sentence in a reader's language.
    ///
    /// - Parameter language: `zh-Hans-CN`, `en`, or several as in `Accept-Language`; English for any other. The
    ///   device's if nil.
    public func message(in language: String? = nil) -> String {
        sentence[language.map(Language.init(preference:)) ?? .ofDevice]
    }
}

extension StoreError: LocalizedError {
    /// In the device's language.
    public var errorDescription: String? { message() }
}

extension StoreError {
    /// Why a purchase could not begin.
    package init(_ fault: PurchaseFault) {
        self =
            switch fault {
            case .notSignedIn: .notSignedIn
            case .badQuantity: .badQuantity
            case .journal(let fault): .journal(fault)
            case .cannotOpen(_, let fault): .server(fault)
            case .refused(_, let refusal): .server(.refused(refusal))
            }
    }
}
