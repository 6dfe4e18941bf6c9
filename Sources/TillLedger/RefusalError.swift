import TillBilling

/// A request that the ledger or a handler refuses, as an error.
package struct RefusalError: Error {
    package let refusal: Refusal
    package let detail: String?
    /// Seconds after which the request may succeed; nil for the default.
    package let retryAfter: Int64?

    package init(_ refusal: Refusal, _ detail: String? = nil, retryAfter: Int64? = nil) {
        self.refusal = refusal
        self.detail = detail
        self.retryAfter = retryAfter
    }
}
