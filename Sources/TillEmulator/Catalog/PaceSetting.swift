import TillStorage

extension RenewalPace {
    /// Stands in for the setting itself, which Time/RenewalPace.swift has.
    static func set(_ pace: RenewalPace, _ session: any Session) throws {}
}
