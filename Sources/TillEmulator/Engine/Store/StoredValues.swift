import TillBilling
import TillSQL
import TillThreads

/// The store's settings: texts by name.
enum SettingTable {
    enum Name: String {
        case notificationURL
        case apiIssuerID
        case apiKeyID
        case environment
        /// Milliseconds that the store's clock is ahead of the clock it is given.
        case clockAhead
        /// The moment in milliseconds at which the store's clock was stopped.
        case clockStopped
        /// How fast subscriptions run.
        case renewalPace
        /// The billing grace period in days and its scope, or `none`; absent while the configuration's applies.
        case billingGracePeriod
        /// The fault settings: JSON of `FaultSettings`.
        case faults
    }

    static func value(_ name: Name, _ connection: any Connection) throws -> String? {
        try connection.first("SELECT value FROM settings WHERE name = ?", [.text(name.rawValue)]) { $0.text("value") }
    }

    /// Nil deletes the setting.
    static func set(_ name: Name, to value: String?, _ connection: any Connection) throws {
        guard let value else {
            try connection.execute("DELETE FROM settings WHERE name = ?", [.text(name.rawValue)])
            return
        }
        try connection.execute(
            """
            INSERT INTO settings (name, value) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """, [.text(name.rawValue), .text(value)])
    }
}

/// Numbers that increase by one and are never given twice, in the sandbox's form (facts/limits §1).
enum Counter: String, CaseIterable {
    case transaction
    case lineItem
    case appTransaction
    case product
    /// Increases with every change of any transaction: the order in which histories are read (facts/server-api §4.1).
    case modification
    /// The number of notifications that wait to be sent; kept here so that no query has to count them.
    case pendingNotifications

    /// Every store starts at a random offset. Otherwise a store without a data directory would reuse transaction ids
    /// that a server still remembers.
    static func begin(environment: StoreEnvironment, entropy: (Int) -> [UInt8], _ connection: any Connection) throws {
        for counter in allCases {
            let random = entropy(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let offset = Int64(random % 900_000_000)
            let first: Int64 =
                switch (counter, environment) {
                case (.pendingNotifications, _): 0
                case (.modification, _): 1
                case (.product, _): 1_000_000_000 + offset
                case (.appTransaction, _): 704_000_000_000_000_000 + offset * 1_000_000
                case (_, .sandbox), (_, .xcode): 2_000_000_000_000_000 + offset
                case (_, .production): 340_000_000_000_000 + offset
                }
            try connection.execute(
                "INSERT INTO counters (name, next) VALUES (?, ?) ON CONFLICT DO NOTHING",
                [.text(counter.rawValue), .integer(first)])
        }
    }

    /// A read and an update, because SQLite collects what `UPDATE … RETURNING` returns in a temporary table first.
    func take(_ connection: any Connection) throws -> Int64 {
        let taken = try value(connection)
        try add(1, connection)
        return taken
    }

    func add(_ difference: Int64, _ connection: any Connection) throws {
        let changed = try connection.execute(
            "UPDATE counters SET next = next + ? WHERE name = ?", [.integer(difference), .text(rawValue)])
        guard changed == 1 else { throw missing }
    }

    func value(_ connection: any Connection) throws -> Int64 {
        let value = try connection.first("SELECT next FROM counters WHERE name = ?", [.text(rawValue)]) {
            $0.integer("next")
        }
        guard let value else { throw missing }
        return value
    }

    private var missing: DatabaseError {
        DatabaseError(.corrupt, "the emulator's database has no counter \(rawValue)")
    }
}

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A value stored as JSON in one column: written and read whole, never searched by its content.
enum StoredDocument {
    static func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private struct Key: Hashable {
        let type: ObjectIdentifier
        let text: String
    }

    /// Documents that were read before. Devices read their account's subscriptions every second, and each purchase
    /// reads its product; both seldom change.
    private static let known = Locked<[Key: any Sendable]>([:])
    private static let knownLimit = 512

    /// - Throws: `DatabaseError` with kind `corrupt` for a text that this version can't read.
    static func read<Value: Decodable & Sendable>(_ type: Value.Type, from text: String) throws -> Value {
        let key = Key(type: ObjectIdentifier(type), text: text)
        if let value = known.withLock({ $0[key] }) as? Value { return value }
        do {
            let value = try JSONDecoder().decode(type, from: Data(text.utf8))
            known.withLock { known in
                if known.count >= knownLimit { known.removeAll(keepingCapacity: true) }
                known[key] = value
            }
            return value
        } catch {
            throw DatabaseError(.corrupt, "the emulator's database holds a \(type) that can't be read: \(error)")
        }
    }
}

extension SQLValue {
    static func optional(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
    static func optional(_ number: Int64?) -> SQLValue { number.map { .integer($0) } ?? .null }
    static func flag(_ truth: Bool) -> SQLValue { .integer(truth ? 1 : 0) }
}

extension Row {
    func flag(_ column: StaticString) -> Bool { integer(column) != 0 }
}
