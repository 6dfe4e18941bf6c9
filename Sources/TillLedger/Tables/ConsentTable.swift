import TillBilling
import TillSQL

/// `consents`: whether a customer allows sending Apple how much of a purchase was used. Never edited; the newest
/// counts.
public struct ConsentTable {
    private static let columns: Columns = "given, at"

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Consent: Sendable, Hashable {
        public let isGiven: Bool
        /// The caller: `user:anna`, `key:backend`.
        public let actor: String
        public let at: Instant

        public init(isGiven: Bool, actor: String, at: Instant) {
            self.isGiven = isGiven
            self.actor = actor
            self.at = at
        }
    }

    public func insert(_ consent: Consent, of user: UserID) throws {
        try connection.write(
            "INSERT INTO consents (customer_id, \(Self.columns), \(CallerColumns.names)) VALUES (\(marks: 6))",
            [
                .integer(try CustomerTable(connection).id(of: user, at: consent.at)), .flag(consent.isGiven),
                .instant(consent.at),
            ] + CallerColumns(consent.actor, at: consent.at, connection).values)
    }

    /// How often a user has given consent since an instant.
    public func countGiven(by user: UserID, since instant: Instant) throws -> Int64 {
        try connection.first(
            "SELECT count(*) AS count FROM consents WHERE customer_id = \(customer: 1) AND given = 1 AND at > ?2",
            [.text(user.text), .instant(instant)]
        ) { $0.integer("count") } ?? 0
    }

    public func newest(of user: UserID) throws -> Consent? {
        try connection.first(
            """
            SELECT \(Self.columns), \(caller: "consents") FROM consents WHERE customer_id = \(customer: 1) ORDER BY \
            row_id DESC LIMIT 1
            """, [.text(user.text)]
        ) { row in
            Consent(isGiven: row.integer("given") != 0, actor: CallerColumns.name(row) ?? "", at: row.instant("at"))
        }
    }
}
