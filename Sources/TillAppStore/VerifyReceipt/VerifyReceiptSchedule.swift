/// When verifyReceipt is asked again about a receipt (facts/limits §7): after 5 seconds, then each time twice as long
/// up to an hour, for a day; then daily, up to 30 days. A pure function of the number of attempts, so that whoever
/// keeps the count in a database needs to keep nothing else.
public enum VerifyReceiptSchedule {
    /// Milliseconds from the end of that attempt to the next one; nil when there is none any more.
    ///
    /// - Parameters:
    ///   - attempt: how many attempts there were, from 1.
    ///   - trouble: what the last one ended with. A receipt that Apple still calls malformed after a day is no trouble
    ///     of Apple's: the client is asked for another one (facts/verify-receipt §3).
    public static func delay(afterAttempt attempt: Int, _ trouble: VerifyReceiptTrouble? = nil) -> Int64? {
        let attempt = max(1, attempt)
        if attempt <= growing.count { return growing[attempt - 1] }
        if attempt <= growing.count + hourly { return hour }
        if case .status(let status)? = trouble, status.treatment == .retryThenRefreshReceipt { return nil }
        return attempt <= growing.count + hourly + daily ? day : nil
    }

    private static let hour: Int64 = 3_600_000
    private static let day = 24 * hour

    /// 5 s, 10 s, … 2560 s.
    private static let growing: [Int64] = (0..<10).map { 5_000 << $0 }
    /// So many hours that a day is over with them.
    private static let hourly = Int((day - growing.reduce(0, +) + hour - 1) / hour)
    /// So many days that 30 are not over with them.
    private static let daily = Int((30 * day - growing.reduce(0, +) - Int64(hourly) * hour) / day)
}
