import TillAPI
import TillBilling
import TillHTTP
import TillLedger

/// The rules behind the reports, for clients that do their own calculations. The answers equal those of `till
/// calendar`, `till tiers` and `till proceeds`.
extension Server {
    /// `GET /v1/finance/calendar?year=`: Apple's fiscal year; the current one by default.
    func readFiscalCalendar(_ call: Call) async throws -> HTTPResponse {
        let year = try call.fiscalYear("year") ?? FiscalCalendar.period(containing: CivilDate(clock())).fiscalYear
        return JSONText.response(200, FiscalCalendarReply(year: year))
    }

    /// `GET /v1/finance/tiers?tier=|price=&currency=`: the classic price tiers, or those that match.
    func readPriceTiers(_ call: Call) async throws -> HTTPResponse {
        guard let table = PriceTierTable.latest else { throw RefusalError(.internalError) }
        let language = Language(preference: call.request.headers["Accept-Language"] ?? "")
        if let id = call.request.queryValue("tier") {
            guard let tier = table[id] else {
                throw RefusalError(
                    .invalidField, "tier: 0 to 87, A, B, alt1 to alt5, not \(id.prefix(20))",
                    zh: "tier：应为 0 到 87、A、B 或 alt1 到 alt5，不能是 \(id.prefix(20))")
            }
            return JSONText.response(200, TiersReply(validFrom: table.validFrom, tiers: [tier], language))
        }
        guard let price = try call.price() else {
            return JSONText.response(200, TiersReply(validFrom: table.validFrom, tiers: table.tiers, language))
        }
        return JSONText.response(200, TiersReply(of: price, in: table, language))
    }

    /// `GET /v1/finance/proceeds?price=&currency=&storefront=&at=&type=&paidDays=&smallBusiness=`: how the price of one
    /// unit divides into tax, commission and proceeds. `smallBusiness` defaults to the configuration.
    func readProceeds(_ call: Call) async throws -> HTTPResponse {
        guard let price = try call.price() else { throw RefusalError(.invalidField, "price: missing", zh: "price：缺失") }
        guard let storefront = call.request.queryValue("storefront"), let territory = Territory(code: storefront) else {
            throw RefusalError(
                .invalidField, "storefront: must be a country code like CHN", zh: "storefront：应为国家或地区代码，如 CHN")
        }
        let day = try call.request.queryValue("at").map { text in
            guard let day = CivilDate(iso8601: text) else {
                throw RefusalError(.invalidField, "at: must be a day like 2026-03-15", zh: "at：应为日期，如 2026-03-15")
            }
            return day
        }
        let at = day ?? ReportingDay.day(of: clock(), storefront: territory.alpha3)
        let type =
            try call.request.queryValue("type").map { text in
                guard let type = ProductType(name: text) else {
                    throw RefusalError(
                        .invalidField, "type: \(ProductType.names.joined(separator: ", "))",
                        zh: "type：应为下列之一：\(ProductType.names.joined(separator: "、"))")
                }
                return type
            } ?? .consumable
        let paidDays = try call.request.queryValue("paidDays").map { text in
            guard let days = Int(text), (0...36_525).contains(days) else {
                throw RefusalError(.invalidField, "paidDays: 0 to 36525", zh: "paidDays：应为 0 到 36525")
            }
            return days
        }
        let isSmallBusiness = try call.request.queryValue("smallBusiness").map { text in
            guard let flag = Bool(text) else {
                throw RefusalError(
                    .invalidField, "smallBusiness: must be true or false", zh: "smallBusiness：应为 true 或 false")
            }
            return flag
        }
        let proceeds = Proceeds(
            price: price, storefront: territory.alpha3, at: at, type: type, paidDays: paidDays ?? 0,
            isSmallBusiness: isSmallBusiness ?? configuration.developerTerms.isSmallBusiness(on: at))
        guard let proceeds else { throw RefusalError(.invalidField, "price: must not be negative", zh: "price：不能为负") }
        return JSONText.response(
            200, ProceedsReply(proceeds, storefront: territory.alpha3, at: at, type: type))
    }
}

extension Call {
    /// `?price=6.00&currency=CNY`.
    fileprivate func price() throws -> Money? {
        guard let text = request.queryValue("price") else { return nil }
        let currency = Currency(request.queryValue("currency") ?? "")
        guard currency.isWellFormed else {
            throw RefusalError(.invalidField, "currency: must be a code like CNY", zh: "currency：应为货币代码，如 CNY")
        }
        guard let price = Money(decimal: text, currency: currency) else {
            throw RefusalError(.invalidField, "price: must be a decimal like 6.00", zh: "price：应为小数，如 6.00")
        }
        return price
    }
}

extension ProductType {
    /// The names that `till proceeds --type` takes.
    static let names = ["consumable", "non-consumable", "auto-renewable", "non-renewing"]

    init?(name: String) {
        switch name {
        case "consumable": self = .consumable
        case "non-consumable": self = .nonConsumable
        case "auto-renewable": self = .autoRenewable
        case "non-renewing": self = .nonRenewing
        default: return nil
        }
    }
}
