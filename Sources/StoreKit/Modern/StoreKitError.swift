import Foundation

/// What stands in the way of any of StoreKit's work.
public enum StoreKitError: Error, Sendable {
    case unknown
    case userCancelled
    case networkError(URLError)
    case systemError(any Error)
    case notAvailableInStorefront
    /// The app lacks an entitlement.
    case notEntitled
    case unsupported

    init(_ fault: StoreFault) {
        if let error = fault.networkError {
            self = .networkError(error)
        } else if case .refused(code: "not_for_sale", _, _) = fault {
            self = .notAvailableInStorefront
        } else {
            self = .unknown
        }
    }
}

extension StoreKitError: LocalizedError {
    public var errorDescription: String? {
        switch self {
        case .unknown: "The App Store could not do this."
        case .userCancelled: "The request was cancelled."
        case .networkError(let error): error.localizedDescription
        case .systemError(let error): error.localizedDescription
        case .notAvailableInStorefront: "This is not available in your country or region."
        case .notEntitled: "This app is not entitled to do this."
        case .unsupported: "This is not supported."
        }
    }
}
