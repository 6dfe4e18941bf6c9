extension Proceeds {
    /// The arithmetic in words, from the very numbers it was done with.
    public var explanation: [Text] {
        let divisor = terms.taxDivisor.decimal(places: 4).text
        let percent = (terms.rate * Fraction(100)).decimal(places: 2).text
        let basis = roundedUpPrice ?? gross
        var lines: [Text] = []
        if let roundedUpPrice {
            lines.append(
                Text(
                    en: "A classic price in US dollars pays on whole dollars: \(gross) counts as \(roundedUpPrice)",
                    zh: "美元经典价格按进位到整数的美元计算：\(gross) 按 \(roundedUpPrice) 计"))
        }
        lines += [
            isTaxUnknown
                ? Text(
                    en: "The tax of this storefront on this day is not known; it was taken for nothing",
                    zh: "该店面当日的税率未知，按无税计算")
                : Text(
                    en: "Tax: \(gross) − \(gross.decimal) ÷ \(divisor) = \(tax), \(net) without tax",
                    zh: "税：\(gross) − \(gross.decimal) ÷ \(divisor) = \(tax)，不含税 \(net)"),
            Text(
                en: "Rate: \(percent) % (\(terms.rateClass.name.en))",
                zh: "分成：\(percent)%（\(terms.rateClass.name.zh)）"),
            Text(
                en: "Proceeds: \(basis.decimal) ÷ \(divisor) × \(percent) % = \(proceeds), rounded half up",
                zh: "开发者收入：\(basis.decimal) ÷ \(divisor) × \(percent)% = \(proceeds)（四舍五入）"),
            Text(en: "Apple's commission: \(commission)", zh: "苹果佣金：\(commission)"),
        ]
        return lines
    }
}
