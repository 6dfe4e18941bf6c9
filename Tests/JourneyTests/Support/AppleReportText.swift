import TillBilling

/// A financial report in App Store Connect's format for a region: tab-separated, with sums at the end. For fiscal
/// period 12 of 2026.
struct AppleReportText {
    struct Line {
        var product: String
        /// Negative for a return.
        var units: Int64
        /// For one unit.
        var share: Money
        var country: String
        var price: Money
    }

    var lines: [Line] = []

    mutating func add(_ line: Line) { lines.append(line) }

    private static let columns = [
        "Start Date", "End Date", "UPC", "ISRC/ISBN", "Vendor Identifier", "Quantity", "Partner Share",
        "Extended Partner Share", "Partner Share Currency", "Sales or Return", "Apple Identifier",
        "Artist/Show/Developer/Author", "Title", "Label/Studio/Network/Developer/Publisher", "Grid",
        "Product Type Identifier", "ISAN/Other Identifier", "Country Of Sale", "Pre-order Flag", "Promo Code",
        "Customer Price", "Customer Currency",
    ]

    var text: String {
        var rows = [Self.columns]
        for line in lines {
            let sum = Money(amount: line.share.amount * line.units, currency: line.share.currency)
            rows.append([
                "08/30/2026", "09/26/2026", "", "", line.product, "\(line.units)", Self.decimal(line.share),
                Self.decimal(sum), line.share.currency.text, line.units < 0 ? "R" : "S", "1234567890", "Example",
                "A title", "", "", "IA1", "", line.country, "", "", Self.decimal(line.price), line.price.currency.text,
            ])
        }
        let units = lines.reduce(0) { $0 + $1.units }
        let cents = lines.reduce(0) { $0 + $1.share.amount * $1.units }
        let amount = Money(amount: cents, currency: Currency("USD"))
        let totals = [
            ["Total_Rows", "\(lines.count)"], ["Total_Amount", Self.decimal(amount)], ["Total_Units", "\(units)"],
        ]
        return (rows + totals).map { $0.joined(separator: "\t") + "\n" }.joined()
    }

    private static func decimal(_ money: Money) -> String { String(money.description.prefix { $0 != " " }) }
}
