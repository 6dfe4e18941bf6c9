/// Apple's financial report held against the ledger, line by line.
public struct ReportComparison: Hashable, Sendable {
    public enum Verdict: String, Hashable, Sendable, CaseIterable {
        case equal, onlyAtApple, onlyInLedger, unitsDiffer, proceedsDiffer
    }

    /// One product at one price in one country, sales and returns apart.
    public struct Line: Hashable, Sendable {
        public let productID: ProductID
        /// ISO 3166-1 alpha-2; what the ledger says if it is no territory of Apple's, and nil where nobody said.
        public let country: String?
        public let customerPrice: Money
        public let kind: FinanceEntry.Kind
        /// Units and proceeds are from zero up, for returns too. Nil if that side has no such line.
        public let apple: Side?
        public let ledger: Side?
        public let verdict: Verdict
    }

    public struct Side: Hashable, Sendable {
        public var units: Int64
        public var proceeds: Money
    }

    public struct Total: Hashable, Sendable {
        public let currency: Currency
        /// Returns subtracted, so they may be negative.
        public let apple: Side
        public let ledger: Side
    }

    public let lines: [Line]
    public let totals: [Total]

    public init(apple: [FinancialReportFile.Line], ledger: SettlementReport.Period?) {
        lines = []
        totals = []
    }
}
