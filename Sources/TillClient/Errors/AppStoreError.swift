import TillBilling

/// An error of StoreKit, the same for both generations: a stable code, and a sentence that tells the buyer what to do.
/// `AppStoreError+StoreKit.swift` converts the errors.
package struct AppStoreError: Error, Sendable {
    package enum Kind: Hashable, Sendable {
        // Errors of SKError, in the order of their raw values (facts/storekit-client A7). StoreKit 2's errors with the
        // same meaning share them.
        /// The cause is unknown (0). The purchase may be paid nevertheless.
        case unknown
        /// The client isn't allowed to make the request.
        case clientInvalid
        /// The buyer cancelled. It is also the first result of an interrupted purchase, which may be paid later.
        case cancelled
        /// A parameter of the payment is invalid.
        case paymentInvalid
        /// Payments are not allowed on this device.
        case paymentNotAllowed
        /// The product isn't available in this storefront.
        case notAvailable
        /// The app isn't allowed to use the cloud service.
        case cloudServicePermissionDenied
        /// The cloud service can't be reached.
        case cloudServiceNetworkConnectionFailed
        /// The app's permission to use the cloud service was revoked.
        case cloudServiceRevoked
        /// The customer hasn't accepted Apple's privacy terms.
        case privacyAcknowledgementRequired
        /// The app used request data without authorization.
        case unauthorizedRequestData
        /// The offer doesn't exist.
        case invalidOfferIdentifier
        /// The offer's signature is invalid.
        case invalidOfferSignature
        /// The offer lacks a parameter.
        case missingOfferParameters
        /// The offer's price isn't lower than the product's.
        case invalidOfferPrice
        /// The overlay was closed.
        case overlayCancelled
        /// The overlay's configuration is invalid.
        case overlayInvalidConfiguration
        /// The overlay didn't load in time.
        case overlayTimeout
        /// The customer isn't eligible for the offer.
        case ineligibleForOffer
        /// This system doesn't support overlays.
        case unsupportedPlatform
        /// The overlay was shown in the background.
        case overlayPresentedInBackgroundScene

        // StoreKit 2 only.
        /// The product can't be bought in this quantity.
        case invalidQuantity
        /// The app's signature lacks an entitlement.
        case notEntitled
        /// This system doesn't support the request.
        case unsupported
        /// The device couldn't verify the store's signature.
        case unverified

        /// The device can't reach Apple.
        case network(TransportError.Kind)
        /// An `SKError` of a later system, by its raw value.
        case laterCode(Int)
        /// An error from below StoreKit (AMSErrorDomain, ASDErrorDomain and others), for logs and support.
        case system(domain: String, code: Int)
    }

    package let kind: Kind
    /// StoreKit's own error, for the app's logs; nil if StoreKit stated none.
    package let underlying: (any Error)?

    package init(_ kind: Kind, underlying: (any Error)? = nil) {
        self.kind = kind
        self.underlying = underlying
    }

    package static let unknown = Self(.unknown)
    package static let clientInvalid = Self(.clientInvalid)
    package static let cancelled = Self(.cancelled)
    package static let paymentInvalid = Self(.paymentInvalid)
    package static let paymentNotAllowed = Self(.paymentNotAllowed)
    package static let notAvailable = Self(.notAvailable)
    package static let cloudServicePermissionDenied = Self(.cloudServicePermissionDenied)
    package static let cloudServiceNetworkConnectionFailed = Self(.cloudServiceNetworkConnectionFailed)
    package static let cloudServiceRevoked = Self(.cloudServiceRevoked)
    package static let privacyAcknowledgementRequired = Self(.privacyAcknowledgementRequired)
    package static let unauthorizedRequestData = Self(.unauthorizedRequestData)
    package static let invalidOfferIdentifier = Self(.invalidOfferIdentifier)
    package static let invalidOfferSignature = Self(.invalidOfferSignature)
    package static let missingOfferParameters = Self(.missingOfferParameters)
    package static let invalidOfferPrice = Self(.invalidOfferPrice)
    package static let overlayCancelled = Self(.overlayCancelled)
    package static let overlayInvalidConfiguration = Self(.overlayInvalidConfiguration)
    package static let overlayTimeout = Self(.overlayTimeout)
    package static let ineligibleForOffer = Self(.ineligibleForOffer)
    package static let unsupportedPlatform = Self(.unsupportedPlatform)
    package static let overlayPresentedInBackgroundScene = Self(.overlayPresentedInBackgroundScene)
    package static let invalidQuantity = Self(.invalidQuantity)
    package static let notEntitled = Self(.notEntitled)
    package static let unsupported = Self(.unsupported)
    package static let unverified = Self(.unverified)
    package static func network(_ kind: TransportError.Kind) -> Self { Self(.network(kind)) }
    package static func laterCode(_ code: Int) -> Self { Self(.laterCode(code)) }
    package static func system(domain: String, code: Int) -> Self { Self(.system(domain: domain, code: code)) }

    /// A stable code, for programs and logs.
    package var code: String {
        switch kind {
        case .unknown: "store_unknown"
        case .clientInvalid: "store_client_invalid"
        case .cancelled: "store_cancelled"
        case .paymentInvalid: "store_payment_invalid"
        case .paymentNotAllowed: "store_payment_not_allowed"
        case .notAvailable: "store_product_not_available"
        case .cloudServicePermissionDenied: "store_cloud_permission_denied"
        case .cloudServiceNetworkConnectionFailed: "store_cloud_network_failed"
        case .cloudServiceRevoked: "store_cloud_revoked"
        case .privacyAcknowledgementRequired: "store_privacy_acknowledgement_required"
        case .unauthorizedRequestData: "store_unauthorized_request_data"
        case .invalidOfferIdentifier: "store_invalid_offer_identifier"
        case .invalidOfferSignature: "store_invalid_offer_signature"
        case .missingOfferParameters: "store_missing_offer_parameters"
        case .invalidOfferPrice: "store_invalid_offer_price"
        case .overlayCancelled: "store_overlay_cancelled"
        case .overlayInvalidConfiguration: "store_overlay_invalid_configuration"
        case .overlayTimeout: "store_overlay_timeout"
        case .ineligibleForOffer: "store_ineligible_for_offer"
        case .unsupportedPlatform: "store_unsupported_platform"
        case .overlayPresentedInBackgroundScene: "store_overlay_in_background"
        case .invalidQuantity: "store_invalid_quantity"
        case .notEntitled: "store_not_entitled"
        case .unsupported: "store_unsupported"
        case .unverified: "store_unverified"
        case .network(let kind): "store_\(kind.rawValue)"
        case .laterCode: "store_later_code"
        case .system: "store_system"
        }
    }

    /// A Boolean value that indicates whether the same request may succeed later without a change. After a purchase
    /// that `mayBePaid`, wait for its outcome first.
    package var isRetryable: Bool {
        switch kind {
        case .unknown, .cloudServiceNetworkConnectionFailed, .overlayTimeout, .network, .laterCode, .system: true
        default: false
        }
    }

    /// A Boolean value that indicates whether the buyer cancelled. Show no alert then.
    package var isCancellation: Bool { self == .cancelled || self == .overlayCancelled }

    /// A Boolean value that indicates whether a purchase with this error may turn out to be paid. The app then shows
    /// that it is checking, and offers no second payment. A cancelled purchase may be paid too, after an interruption,
    /// but its buyer may choose again.
    package var mayBePaid: Bool {
        switch kind {
        case .unknown, .laterCode, .system, .unverified: true
        // These errors occur before anything is sent to the store.
        case .network(let kind): kind == .timedOut || kind == .connectionLost || kind == .other
        default: false
        }
    }
}

