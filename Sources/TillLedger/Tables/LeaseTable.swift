import TillBilling
import TillSQL

/// What one of several servers on a ledger holds alone, until another takes it over. The term rises with each one,
/// so a server that was frozen meanwhile is recognised by its old term.
package struct Lease: Sendable, Hashable {
    /// What the server holds that runs the background jobs of the ledger.
    package static let jobs = "jobs"

    package let name: String
    /// Its id: a random text for each start.
    package let server: String
    package let term: Int64
    /// By the holder's clock; 0 after it was given up.
    package let until: Instant
}

/// `leases`: who holds what. Only a ledger with several servers has rows here.
///
/// A write of the holder shares a lock key with the takeover (`LeasedDatabase`), so a takeover waits for the writes
/// under way, and later ones find another term.
package struct LeaseTable {
    private static let columns: Columns = "name, holder, term, until"

    private let connection: any Connection
    package init(_ connection: any Connection) { self.connection = connection }

    package func find(_ name: String) throws -> Lease? {
        try connection.first("SELECT \(Self.columns) FROM leases WHERE name = ?1", [.text(name)]) { row in
            Lease(
                name: row.text("name"), server: row.text("holder"), term: row.integer("term"),
                until: row.instant("until"))
        }
    }

    /// Whether the lease was not taken over.
    package func isHeld(_ lease: Lease) throws -> Bool {
        try connection.first(
            "SELECT term FROM leases WHERE name = ?1 AND holder = ?2 AND term = ?3",
            [.text(lease.name), .text(lease.server), .integer(lease.term)]
        ) { $0.integer("term") } != nil
    }

    /// Takes the lease over from the holder of `known`, or makes it. The caller has decided that `known` has ended.
    ///
    /// - Returns: nil if another server was faster.
    package func take(_ name: String, after known: Lease?, as server: String, until: Instant) throws -> Lease? {
        let term = (known?.term ?? 0) + 1
        let count =
            if let known {
                try connection.execute(
                    "UPDATE leases SET holder = ?2, term = ?3, until = ?4 WHERE name = ?1 AND term = ?5",
                    [.text(name), .text(server), .integer(term), .instant(until), .integer(known.term)])
            } else {
                try connection.execute(
                    "INSERT INTO leases (\(Self.columns)) VALUES (\(marks: 4)) ON CONFLICT (name) DO NOTHING",
                    [.text(name), .text(server), .integer(term), .instant(until)])
            }
        return count == 1 ? Lease(name: name, server: server, term: term, until: until) : nil
    }

    /// - Returns: whether the lease was still this holder's.
    package func renew(_ lease: Lease, until: Instant) throws -> Bool {
        try connection.execute(
            "UPDATE leases SET until = ?4 WHERE name = ?1 AND holder = ?2 AND term = ?3",
            [.text(lease.name), .text(lease.server), .integer(lease.term), .instant(until)]) == 1
    }

    /// Lets another server take the lease at once.
    package func release(_ lease: Lease) throws { _ = try renew(lease, until: Instant(milliseconds: 0)) }

    /// Deletes rows of that name whose time is over, which are not taken over.
    package func removeEnded(of server: String, before: Instant, limit: Int) throws -> Int {
        try connection.execute(
            """
            DELETE FROM leases WHERE name IN (SELECT name FROM leases WHERE holder = ?1 AND until < ?2 \
            ORDER BY name LIMIT ?3)
            """, [.text(server), .instant(before), .integer(Int64(limit))])
    }
}
