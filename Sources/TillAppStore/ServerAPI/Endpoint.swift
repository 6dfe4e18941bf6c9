import TillBilling
import TillJSON

extension ServerAPI {
    /// An endpoint of the App Store Server API, the unit of Apple's quotas (facts/server-api §7). An endpoint and its
    /// deprecated version share one: Apple counts them apart, and we stay below both.
    public enum Endpoint: String, CaseIterable, Sendable {
        case transactionInfo
        case history
        case subscriptionStatuses
        case orderLookup
        case refundHistory
        case consumption
        case extendRenewal
        case massExtension
        case massExtensionStatus
        case testNotification
        case testNotificationStatus
        case notificationHistory
        case appAccountToken
        case appTransactionInfo
        case finish
    }
}

/// One request, before it is known which environment is asked.
struct ServerAPICall: Sendable {
    let endpoint: ServerAPI.Endpoint
    let method: AppleRequest.Method
    /// Path and query, percent-encoded.
    let target: String
    var body: JSONValue?
    /// The only status that says it was done.
    var success = 200
    /// Bytes. An answer with twenty tokens has about 140 kB, twenty notifications have three times as many
    /// (facts/limits §3).
    var answerLimit = 1 << 20

    static let pageLimit = 4 << 20

    init(_ endpoint: ServerAPI.Endpoint, _ method: AppleRequest.Method, _ target: String, body: JSONValue? = nil) {
        self.endpoint = endpoint
        self.method = method
        self.target = target
        self.body = body
    }
}