/// Two errors of one kind are the same to the kit, whatever StoreKit's own errors say.
extension AppStoreError: Hashable {
    package static func == (one: Self, other: Self) -> Bool { one.kind == other.kind }
    package func hash(into hasher: inout Hasher) { hasher.combine(kind) }
}

extension AppStoreError {
    /// The problem with a recorded code; the number that some problems contain is lost.
    init?(code: String) {
        guard let problem = Self.known.first(where: { $0.code == code }) else { return nil }
        self = problem
    }

    private static let known: [AppStoreError] =
        [
            .unknown, .clientInvalid, .cancelled, .paymentInvalid, .paymentNotAllowed, .notAvailable,
            .cloudServicePermissionDenied, .cloudServiceNetworkConnectionFailed, .cloudServiceRevoked,
            .privacyAcknowledgementRequired, .unauthorizedRequestData, .invalidOfferIdentifier,
            .invalidOfferSignature, .missingOfferParameters, .invalidOfferPrice, .overlayCancelled,
            .overlayInvalidConfiguration, .overlayTimeout, .ineligibleForOffer, .unsupportedPlatform,
            .overlayPresentedInBackgroundScene, .invalidQuantity, .notEntitled, .unsupported, .unverified,
            .laterCode(0), .system(domain: "", code: 0),
        ] + TransportError.Kind.allCases.map(AppStoreError.network)
}

extension PendingReason {
    /// The buyer's sentence for a reason in an order's history; nil if it is not a code of the kit.
    static func sentence(ofReason code: String) -> LocalizedText? {
        let own = [PendingReason.notApproved, .startsAtRenewal, .alreadySubscribed]
        if let reason = own.first(where: { $0.code == code }) { return reason.sentence }
        if let problem = AppStoreError(code: code) { return problem.sentence }
        if let refusal = Refusal(rawValue: code) { return refusal.advice }
        return TransportError.Kind(rawValue: code)?.sentence
    }
}

