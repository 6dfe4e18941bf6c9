import TillBilling
import TillSQL

/// Numbers that go up by one and are never given twice, in the sandbox's form (facts/limits §1).
enum Counter: String, CaseIterable {
    case transaction
    case lineItem
    case appTransaction
    case product
    /// Goes up with every change of any transaction: the order in which histories are read (facts/server-api §4.1).
    case modification
    /// Not a number to give out: how many notifications wait to be sent, kept so that nobody has to count them.
    case pendingNotifications

    /// Every store begins somewhere else, so that a store without a data directory does not give out yesterday's
    /// transaction ids again to a server that remembers them.
    static func begin(environment: Environment, entropy: (Int) -> [UInt8], _ session: any Connection) throws {
        for counter in allCases {
            let random = entropy(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let offset = Int64(random % 900_000_000)
            let first: Int64 =
                switch (counter, environment) {
                case (.pendingNotifications, _): 0
                case (.modification, _): 1
                case (.product, _): 1_000_000_000 + offset
                case (.appTransaction, _): 704_000_000_000_000_000 + offset * 1_000_000
                case (_, .sandbox): 2_000_000_000_000_000 + offset
                case (_, .production): 340_000_000_000_000 + offset
                }
            try session.execute(
                "INSERT INTO counters (name, next) VALUES (?, ?) ON CONFLICT DO NOTHING",
                [.text(counter.rawValue), .integer(first)])
        }
    }

    func take(_ session: any Connection) throws -> Int64 { try add(1, session) - 1 }

    /// The value after the addition.
    @discardableResult
    func add(_ difference: Int64, _ session: any Connection) throws -> Int64 {
        let changed = try session.first(
            "UPDATE counters SET next = next + ? WHERE name = ? RETURNING next",
            [.integer(difference), .text(rawValue)]
        ) { $0.integer("next") }
        guard let changed else { throw DatabaseError(.corrupt, "the emulator's database has no counter \(rawValue)") }
        return changed
    }

    func value(_ session: any Connection) throws -> Int64 {
        try session.first("SELECT next FROM counters WHERE name = ?", [.text(rawValue)]) { $0.integer("next") } ?? 0
    }
}
