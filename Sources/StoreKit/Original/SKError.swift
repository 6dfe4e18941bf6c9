import Foundation
import TillBilling

public let SKErrorDomain: String = "SKErrorDomain"

/// Why a payment or a request of StoreKit 1 failed (facts/storekit-client A7). Network failures are `URLError`s.
public struct SKError: CustomNSError, Hashable, Sendable {
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum Code: Int, Hashable, Sendable {
        case unknown = 0
        case clientInvalid = 1
        case paymentCancelled = 2
        case paymentInvalid = 3
        case paymentNotAllowed = 4
        case storeProductNotAvailable = 5
        case cloudServicePermissionDenied = 6
        case cloudServiceNetworkConnectionFailed = 7
        case cloudServiceRevoked = 8
        case privacyAcknowledgementRequired = 9
        case unauthorizedRequestData = 10
        case invalidOfferIdentifier = 11
        case invalidSignature = 12
        case missingOfferParams = 13
        case invalidOfferPrice = 14
        case overlayCancelled = 15
        case overlayInvalidConfiguration = 16
        case overlayTimeout = 17
        case ineligibleForOffer = 18
        case unsupportedPlatform = 19
        case overlayPresentedInBackgroundScene = 20
    }

    // Apple's own name.
    // swift-format-ignore: NoLeadingUnderscores
    public let _nsError: NSError

    public init(_nsError error: NSError) { _nsError = error }

    /// - Parameter userInfo: without a description in it, the error has the code's message in the user's language.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        var userInfo = userInfo
        if userInfo[NSLocalizedDescriptionKey] == nil { userInfo[NSLocalizedDescriptionKey] = code.sentence }
        _nsError = NSError(domain: SKErrorDomain, code: code.rawValue, userInfo: userInfo)
    }

    public static var errorDomain: String { SKErrorDomain }
    public var code: Code { Code(rawValue: _nsError.code) ?? .unknown }
    public var errorCode: Int { _nsError.code }
    public var userInfo: [String: Any] { _nsError.userInfo }
    public var errorUserInfo: [String: Any] {
        _nsError.userInfo.merging([NSLocalizedDescriptionKey: localizedDescription]) { own, _ in own }
    }
    public var localizedDescription: String {
        _nsError.userInfo[NSLocalizedDescriptionKey] as? String ?? code.sentence
    }
}

extension SKError {
    public static var unknown: Code { .unknown }
    public static var clientInvalid: Code { .clientInvalid }
    public static var paymentCancelled: Code { .paymentCancelled }
    public static var paymentInvalid: Code { .paymentInvalid }
    public static var paymentNotAllowed: Code { .paymentNotAllowed }
    public static var storeProductNotAvailable: Code { .storeProductNotAvailable }
    public static var cloudServicePermissionDenied: Code { .cloudServicePermissionDenied }
    public static var cloudServiceNetworkConnectionFailed: Code { .cloudServiceNetworkConnectionFailed }
    public static var cloudServiceRevoked: Code { .cloudServiceRevoked }
    public static var privacyAcknowledgementRequired: Code { .privacyAcknowledgementRequired }
    public static var unauthorizedRequestData: Code { .unauthorizedRequestData }
    public static var invalidOfferIdentifier: Code { .invalidOfferIdentifier }
    public static var invalidSignature: Code { .invalidSignature }
    public static var missingOfferParams: Code { .missingOfferParams }
    public static var invalidOfferPrice: Code { .invalidOfferPrice }
    public static var overlayCancelled: Code { .overlayCancelled }
    public static var overlayInvalidConfiguration: Code { .overlayInvalidConfiguration }
    public static var overlayTimeout: Code { .overlayTimeout }
    public static var ineligibleForOffer: Code { .ineligibleForOffer }
    public static var unsupportedPlatform: Code { .unsupportedPlatform }
    public static var overlayPresentedInBackgroundScene: Code { .overlayPresentedInBackgroundScene }
}

extension SKError.Code {
    /// Supports `catch SKError.paymentCancelled`.
    public static func ~= (match: SKError.Code, error: any Error) -> Bool { (error as? SKError)?.code == match }
}

