import TillBilling
import TillPages

/// Amounts of money as bars. A bar stretches with the page, so it contains no text: its name and amount stand beside
/// it, and the table below gives the same numbers.
struct FinanceChart {
    let localize: Localizer
    let currency: Currency

    private static let width = 1_000.0
    /// Bars that fit one chart; the table has all rows.
    private static let barLimit = 24

    /// The steps from the price that customers paid to the payment expected from Apple, one per line.
    func steps(_ figures: SettlementReport.Figures) -> HTML {
        let (sales, back) = (figures.sales, figures.refunds.proceeds)
        let net = sales.gross - sales.tax
        let most = max(sales.gross, back, 1)
        return element("div", .class("chart")) {
            step(localize("Gross", "总额"), 0, sales.gross, most, "idle", sales.gross)
            step(localize("− Tax", "− 税"), net, sales.gross, most, "waiting", -sales.tax)
            step(localize("− Commission", "− 佣金"), sales.proceeds, net, most, "busy", -sales.commission)
            step(localize("= Proceeds", "= 收入"), 0, sales.proceeds, most, "good", sales.proceeds)
            step(localize("− Refunds", "− 退款"), max(0, sales.proceeds - back), sales.proceeds, most, "bad", -back)
            step(
                localize("= Expected payment", "= 预计回款"), 0, max(0, figures.netProceeds), most, "good",
                figures.netProceeds)
        }
    }

    /// The price that customers paid, divided into its parts, with refunds below.
    @HTMLBuilder func stacks(_ bars: [(name: String, figures: SettlementReport.Figures)]) -> HTML {
        let shown = bars.prefix(Self.barLimit)
        let most = shown.map { max($0.figures.sales.gross, $0.figures.refunds.gross) }.max() ?? 0
        if most > 0 {
            element("figure", .class("chart")) {
                for bar in shown { stack(bar.name, bar.figures, most) }
                element("figcaption") {
                    element("ul", .class("legend")) {
                        element("li", .class("good")) { localize("Proceeds", "收入") }
                        element("li", .class("busy")) { localize("Commission", "佣金") }
                        element("li", .class("waiting")) { localize("Tax", "税") }
                        element("li", .class("bad")) { localize("Refunded", "退款") }
                    }
                    if bars.count > Self.barLimit {
                        element("p", .class("hint")) {
                            localize(
                                "The largest \(Self.barLimit) of \(bars.count).",
                                "共 \(bars.count) 项，图中为前 \(Self.barLimit) 项。")
                        }
                    }
                }
            }
        }
    }

    private func step(
        _ name: String, _ from: Int64, _ to: Int64, _ most: Int64, _ colour: StaticString, _ amount: Int64
    ) -> HTML {
        let text = amount == 0 ? Grouped.text(0, currency) : Grouped.text(amount, currency)
        return line(name, text) {
            svg("0 0 1000 16", "\(name): \(text)") { bar(from, to, most, (0, 16), colour) }
        }
    }

    private func stack(_ name: String, _ figures: SettlementReport.Figures, _ most: Int64) -> HTML {
        let sales = figures.sales
        let label = localize(
            """
            \(name): gross \(Grouped.text(sales.gross, currency)), tax \(Grouped.text(sales.tax, currency)), \
            commission \
            \(Grouped.text(sales.commission, currency)), proceeds \(Grouped.text(sales.proceeds, currency)), refunded \
            \(Grouped.text(figures.refunds.gross, currency))
            """,
            """
            \(name)：总额 \(Grouped.text(sales.gross, currency))，税 \(Grouped.text(sales.tax, currency))，佣金 \
            \(Grouped.text(sales.commission, currency))，收入 \(Grouped.text(sales.proceeds, currency))，退款 \
            \(Grouped.text(figures.refunds.gross, currency))
            """)
        return line(name, Grouped.text(sales.gross, currency)) {
            svg("0 0 1000 22", label) {
                bar(0, sales.proceeds, most, (0, 16), "good")
                bar(sales.proceeds, sales.proceeds + sales.commission, most, (0, 16), "busy")
                bar(sales.proceeds + sales.commission, sales.gross, most, (0, 16), "waiting")
                bar(0, figures.refunds.gross, most, (18, 4), "bad")
            }
        }
    }

    private func line(_ name: String, _ amount: String, @HTMLBuilder drawing: () -> HTML) -> HTML {
        element("div", .class("line")) {
            element("span", .class("name")) { HTML.untrusted(name, limit: 80) }
            element("span", .class("amount")) { amount }
            drawing()
        }
    }

    private func svg(_ box: StaticString, _ label: String, @HTMLBuilder content: () -> HTML) -> HTML {
        element(
            "svg", Attribute("viewBox", box), Attribute("preserveAspectRatio", "none"), Attribute("role", "img"),
            .label(label), content: content)
    }

    @HTMLBuilder private func bar(
        _ from: Int64, _ to: Int64, _ most: Int64, _ shape: (top: Int64, height: Int64), _ colour: StaticString
    ) -> HTML {
        if to > from {
            let (left, right) = (Self.place(from, most), Self.place(to, most))
            element(
                "rect", .class(colour), .measure("x", left), .measure("y", shape.top),
                .measure("width", max(right - left, 2)), .measure("height", shape.height)
            ) {}
        }
    }

    /// Rounded, for the drawing alone; the exact amount stands beside the bar.
    private static func place(_ amount: Int64, _ most: Int64) -> Int64 {
        Int64((Double(amount) / Double(most) * width).rounded())
    }
}

/// Amounts with separated thousands: `1,234,567.89`.
enum Grouped {
    static func text(_ amount: Int64, _ currency: Currency) -> String {
        let decimal = String(Money(amount: amount, currency: currency).description.prefix { $0 != " " })
        let sign = decimal.hasPrefix("-") ? "−" : ""
        let parts = decimal.drop { $0 == "-" }.split(separator: ".", maxSplits: 1)
        let whole = number(String(parts.first ?? "0"))
        return sign + whole + (parts.count == 2 ? ".\(parts[1])" : "")
    }

    static func text(_ number: Int64) -> String { (number < 0 ? "−" : "") + self.number(String(number.magnitude)) }

    private static func number(_ digits: String) -> String {
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return text
    }
}
