import Foundation
import TillBilling

extension Product {
    /// The time between two renewals, as a number of units.
    public struct SubscriptionPeriod: Hashable, Sendable {
        #if hasAttribute(nonexhaustive)
            @nonexhaustive
        #endif
        public enum Unit: Hashable, Sendable {
            case day
            case week
            case month
            case year
        }

        public let unit: Unit
        /// The number of units: 3 and `.month` are three months.
        public let value: Int

        init(unit: Unit, value: Int) {
            self.unit = unit
            self.value = value
        }

        /// - Parameter text: an ISO 8601 duration with one unit, the store's format (facts/jws §4 `offerPeriod`).
        init?(iso8601 text: String) {
            guard text.utf8.count <= 8, text.first == "P", let value = Int(text.dropFirst().dropLast()), value > 0
            else { return nil }
            switch text.last {
            case "D": unit = .day
            case "W": unit = .week
            case "M": unit = .month
            case "Y": unit = .year
            default: return nil
            }
            self.value = value
        }

        /// The dates of one period from a start date, in the Gregorian calendar and UTC, as the store computes them.
        ///
        /// The system's clock is used only if no date is given, as Apple declares it.
        public func dateRange(referenceDate: Date = .now) -> Range<Date> {
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = .gmt
            let end =
                switch unit {
                case .day: calendar.date(byAdding: .day, value: value, to: referenceDate)
                case .week: calendar.date(byAdding: .day, value: 7 * value, to: referenceDate)
                case .month: calendar.date(byAdding: .month, value: value, to: referenceDate)
                case .year: calendar.date(byAdding: .year, value: value, to: referenceDate)
                }
            return referenceDate..<max(referenceDate, end ?? referenceDate)
        }

        /// The period in a format style for date ranges.
        public func formatted<S>(
            _ format: S, referenceDate: Date = .now
        ) -> S.FormatOutput where S: FormatStyle, S.FormatInput == Range<Date> {
            format.format(dateRange(referenceDate: referenceDate))
        }

        /// The period in a format style for durations.
        @available(iOS 16.0, macOS 13.0, tvOS 16.0, watchOS 9.0, *)
        public func formatted<S>(
            _ format: S, referenceDate: Date = .now
        ) -> S.FormatOutput where S: FormatStyle, S.FormatInput == Duration {
            let range = dateRange(referenceDate: referenceDate)
            return format.format(.seconds(range.upperBound.timeIntervalSince(range.lowerBound)))
        }
    }
}

@available(iOS 16.4, macOS 13.3, tvOS 16.4, watchOS 9.4, *)
extension Product.SubscriptionPeriod {
    public static let weekly = Product.SubscriptionPeriod(unit: .week, value: 1)
    public static let monthly = Product.SubscriptionPeriod(unit: .month, value: 1)
    public static let yearly = Product.SubscriptionPeriod(unit: .year, value: 1)
    public static let everyThreeDays = Product.SubscriptionPeriod(unit: .day, value: 3)
    public static let everyTwoWeeks = Product.SubscriptionPeriod(unit: .week, value: 2)
    public static let everyTwoMonths = Product.SubscriptionPeriod(unit: .month, value: 2)
    public static let everyThreeMonths = Product.SubscriptionPeriod(unit: .month, value: 3)
    public static let everySixMonths = Product.SubscriptionPeriod(unit: .month, value: 6)
}

extension Product.SubscriptionPeriod: CustomDebugStringConvertible {
    public var debugDescription: String { "\(value) \(unit)" }
}

extension Product.SubscriptionPeriod.Unit: CustomDebugStringConvertible {
    public var debugDescription: String { localizedDescription.lowercased() }

    /// In English.
    @available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *)
    public var localizedDescription: String {
        switch self {
        case .day: "Day"
        case .week: "Week"
        case .month: "Month"
        case .year: "Year"
        }
    }
}

@available(iOS 17.0, macOS 14.0, tvOS 17.0, watchOS 10.0, *)
extension Product.SubscriptionPeriod.Unit: Comparable {
    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .day: 0
        case .week: 1
        case .month: 2
        case .year: 3
        }
    }
}

@available(iOS 16.0, macOS 13.0, tvOS 16.0, watchOS 9.0, *)
extension Product.SubscriptionPeriod.Unit {
    /// Writes a unit for texts such as "$4.99/month".
    ///
    /// The unit is written in Chinese for a Chinese locale, and in English for every other one.
    public struct FormatStyle: Foundation.FormatStyle, Sendable {
        private var locale: Locale

        init(locale: Locale) { self.locale = locale }

        public func format(_ value: Product.SubscriptionPeriod.Unit) -> String {
            value.name[Language(preference: locale.identifier)]
        }

        public func locale(_ locale: Locale) -> FormatStyle { FormatStyle(locale: locale) }
    }

    public func formatted<S>(
        _ format: S
    ) -> S.FormatOutput where S: Foundation.FormatStyle, S.FormatInput == Product.SubscriptionPeriod.Unit {
        format.format(self)
    }

    private var name: LocalizedText {
        switch self {
        case .day: LocalizedText(en: "day", zh: "天")
        case .week: LocalizedText(en: "week", zh: "周")
        case .month: LocalizedText(en: "month", zh: "个月")
        case .year: LocalizedText(en: "year", zh: "年")
        }
    }
}

extension DateComponents {
    /// The length of the period, in one component.
    public init(subscriptionPeriod period: Product.SubscriptionPeriod) {
        self.init()
        switch period.unit {
        case .day: day = period.value
        case .week: weekOfYear = period.value
        case .month: month = period.value
        case .year: year = period.value
        }
    }
}

@available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, *)
public typealias SubscriptionPeriod = Product.SubscriptionPeriod