extension AppStoreError {
    /// A message for the buyer: the problem and the remedy.
    package var sentence: LocalizedText {
        switch kind {
        case .network(let kind): Self.sentence(kind)
        case .cloudServicePermissionDenied, .cloudServiceNetworkConnectionFailed, .cloudServiceRevoked,
            .overlayCancelled, .overlayInvalidConfiguration, .overlayTimeout, .overlayPresentedInBackgroundScene,
            .unsupportedPlatform:
            serviceSentence
        case .unauthorizedRequestData, .invalidOfferIdentifier, .invalidOfferSignature, .missingOfferParameters,
            .invalidOfferPrice, .ineligibleForOffer, .invalidQuantity, .notEntitled, .unsupported:
            requestSentence
        default: paymentSentence
        }
    }

    private var paymentSentence: LocalizedText {
        switch kind {
        case .clientInvalid:
            LocalizedText(
                en: "This Apple Account can't buy here. Check in Settings that you are signed in to the App Store.",
                zh: "当前 Apple 账户无法购买。请在“设置”中确认已登录 App Store。")
        case .cancelled:
            LocalizedText(
                en: "You cancelled the purchase. Tap the product again if you still want it.",
                zh: "您已取消购买。如仍需要，请再次点按该商品。")
        case .paymentInvalid:
            LocalizedText(
                en: "The App Store did not accept this purchase. Update the app and try again.",
                zh: "App Store 未接受此次购买。请更新 App 后重试。")
        case .paymentNotAllowed:
            LocalizedText(
                en: "Purchases are turned off on this device. Allow them in Settings under Screen Time, or ask the "
                    + "person who manages the device.",
                zh: "此设备不允许购买。请在“设置”的“屏幕使用时间”中开启，或联系设备管理者。")
        case .notAvailable:
            LocalizedText(
                en: "This product is not sold in the country or region of your Apple Account. Choose another one.",
                zh: "您的 Apple 账户所在国家或地区不提供此商品，请选择其他商品。")
        case .privacyAcknowledgementRequired:
            LocalizedText(
                en: "Apple asks you to agree to its privacy terms first. Open the App Store, agree, and buy again.",
                zh: "需要先同意 Apple 的隐私条款。请打开 App Store 同意后再购买。")
        case .unverified:
            LocalizedText(
                en:
                    "The purchase is being checked. Don't buy again yet; if nothing comes within a day, tell support.",
                zh: "正在核实此次购买，请先不要再次购买；如一天内仍未到账，请联系客服。")
        case .laterCode(let number):
            LocalizedText(
                en:
                    "The App Store answered with an error this app doesn't know (\(number)). We are checking whether "
                    + "you paid; don't buy again yet.",
                zh: "App Store 返回了此版本 App 未知的错误（\(number)）。正在核对是否已付款，请先不要再次购买。")
        case .system(_, let number):
            LocalizedText(
                en:
                    "The system interrupted the purchase (\(number)). We are checking whether you paid; finish what "
                    + "the App Store asks for, and don't buy again yet.",
                zh: "系统中断了此次购买（\(number)）。正在核对是否已付款，请先完成 App Store 的提示，暂时不要再次购买。")
        default:
            LocalizedText(
                en:
                    "We are checking with the App Store whether you paid. Don't buy again yet: if you did, it arrives "
                    + "by itself.",
                zh: "正在向 App Store 核对是否已付款，请先不要再次购买；如已付款，内容会自动到账。")
        }
    }

    private var requestSentence: LocalizedText {
        switch kind {
        case .unauthorizedRequestData:
            LocalizedText(
                en: "This version of the app may not buy like that. Update the app and try again.",
                zh: "此版本的 App 无权以这种方式购买，请更新 App 后重试。")
        case .invalidOfferIdentifier:
            LocalizedText(
                en: "This offer is no longer available. Go back to the shop and choose again.",
                zh: "此优惠已不存在，请返回商店重新选择。")
        case .invalidOfferSignature:
            LocalizedText(
                en: "This offer could not be confirmed. Open the shop again and try once more.",
                zh: "无法确认此优惠，请重新打开商店后再试一次。")
        case .missingOfferParameters:
            LocalizedText(
                en: "Something is missing from this offer. Update the app, or buy without the offer.",
                zh: "此优惠的信息不完整。请更新 App，或不使用优惠购买。")
        case .invalidOfferPrice:
            LocalizedText(
                en: "This offer's price has changed. Open the shop again to see the new one.",
                zh: "此优惠的价格已变动，请重新打开商店查看。")
        case .ineligibleForOffer:
            LocalizedText(
                en: "This offer is not for your Apple Account, perhaps because it was used before. Buy at the regular "
                    + "price.",
                zh: "您的 Apple 账户不符合此优惠的条件（可能已使用过），请按原价购买。")
        case .invalidQuantity:
            LocalizedText(
                en: "The App Store does not sell this quantity at once. Choose 1 to 10.",
                zh: "App Store 不支持一次购买此数量，请选择 1 到 10。")
        case .notEntitled:
            LocalizedText(
                en: "This version of the app is not allowed to sell. Get it anew from the App Store.",
                zh: "此版本的 App 无权销售商品，请从 App Store 重新下载。")
        default:
            LocalizedText(
                en: "This device's system is too old for that. Update it and try again.",
                zh: "设备的系统版本不支持此操作，请更新系统后重试。")
        }
    }

