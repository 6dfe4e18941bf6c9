import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Every error that `TillStore` throws: a stable code for programs, a message for the customer, and whether repeating
/// the call may help.
public struct TillError: Error, Sendable {
    /// A stable code. A later version of the kit or the server may send codes that have no name here.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// No user is signed in to the app.
        public static let notSignedIn = Code(rawValue: "signed_out")
        /// The App Store doesn't sell the product to this customer.
        public static let productUnavailable = Code(rawValue: "product_unavailable")
        /// Neither the server nor the App Store provides the list of products.
        public static let productListUnavailable = Code(rawValue: "product_list_unavailable")
        /// Purchases are turned off on this device.
        public static let paymentsNotAllowed = Code(rawValue: "payments_not_allowed")
        /// The plan's preview no longer applies. Nothing was charged; show a new one.
        public static let previewChanged = Code(rawValue: "preview_changed")
        /// The promotional offer isn't open to users. The app's backend requests its signature.
        public static let offerNotOpen = Code(rawValue: "offer_not_open")
        /// This device, or the Xcode that built the app, lacks an option of the purchase.
        public static let optionNotSupported = Code(rawValue: "option_not_supported")
        /// The device has no network connection.
        public static let offline = Code(rawValue: "offline")
        /// This device and the server know no such order.
        public static let unknownOrder = Code(rawValue: "unknown_order")
        /// Apple refunded or revoked the purchase.
        public static let refunded = Code(rawValue: "refunded")
        /// The server's address doesn't begin with `https://`.
        public static let insecureServer = Code(rawValue: "insecure_server")
        /// Another instance of the app has the list of orders open.
        public static let diskInUse = Code(rawValue: "disk_in_use")
        /// The device's storage is full.
        public static let diskFull = Code(rawValue: "disk_full")
    }

    /// A stable code, for programs and logs.
    public let code: Code
    /// A Boolean value that indicates whether the same call may succeed later.
    public let isRetryable: Bool
    /// The order of the purchase that failed, if there is one.
    public let orderID: String?
    /// The server's id of the refused request, for support.
    public let requestID: String?
    /// The error of StoreKit, of the network or of the file system, if there is one.
    public let underlying: (any Error)?

    private let sentence: LocalizedText

    /// A message for the customer: the problem, the remedy, and that nothing was charged if that is certain.
    ///
    /// - Parameter language: `zh-Hans-CN`, `en`, or several as in `Accept-Language`; English for any other language.
    ///   Nil for the device's language.
    public func message(in language: String? = nil) -> String { sentence.text(in: language) }
}

extension TillError: LocalizedError {
    /// The message in the device's language.
    public var errorDescription: String? { message() }
}

/// Two errors are equal if programs can't tell them apart; `underlying` isn't compared.
extension TillError: Hashable {
    public static func == (one: TillError, other: TillError) -> Bool {
        one.code == other.code && one.isRetryable == other.isRetryable && one.orderID == other.orderID
            && one.requestID == other.requestID
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(orderID)
    }
}

extension TillError {
    /// - Parameter isUncharged: whether the purchase that failed certainly charged nothing.
    init(_ error: StoreError, order: OrderID? = nil, isUncharged: Bool = false) {
        code = Code(rawValue: error.code)
        isRetryable = error.isRetryable
        orderID = order?.description
        requestID = error.requestID
        underlying = error.underlying
        sentence = isUncharged ? error.sentence.uncharged : error.sentence
    }
}

extension LocalizedText {
    fileprivate var uncharged: LocalizedText {
        LocalizedText(en: "\(en) Nothing was charged.", zh: "\(zh)本次未扣款。")
    }

    /// - Parameter language: as in `TillError.message(in:)`.
    func text(in language: String?) -> String { self[language.map(Language.init(preference:)) ?? .ofDevice] }
}
