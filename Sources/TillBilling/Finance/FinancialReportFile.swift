/// Apple's financial report as App Store Connect gives it: tab-separated text, unpacked.
public struct FinancialReportFile: Hashable, Sendable {
    public let lines: [Line]
    /// What is wrong with the file, in the order of its lines.
    public let findings: [Finding]

    /// Whether nothing in the file had to be left out.
    public var isUsable: Bool { !findings.contains { $0.isError } }

    public struct Line: Hashable, Sendable {
        /// In the file, from 1.
        public let number: Int
        /// The fiscal month, as the line itself says.
        public let start: CivilDate
        public let end: CivilDate
        /// Apple's vendor identifier: the SKU of an app, the product id of an in-app purchase.
        public let productID: ProductID
        /// Signed as in the file: Apple writes returns with a minus.
        public let units: Int64
        /// Of one unit, never negative.
        public let proceedsEach: Money
        /// Of all units, signed as in the file.
        public let proceeds: Money
        public let isReturn: Bool
        /// ISO 3166-1 alpha-2.
        public let country: String
        /// Of one unit.
        public let customerPrice: Money
        public let title: String
        public let appleIdentifier: String
        public let productTypeIdentifier: String
    }

    public struct Finding: Hashable, Sendable {
        public enum Code: String, Hashable, Sendable, CaseIterable { case empty }

        public let code: Code
        /// In the file, from 1; nil for what is about the whole file.
        public let line: Int?
        /// What is wrong.
        public let sentence: Text
        /// What to do about it.
        public let cure: Text
        /// Whether something could not be read; otherwise it is a remark.
        public let isError: Bool
    }

    public init(_ text: String) {
        lines = []
        findings = []
    }
}
