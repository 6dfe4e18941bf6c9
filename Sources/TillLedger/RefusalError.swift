import TillBilling

/// A request that the ledger or a handler refuses, as an error.
package struct RefusalError: Error {
    package let refusal: Refusal
    /// What is wrong, and often with which field; a code or a name is the same in both languages.
    package let detail: LocalizedText?
    /// Seconds after which the request may succeed; nil for the default.
    package let retryAfter: Int64?

    package init(_ refusal: Refusal, detail: LocalizedText? = nil, retryAfter: Int64? = nil) {
        self.refusal = refusal
        self.detail = detail
        self.retryAfter = retryAfter
    }

    package init(_ refusal: Refusal, _ english: String, zh chinese: String, retryAfter: Int64? = nil) {
        self.init(refusal, detail: LocalizedText(en: english, zh: chinese), retryAfter: retryAfter)
    }

    /// With a code or the name of a field, which is the same in both languages.
    package init(_ refusal: Refusal, verbatim: String) {
        self.init(refusal, detail: LocalizedText(en: verbatim, zh: verbatim))
    }

    package init(_ error: ProofError) {
        self.init(error.refusal, detail: LocalizedText(en: error.detail, zh: error.chineseDetail))
    }
}
