import TillBilling

/// When and how much is compared with Apple's books.
public struct ReconciliationSettings: Sendable, Hashable {
    /// Milliseconds from the beginning of one run to the next; nil if none begins by itself. With a key to ask Apple
    /// by, there is no good reason for nil.
    public var interval: Int64? = 86_400_000
    /// Customers whose histories of transactions one run reads, at most: those not asked about for longest come first,
    /// so a larger shop is read in several runs. 50,000 take Apple's quota 17 minutes, in the sandbox ten times as
    /// long (facts/server-api §7).
    public var customersPerRun: Int64 = 50_000
    /// The same for histories of refunds, of which Apple answers a fifth as many.
    public var refundsPerRun: Int64 = 20_000
    /// What is nobody's is asked about one by one, the newest first, so many of it.
    public var quarantinedPerRun: Int64 = 5_000

    /// Milliseconds without a server at work, after which something has been missed.
    public var gap: Int64 = 600_000
    /// Milliseconds by which a run begins before the last finished one: two clocks differ, and Apple's history is
    /// written by another machine than the one that sends.
    public var overlap: Int64 = 86_400_000
    /// Milliseconds that an order may be open before its buyer's histories are asked for.
    public var orderQuiet: Int64 = 3_600_000
    /// Milliseconds after which an order that nobody paid is closed.
    public var orderPatience: Int64 = 30 * 86_400_000

    public init() {}

    /// Milliseconds after its payment, from which on a purchase that was not granted counts as a lost order.
    public static let lostAfter: Int64 = 86_400_000
}
