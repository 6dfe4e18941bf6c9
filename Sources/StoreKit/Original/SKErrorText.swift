import Foundation
import TillBilling

extension SKError.Code {
    /// For the user, in the language of the user's environment (`LC_ALL`, `LC_MESSAGES`, `LANG`).
    var sentence: String {
        let environment = ProcessInfo.processInfo.environment
        let names = ["LC_ALL", "LC_MESSAGES", "LANG"]
        let preference = names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        return text[Language(preference: preference ?? "")]
    }

    var text: Text {
        switch self {
        case .unknown: Text(en: "The App Store could not complete this. Try again.", zh: "App Store 未能完成操作，请重试。")
        case .clientInvalid:
            Text(en: "This account or device may not do this.", zh: "此账户或设备不允许进行该操作。")
        case .paymentCancelled: Text(en: "The payment was cancelled.", zh: "付款已取消。")
        case .paymentInvalid:
            Text(en: "The App Store does not recognise what was to be paid for.", zh: "App Store 无法识别此次付款的内容。")
        case .paymentNotAllowed: Text(en: "Purchases are not allowed on this device.", zh: "此设备不允许购买。")
        case .storeProductNotAvailable:
            Text(en: "The product is not available in this country or region.", zh: "该商品在当前国家或地区不可用。")
        case .cloudServicePermissionDenied, .cloudServiceNetworkConnectionFailed, .cloudServiceRevoked:
            Text(en: "The cloud service can't be used.", zh: "无法使用云服务。")
        case .privacyAcknowledgementRequired:
            Text(en: "Apple's privacy terms must be accepted first.", zh: "须先接受 Apple 的隐私条款。")
        case .unauthorizedRequestData:
            Text(en: "A payment may not carry request data.", zh: "付款不得附带 requestData。")
        default: offerText
        }
    }

    private var offerText: Text {
        switch self {
        case .invalidOfferIdentifier: Text(en: "There is no such offer.", zh: "没有此优惠。")
        case .invalidSignature: Text(en: "The offer's signature is not valid.", zh: "优惠的签名无效。")
        case .missingOfferParams: Text(en: "The offer is incomplete.", zh: "优惠的参数不完整。")
        case .invalidOfferPrice:
            Text(en: "The offer's price is not below the product's.", zh: "优惠价格不低于商品价格。")
        case .ineligibleForOffer: Text(en: "You are not eligible for this offer.", zh: "你不符合此优惠的条件。")
        default: Text(en: "The App Store's overlay can't be shown.", zh: "无法显示 App Store 浮层。")
        }
    }
}
