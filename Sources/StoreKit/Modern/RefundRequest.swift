import Foundation

// The results of the refund sheet, which is shown in a scene. There is no sheet here; use
// `POST /emulator/transactions/{id}/refund` of the control API.
@available(tvOS 17.0, watchOS 10.0, *)
extension Transaction {
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum RefundRequestStatus: Hashable, Sendable {
        /// The request reached the App Store, which decides later.
        case success
        case userCancelled
    }

    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum RefundRequestError: Error, Hashable, Sendable {
        /// There already is a refund or a request for this transaction.
        case duplicateRequest
        case failed
        @available(iOS 27.0, macOS 27.0, tvOS 27.0, watchOS 27.0, *)
        case ineligible
    }
}

@available(iOS 15.4, macOS 12.3, tvOS 17.0, watchOS 10.0, *)
extension Transaction.RefundRequestError: LocalizedError {
    public var errorDescription: String? {
        switch self {
        case .duplicateRequest: "A refund was already requested for this purchase."
        case .failed: "The refund request failed."
        case .ineligible: "This purchase is not eligible for a refund."
        }
    }
}
