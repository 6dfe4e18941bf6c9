import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Flag {
    fileprivate static let tier = Flag(
        "tier", .text("N"),
        summary: LocalizedText(
            en: "the prices of a tier: 0 to 87, A, B, alt1 to alt5", zh: "某一档的价格：0 到 87、A、B、alt1 到 alt5"))
}

extension Command {
    /// `till tiers`: Apple's price tiers.
    static let tiers = Command(
        "tiers",
        summary: LocalizedText(
            en: "Apple's price tiers: price to tier and tier to price", zh: "Apple 价格档位：按价格查档位，按档位查价格"),
        discussion: LocalizedText(
            en: """
                Without arguments, prints the whole classic table (as of 2019-10-03). For a price on no tier, prints the
                nearest tiers. In US dollars, current price points are recognized too.
                --json of a price: {"price", "standing": "onTiers|pricePoint|notOffered|onNoTier|unknownCurrency",
                "isOffered": true, false or null (not known), "tiers": […], "nearest": {"below", "above"}};
                of --tier: one tier; without arguments {"validFrom", "tiers": […]}.
                A tier: {"tier", "name", "prices": {"USD": {"amount", "currency"}, …}, "proceeds": {…}},
                the proceeds at 70 %.
                """,
            zh: """
                不带参数时打印整张经典价格表（2019-10-03）。价格不在任何一档时，会列出相邻的档位；美元价格还可识别现行价格点。
                查价格的 --json：{"price", "standing": "onTiers|pricePoint|notOffered|onNoTier|unknownCurrency",
                "isOffered": true、false 或 null（未知）, "tiers": […], "nearest": {"below", "above"}}；
                --tier 输出一档；不带参数为 {"validFrom", "tiers": […]}。
                一档：{"tier", "name", "prices": {"USD": {"amount", "currency"}, …}, "proceeds": {…}}，收入按 70% 计。
                """),
        flags: [.tier],
        positionals: [
            Positional("PRICE", .optional, summary: LocalizedText(en: "a price, like 6 or 0.99", zh: "价格，如 6 或 0.99")),
            Positional("CURRENCY", .optional, summary: LocalizedText(en: "its currency, like CNY", zh: "货币，如 CNY")),
        ]
    ) { call in
        guard let table = PriceTierTable.latest else {
            throw CommandError(LocalizedText(en: "there is no table of tiers", zh: "没有档位表"))
        }
        if let id = call.text(.tier) {
            guard call.positionals.isEmpty else {
                throw UsageError(
                    LocalizedText(en: "give --tier or a price, not both", zh: "--tier 和价格只能给一个"), command: "tiers")
            }
            let tier = try TierLookup.tier(id, table)
            if call.wantsJSON { try call.print(TierReply(tier, call.language)) } else { tier.say(call) }
        } else if call.positionals.isEmpty {
            if call.wantsJSON {
                try call.print(TierTableReply(table, call.language))
            } else {
                for line in table.lines(call.language) { call.console.print(line) }
            }
        } else {
            let lookup = TierLookup(try TierLookup.price(call), table)
            if call.wantsJSON { try call.print(lookup.reply(call.language)) } else { lookup.say(call) }
        }
        return .done
    }
}

/// The information about one price.
private struct TierLookup {
    let price: Money
    let table: PriceTierTable
    let availability: PriceAvailability
    let neighbours: (below: PriceTier?, above: PriceTier?)

    init(_ price: Money, _ table: PriceTierTable) {
        self.price = price
        self.table = table
        availability = PriceAvailability(of: price)
        neighbours = table.neighbours(of: price)
    }

    static func tier(_ id: String, _ table: PriceTierTable) throws -> PriceTier {
        if let tier = table[id] ?? table.tiers.first(where: { $0.id.lowercased() == id.lowercased() }) { return tier }
        throw CommandError(
            LocalizedText(
                en: "there is no tier \(shown(id)); there are 0 to 87, A, B and alt1 to alt5",
                zh: "没有“\(shown(id))”这一档；有 0 到 87、A、B 和 alt1 到 alt5"))
    }

    static func price(_ call: Invocation) throws -> Money {
        guard call.positionals.count == 2 else {
            throw UsageError(LocalizedText(en: "CURRENCY is missing", zh: "缺少 CURRENCY"), command: "tiers")
        }
        return try call.money(call.positionals[0], call.positionals[1], of: "PRICE", command: "tiers")
    }

    var tiers: [PriceTier] { table.tiers(at: price) }

