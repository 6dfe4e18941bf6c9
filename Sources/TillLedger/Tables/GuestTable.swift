import TillBilling
import TillSQL

/// `guests`: whose account each merged guest belongs to. A guest is in it once, and no account is a guest of its own
/// guests, however far.
public struct GuestTable {
    private static let columns: Columns = "account, transfer_sequence"

    private let session: any Connection
    public init(_ session: any Connection) { self.session = session }

    public struct Entry: Sendable, Hashable {
        public let account: UserID
        /// Of the transfer.
        public let transferSequence: Int64
    }

    public func find(_ guest: UserID) throws -> Entry? {
        try session.first(
            "SELECT \(Self.columns) FROM guests WHERE guest = ?1", [.text(guest.text)]
        ) { Entry(account: UserID($0.text("account")), transferSequence: $0.integer("transfer_sequence")) }
    }

    /// The account that a merged guest's purchases go to in the end: an account may have become another's guest later.
    /// Nil for who is no merged guest.
    public func account(of guest: UserID) throws -> UserID? {
        var last: UserID?
        while let entry = try find(last ?? guest) { last = entry.account }
        return last
    }

    public func insert(_ guest: UserID, account: UserID, transfer sequence: Int64) throws {
        try session.execute(
            "INSERT INTO guests (guest, \(Self.columns)) VALUES (?1, ?2, ?3)",
            [.text(guest.text), .text(account.text), .integer(sequence)])
    }

    /// The guest is a customer of its own again.
    public func delete(transfer sequence: Int64) throws {
        try session.execute("DELETE FROM guests WHERE transfer_sequence = ?1", [.integer(sequence)])
    }
}
