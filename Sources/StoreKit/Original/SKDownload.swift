import Foundation

public enum SKDownloadState: Int, Hashable, Sendable {
    case waiting = 0
    case active = 1
    case paused = 2
    case finished = 3
    case failed = 4
    case cancelled = 5
}

public let SKDownloadTimeRemainingUnknown: TimeInterval = -1

/// Content that Apple hosts for a product, which Apple deprecated with iOS 16. The emulated store hosts none, so no
/// transaction has any.
open class SKDownload: NSObject, @unchecked Sendable {
    // Nothing is stored in it, so there is nothing to guard.
    open var state: SKDownloadState { .waiting }
    open var contentIdentifier: String { "" }
    open var contentLength: Int64 { 0 }
    open var expectedContentLength: Int64 { 0 }
    open var contentVersion: String { "" }
    open var contentURL: URL? { nil }
    open var error: (any Error)? { nil }
    open var progress: Float { 0 }
    open var timeRemaining: TimeInterval { SKDownloadTimeRemainingUnknown }
    open var transaction: SKPaymentTransaction { SKPaymentTransaction() }

    open class func contentURL(forProductID productID: String) -> URL? { nil }
    open class func deleteContent(forProductID productID: String) {}
}