    private var serviceSentence: LocalizedText {
        switch kind {
        case .cloudServicePermissionDenied:
            LocalizedText(
                en: "The app may not use Apple Music on this device. Allow it in Settings under Privacy.",
                zh: "此 App 没有使用 Apple Music 的权限，请在“设置”的“隐私”中允许。")
        case .cloudServiceNetworkConnectionFailed:
            LocalizedText(
                en: "Apple Music can't be reached. Check the connection and try again.",
                zh: "无法连接 Apple Music，请检查网络后重试。")
        case .cloudServiceRevoked:
            LocalizedText(
                en: "The permission to use Apple Music was withdrawn. Allow it again in Settings under Privacy.",
                zh: "使用 Apple Music 的权限已被收回，请在“设置”的“隐私”中重新允许。")
        case .overlayCancelled:
            LocalizedText(
                en: "You closed the App Store's banner. Open the page again to see it.",
                zh: "您已关闭 App Store 横幅。如需查看，请重新打开此页面。")
        case .overlayInvalidConfiguration:
            LocalizedText(
                en: "The App Store's banner can't be shown. Search for the app in the App Store instead.",
                zh: "无法显示 App Store 横幅，请直接在 App Store 中搜索该 App。")
        case .overlayTimeout:
            LocalizedText(
                en: "The App Store's banner took too long to load. Try again in a moment.",
                zh: "App Store 横幅加载超时，请稍后重试。")
        case .overlayPresentedInBackgroundScene:
            LocalizedText(
                en: "The App Store's banner can only be shown in front. Come back to the app and try again.",
                zh: "App Store 横幅只能在前台显示，请回到 App 后重试。")
        default:
            LocalizedText(
                en: "This kind of device can't show the App Store's banner. Open the App Store itself.",
                zh: "此类设备无法显示 App Store 横幅，请直接打开 App Store。")
        }
    }

    /// The connection to the store, as opposed to the connection to the purchase server. There is no automatic retry
    /// here.
    private static func sentence(_ kind: TransportError.Kind) -> LocalizedText {
        switch kind {
        case .offline:
            LocalizedText(
                en: "This device is offline, so the App Store can't be reached. Connect to the internet and try again.",
                zh: "设备当前无网络连接，无法访问 App Store。请联网后重试。")
        case .cannotFindServer:
            LocalizedText(
                en: "The App Store can't be found on this network. Try another network.",
                zh: "在当前网络中找不到 App Store，请更换网络后重试。")
        case .cannotConnect:
            LocalizedText(
                en: "The App Store can't be reached right now. Try again in a moment.",
                zh: "暂时无法连接 App Store，请稍后重试。")
        case .timedOut:
            LocalizedText(
                en: "The App Store is slow to answer. Wait a moment before you try again: if you paid, it arrives by "
                    + "itself.",
                zh: "App Store 响应超时。请稍候再试；如已付款，内容会自动到账。")
        case .connectionLost:
            LocalizedText(
                en: "The connection to the App Store was interrupted. Check the network before you try again: if you "
                    + "paid, it arrives by itself.",
                zh: "与 App Store 的连接已中断。请检查网络后再试；如已付款，内容会自动到账。")
        case .insecure:
            LocalizedText(
                en: "No secure connection to the App Store could be made. Check the device's date, and sign in to the "
                    + "Wi-Fi if it asks for that.",
                zh: "无法与 App Store 建立安全连接。请检查设备日期；如果 Wi-Fi 需要登录，请先登录。")
        case .other:
            LocalizedText(
                en:
                    "The network failed while talking to the App Store. Wait a moment before you try again: if you "
                    + "paid, it arrives by itself.",
                zh: "与 App Store 通信时网络出错。请稍候再试；如已付款，内容会自动到账。")
        }
    }
}
