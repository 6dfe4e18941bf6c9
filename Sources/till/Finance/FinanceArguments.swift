import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The shared arguments of the finance commands.
extension Invocation {
    /// An amount and its currency, in any letter case: `cny` is accepted.
    func money(_ amount: String, _ currency: String, of name: String, command: String) throws -> Money {
        let code = Currency(currency.uppercased())
        guard code.isWellFormed else {
            throw UsageError(
                LocalizedText(
                    en: "\"\(shown(currency))\" is no currency: three letters, like CNY",
                    zh: "“\(shown(currency))”不是货币代码：三个字母，如 CNY"),
                command: command)
        }
        guard let money = Money(decimal: amount, currency: code) else {
            throw UsageError(
                LocalizedText(
                    en: "\(name) must be an amount of \(code) like 6 or 0.99, not \"\(shown(amount))\"",
                    zh: "\(name) 应为 \(code) 金额，如 6 或 0.99，实际为“\(shown(amount))”"),
                command: command)
        }
        return money
    }

    /// A day, or a moment (RFC 3339) that is converted to the storefront's day; today if the flag is missing.
    func day(_ flag: Flag, storefront: String?, command: String) throws -> CivilDate {
        guard let text = text(flag) else { return ReportingDay.day(of: process.clock(), storefront: storefront) }
        if let day = CivilDate(iso8601: text) { return day }
        if let moment = Instant(rfc3339: text) { return ReportingDay.day(of: moment, storefront: storefront) }
        throw UsageError(
            LocalizedText(
                en: "--\(flag.name) must be a day like 2026-03-15, not \"\(shown(text))\"",
                zh: "--\(flag.name) 应为日期，如 2026-03-15，实际为“\(shown(text))”"),
            command: command)
    }

    /// One JSON document on stdout, with sorted keys.
    func print(_ reply: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        console.print(String(decoding: try encoder.encode(reply), as: UTF8.self))
    }
}
