import TillBilling

/// What came of asking verifyReceipt.
public enum VerifyReceiptOutcome: Sendable, Equatable {
    /// Apple vouches for the receipt (or says that its subscription is over, `.expired`), as the host of that
    /// environment. Nothing is paid before `VerifyReceiptClaim` finds nothing wrong with it.
    case answered(VerifyReceiptAnswer, from: Environment)
    /// Apple does not vouch for the receipt: nothing is granted. If that is not final, another receipt from the same
    /// device may be better.
    case refused(VerifyReceiptStatus, isFinal: Bool)
    /// Nothing was learned: ask again, after so many milliseconds if Apple said how many.
    case retry(VerifyReceiptTrouble, after: Int64?)
    /// Our own set-up is wrong. Nobody's order is at fault, and all of them wait.
    case misconfigured(VerifyReceiptStatus)
}

/// Why nothing was learned about a receipt. Always worth another attempt.
public enum VerifyReceiptTrouble: Sendable, Equatable {
    /// Apple says that it is in trouble.
    case status(VerifyReceiptStatus)
    /// No answer came, or one too large.
    case outage(AppleOutage.Reason)
    /// Of HTTP: not 200. A redirect is none of Apple's.
    case httpStatus(Int)
    /// HTML.
    case page
    case unusable(VerifyReceiptAnswer.Unusable)
    /// Each environment says that the receipt belongs to the other one.
    case environmentsDisagree(VerifyReceiptStatus)
}
