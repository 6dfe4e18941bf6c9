import Foundation

extension Product {
    /// The time between two renewals, as a number of units.
    public struct SubscriptionPeriod: Hashable, Sendable {
        public enum Unit: Hashable, Sendable {
            case day
            case week
            case month
            case year
        }

        public let unit: Unit
        /// How many units: 3 and `.month` are three months.
        public let value: Int

        public static let weekly = SubscriptionPeriod(unit: .week, value: 1)
        public static let monthly = SubscriptionPeriod(unit: .month, value: 1)
        public static let yearly = SubscriptionPeriod(unit: .year, value: 1)
        public static let everyThreeDays = SubscriptionPeriod(unit: .day, value: 3)
        public static let everyTwoWeeks = SubscriptionPeriod(unit: .week, value: 2)
        public static let everyTwoMonths = SubscriptionPeriod(unit: .month, value: 2)
        public static let everyThreeMonths = SubscriptionPeriod(unit: .month, value: 3)
        public static let everySixMonths = SubscriptionPeriod(unit: .month, value: 6)

        init(unit: Unit, value: Int) {
            self.unit = unit
            self.value = value
        }

        /// - Parameter text: an ISO 8601 duration of one unit, as the store writes them (facts/jws §4 `offerPeriod`).
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

        /// One period that begins at a date, in the Gregorian calendar and UTC, as the store counts them.
        ///
        /// Only who names no date asks this machine's clock, as Apple declares it.
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

        /// The period in a style for spans between two dates.
        public func formatted<S>(
            _ format: S, referenceDate: Date = .now
        ) -> S.FormatOutput where S: FormatStyle, S.FormatInput == Range<Date> {
            format.format(dateRange(referenceDate: referenceDate))
        }

        /// The period in a style for lengths of time.
        public func formatted<S>(
            _ format: S, referenceDate: Date = .now
        ) -> S.FormatOutput where S: FormatStyle, S.FormatInput == Duration {
            let range = dateRange(referenceDate: referenceDate)
            return format.format(.seconds(range.upperBound.timeIntervalSince(range.lowerBound)))
        }
    }
}

extension Product.SubscriptionPeriod: CustomDebugStringConvertible {
    public var debugDescription: String { "\(value) \(unit)" }
}

extension Product.SubscriptionPeriod.Unit: CustomDebugStringConvertible {
    public var debugDescription: String { localizedDescription.lowercased() }

    /// In English.
    public var localizedDescription: String {
        switch self {
        case .day: "Day"
        case .week: "Week"
        case .month: "Month"
        case .year: "Year"
        }
    }
}

public typealias SubscriptionPeriod = Product.SubscriptionPeriod
