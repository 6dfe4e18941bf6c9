import TillBilling

/// When reconciliations run and how much they read.
public struct ReconciliationSettings: Sendable, Hashable {
    /// Milliseconds from the start of one run to the next; nil turns automatic runs off. With an In-App Purchase Key,
    /// keep it on.
    public var interval: Int64? = 86_400_000
    /// The maximum number of customers whose transaction histories one run reads, those read longest ago first; a
    /// larger shop is read in several runs. At Apple's quota 50,000 take 17 minutes, in the sandbox ten times as long
    /// (facts/server-api §7).
    public var customersPerRun: Int64 = 50_000
    /// The same for refund histories, for which Apple's quota is a fifth.
    public var refundsPerRun: Int64 = 20_000
    /// The maximum number of purchases without an owner that one run asks about, newest first.
    public var quarantinedPerRun: Int64 = 5_000

    /// Milliseconds without a running server after which a run starts, because notifications may be missing.
    public var gap: Int64 = 600_000
    /// Milliseconds by which a run's period begins before the last finished run: clocks differ, and Apple's history is
    /// written by another machine than the one that sends.
    public var overlap: Int64 = 86_400_000
    /// Milliseconds that an order may be open before its buyer's histories are read early.
    public var orderQuiet: Int64 = 3_600_000
    /// Milliseconds after which an unpaid order is closed.
    public var orderTimeout: Int64 = 30 * 86_400_000

    public init() {}

    /// Milliseconds after its payment from which a purchase that was not granted counts as a lost order.
    public static let lostAfter: Int64 = 86_400_000
}
