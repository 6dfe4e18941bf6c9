import TillBilling
import TillSQL

/// `consents`: whether a customer lets Apple be told how much of a purchase was used. Never edited; the newest counts.
public struct ConsentTable {
    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Consent: Sendable, Hashable {
        public let isGiven: Bool
        /// Who said so: `user:anna`, `key:backend`.
        public let actor: String
        public let at: Instant

        public init(isGiven: Bool, actor: String, at: Instant) {
            self.isGiven = isGiven
            self.actor = actor
            self.at = at
        }
    }

    public func insert(_ consent: Consent, of user: UserID) throws {
        try session.execute(
            "INSERT INTO consents (user, given, actor, at) VALUES (?, ?, ?, ?)",
            [.text(user.text), .flag(consent.isGiven), .text(consent.actor), .instant(consent.at)])
    }

    /// How often a user has given it since then.
    public func countGiven(by user: UserID, since instant: Instant) throws -> Int64 {
        try session.first(
            "SELECT count(*) FROM consents WHERE user = ? AND given = 1 AND at > ?",
            [.text(user.text), .instant(instant)]
        ) { $0.integer(0) } ?? 0
    }

    public func newest(of user: UserID) throws -> Consent? {
        try session.first(
            "SELECT given, actor, at FROM consents WHERE user = ? ORDER BY sequence DESC LIMIT 1", [.text(user.text)]
        ) { row in Consent(isGiven: row.integer(0) != 0, actor: row.text(1), at: row.instant(2)) }
    }
}