    func say(_ call: Invocation) {
        let tier = tiers.first
        switch availability {
        case .onTiers:
            let names = tiers.map { $0.name(call.language) }.joined(
                separator: LocalizedText(en: ", ", zh: "、")(call.language))
            call.say(LocalizedText(en: "\(price) is \(names)", zh: "\(price)：\(names)"))
            tier?.say(call)
        case .pricePoint:
            call.say(
                LocalizedText(
                    en: "\(price) is one of today's price points, and on no classic tier",
                    zh: "\(price) 是现在的价格点之一，不在任何经典档位上"))
        case .notOffered:
            call.say(
                LocalizedText(
                    en: "\(price) is on no tier, and no price point of today", zh: "\(price) 不在任何档位上，也不是现在的价格点"))
        case .onNoTier:
            call.say(
                LocalizedText(
                    en: "\(price) is on no tier. Which prices Apple offers in \(price.currency) today is not known",
                    zh: "\(price) 不在任何档位上。Apple 现在提供哪些 \(price.currency) 价格点，这里不知道"))
        case .unknownCurrency:
            call.say(
                LocalizedText(
                    en: "nothing is known about prices in \(price.currency); the table has "
                        + table.currencies.map(\.text).joined(separator: ", "),
                    zh: "没有 \(price.currency) 的价格资料；价格表有 "
                        + table.currencies.map(\.text).joined(separator: "、")))
        }
        guard tier == nil else { return }
        for (tier, label) in [
            (neighbours.below, LocalizedText(en: "below", zh: "低一档")),
            (neighbours.above, LocalizedText(en: "above", zh: "高一档")),
        ] {
            guard let tier, let price = tier.prices[price.currency] else { continue }
            call.say(
                LocalizedText(
                    en: "nearest \(label.en): \(tier.name.en), \(price)", zh: "最近的\(label.zh)：\(tier.name.zh)，\(price)")
            )
        }
    }

    func reply(_ language: Language) -> PriceReply {
        let (word, isOffered): (String, Bool?) =
            switch availability {
            case .onTiers: ("onTiers", true)
            case .pricePoint: ("pricePoint", true)
            case .notOffered: ("notOffered", false)
            case .onNoTier: ("onNoTier", nil)
            case .unknownCurrency: ("unknownCurrency", nil)
            }
        return PriceReply(
            price: price, standing: word, isOffered: isOffered, tiers: tiers.map { TierReply($0, language) },
            nearest: Nearest(
                below: neighbours.below.map { TierReply($0, language) },
                above: neighbours.above.map { TierReply($0, language) }))
    }
}

extension PriceTier {
    /// Its prices, one currency per line.
    fileprivate func say(_ call: Invocation) {
        call.say(name)
        for currency in prices.keys.sorted() {
            guard let price = prices[currency] else { continue }
            let paid = proceeds[currency].map {
                LocalizedText(en: ", \($0) for the developer at 70 %", zh: "，开发者按 70% 得 \($0)")
            }
            call.say(LocalizedText(en: "  \(price)\(paid?.en ?? "")", zh: "  \(price)\(paid?.zh ?? "")"))
        }
    }
}

extension PriceTierTable {
    fileprivate func lines(_ language: Language) -> [String] {
        var table = TextTable(
            [LocalizedText(en: "tier", zh: "档位")(language)] + currencies.map(\.text), numbers: 1...currencies.count)
        for tier in tiers {
            table.add(
                [tier.id]
                    + currencies.map { currency in
                        tier.prices[currency].map { String($0.description.prefix { $0 != " " }) } ?? "-"
                    })
        }
        let title = LocalizedText(
            en: "Apple's classic price tiers, as of \(validFrom)", zh: "Apple 经典价格档位（\(validFrom)）")
        return [title(language)] + table.lines
    }
}

private struct TierReply: Encodable {
    let tier: String
    let name: String
    let prices: [String: Money]
    let proceeds: [String: Money]

    init(_ tier: PriceTier, _ language: Language) {
        self.tier = tier.id
        name = tier.name(language)
        prices = Dictionary(uniqueKeysWithValues: tier.prices.map { ($0.key.text, $0.value) })
        proceeds = Dictionary(uniqueKeysWithValues: tier.proceeds.map { ($0.key.text, $0.value) })
    }
}

private struct TierTableReply: Encodable {
    let validFrom: String
    let tiers: [TierReply]

    init(_ table: PriceTierTable, _ language: Language) {
        validFrom = table.validFrom.description
        tiers = table.tiers.map { TierReply($0, language) }
    }
}

private struct PriceReply: Encodable {
    let price: Money
    let standing: String
    let isOffered: Bool?
    let tiers: [TierReply]
    let nearest: Nearest

    private enum CodingKeys: CodingKey { case price, standing, isOffered, tiers, nearest }

    /// Writes `isOffered` as null if it is unknown.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(price, forKey: .price)
        try container.encode(standing, forKey: .standing)
        try container.encode(isOffered, forKey: .isOffered)
        try container.encode(tiers, forKey: .tiers)
        try container.encode(nearest, forKey: .nearest)
    }
}

private struct Nearest: Encodable {
    let below: TierReply?
    let above: TierReply?
}
