import Foundation

/// The formatters of one list of products, which are slow to make.
final class PriceFormats {
    private var known: [Locale: NumberFormatter] = [:]

    func format(for locale: Locale) -> NumberFormatter {
        if let format = known[locale] { return format }
        let format = NumberFormatter()
        format.numberStyle = .currency
        format.locale = locale
        known[locale] = format
        return format
    }
}
