import Foundation

public let SKErrorDomain: String = "SKErrorDomain"

/// Why a payment or a request of StoreKit 1 failed (facts/storekit-client A7). Network failures are `URLError`s.
public struct SKError: CustomNSError, LocalizedError, Hashable, Sendable {
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

    /// - Parameter userInfo: without a description of its own, the error has the code's sentence in the user's
    ///   language.
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
    public var errorDescription: String? { localizedDescription }
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
    /// `catch SKError.paymentCancelled`.
    public static func ~= (match: SKError.Code, error: any Error) -> Bool { (error as? SKError)?.code == match }
}
