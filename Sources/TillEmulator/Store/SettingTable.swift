import TillSQL

/// What the emulator was told once and keeps: texts by name.
enum SettingTable {
    enum Name: String {
        case notificationURL
        case apiIssuerID
        case apiKeyID
        case environment
        /// Milliseconds that the store's clock is ahead of the one it is given.
        case clockAhead
        /// The moment in milliseconds where the store's clock was stopped.
        case clockStopped
        /// How fast subscriptions run.
        case renewalPace
        /// The billing grace period in days and its scope, or `none`; absent as long as the configuration's holds.
        case billingGracePeriod
        /// What goes wrong on purpose: JSON of `FaultSettings`.
        case faults
    }

    static func value(_ name: Name, _ session: any Connection) throws -> String? {
        try session.first("SELECT value FROM settings WHERE name = ?", [.text(name.rawValue)]) { $0.text("value") }
    }

    /// Nil forgets it.
    static func set(_ name: Name, to value: String?, _ session: any Connection) throws {
        guard let value else {
            try session.execute("DELETE FROM settings WHERE name = ?", [.text(name.rawValue)])
            return
        }
        try session.execute(
            """
            INSERT INTO settings (name, value) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """, [.text(name.rawValue), .text(value)])
    }
}