extension SKError.Code {
    /// The message in the language of the user's environment (`LC_ALL`, `LC_MESSAGES`, `LANG`).
    var sentence: String {
        let environment = ProcessInfo.processInfo.environment
        let names = ["LC_ALL", "LC_MESSAGES", "LANG"]
        let preference = names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        return text[Language(preference: preference ?? "")]
    }

    var text: LocalizedText {
        switch self {
        case .unknown:
            LocalizedText(en: "The App Store could not complete this. Try again.", zh: "App Store 未能完成操作，请重试。")
        case .clientInvalid:
            LocalizedText(en: "This account or device may not do this.", zh: "此账户或设备不允许进行该操作。")
        case .paymentCancelled: LocalizedText(en: "The payment was cancelled.", zh: "付款已取消。")
        case .paymentInvalid:
            LocalizedText(en: "The App Store does not recognise what was to be paid for.", zh: "App Store 无法识别此次付款的内容。")
        case .paymentNotAllowed: LocalizedText(en: "Purchases are not allowed on this device.", zh: "此设备不允许购买。")
        case .storeProductNotAvailable:
            LocalizedText(en: "The product is not available in this country or region.", zh: "该商品在当前国家或地区不可用。")
        case .cloudServicePermissionDenied, .cloudServiceNetworkConnectionFailed, .cloudServiceRevoked:
            LocalizedText(en: "The cloud service can't be used.", zh: "无法使用云服务。")
        case .privacyAcknowledgementRequired:
            LocalizedText(en: "Apple's privacy terms must be accepted first.", zh: "须先接受 Apple 的隐私条款。")
        case .unauthorizedRequestData:
            LocalizedText(en: "A payment may not carry request data.", zh: "付款不得附带 requestData。")
        default: offerText
        }
    }

    private var offerText: LocalizedText {
        switch self {
        case .invalidOfferIdentifier: LocalizedText(en: "There is no such offer.", zh: "没有此优惠。")
        case .invalidSignature: LocalizedText(en: "The offer's signature is not valid.", zh: "优惠的签名无效。")
        case .missingOfferParams: LocalizedText(en: "The offer is incomplete.", zh: "优惠的参数不完整。")
        case .invalidOfferPrice:
            LocalizedText(en: "The offer's price is not below the product's.", zh: "优惠价格不低于商品价格。")
        case .ineligibleForOffer: LocalizedText(en: "You are not eligible for this offer.", zh: "你不符合此优惠的条件。")
        default: LocalizedText(en: "The App Store's overlay can't be shown.", zh: "无法显示 App Store 浮层。")
        }
    }
}

extension EmulatorClientError {
    /// The error in StoreKit 1's form: a `URLError` of the network, or an `SKError`.
    var error: any Error {
        guard case .refused(let code, let status, let title) = self else {
            return networkError ?? URLError(.unknown)
        }
        // The store's own text is for debugging, not for the user.
        return SKError(Self.code(of: code, status: status), userInfo: ["NSDebugDescription": "\(code): \(title)"])
    }

    /// Maps the refusals of `POST /emulator/purchases` to the codes of facts/storekit-client A7.
    private static func code(of refusal: String, status: Int) -> SKError.Code {
        switch refusal {
        case "payment_not_allowed": .paymentNotAllowed
        case "account_deleted", "unknown_account", "unknown_device", "device_of_another_account": .clientInvalid
        case "unknown_product", "quantity_not_allowed": .paymentInvalid
        case "not_for_sale", "not_on_sale", "no_longer_sold": .storeProductNotAvailable
        case "invalid_offer_identifier": .invalidOfferIdentifier
        case "invalid_signature", "offer_signature_expired", "offer_nonce_used": .invalidSignature
        case "missing_offer_params": .missingOfferParams
        case "invalid_offer_price": .invalidOfferPrice
        case "ineligible_for_offer", "not_eligible", "code_not_for_customer": .ineligibleForOffer
        // The store could not read the request, so the payment is invalid.
        default: status == 400 ? .paymentInvalid : .unknown
        }
    }
}
