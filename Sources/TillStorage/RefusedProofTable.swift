import TillBilling

/// `refused_proofs`: why a proof was refused (P9, U9). The newest are kept, so that a flood of forgeries can't fill
/// the disk.
public struct RefusedProofTable {
    /// How many are kept.
    public static let capacity: Int64 = 10_000
    /// Of how many the record of the checks is kept: it is some kilobytes, the rest of a row some dozen bytes.
    public static let recordCapacity: Int64 = 1_000
    /// The longest record that is kept, in bytes.
    public static let recordLimit = 64 << 10

    private let session: any Session
    public init(_ session: any Session) { self.session = session }

    public struct Entry: Sendable, Hashable {
        public let at: Instant
        public let door: String
        public let caller: String
        public let claimedOrder: OrderID?
        /// A `Refusal`'s code.
        public let code: String
        /// For operators, in English.
        public let detail: String
        /// SHA-256 of the proof as it came.
        public let digest: [UInt8]
        /// Each check that was made, as JSON; nil if the proof itself was good, or its record is no longer kept.
        public let record: String?

        public init(
            at: Instant, door: String, caller: String, claimedOrder: OrderID?, code: String, detail: String,
            digest: [UInt8], record: String? = nil
        ) {
            self.at = at
            self.door = door
            self.caller = caller
            self.claimedOrder = claimedOrder
            self.code = code
            self.detail = detail
            self.digest = digest
            self.record = record
        }
    }

    public func insert(_ entry: Entry) throws {
        let newest = try session.insert(
            """
            INSERT INTO refused_proofs (at, door, caller, claimed_order, code, detail, digest, record) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .instant(entry.at), .text(entry.door), .text(entry.caller), .optional(entry.claimedOrder),
                .text(entry.code), .text(entry.detail), .blob(entry.digest),
                .optional(entry.record.flatMap { $0.utf8.count <= Self.recordLimit ? $0 : nil }),
            ])
        try session.execute(
            "UPDATE refused_proofs SET record = NULL WHERE sequence = ?", [.integer(newest - Self.recordCapacity)])
        try session.execute("DELETE FROM refused_proofs WHERE sequence <= ?", [.integer(newest - Self.capacity)])
    }

    /// The newest first; those that came beside one order, if asked.
    public func list(claiming order: OrderID?, limit: Int) throws -> [Entry] {
        if let order {
            return try session.query(
                """
                SELECT at, door, caller, claimed_order, code, detail, digest, record FROM refused_proofs \
                WHERE claimed_order = ? ORDER BY sequence DESC LIMIT ?
                """, [.id(order), .integer(Int64(limit))], Self.read)
        }
        return try session.query(
            """
            SELECT at, door, caller, claimed_order, code, detail, digest, record FROM refused_proofs \
            ORDER BY sequence DESC LIMIT ?
            """, [.integer(Int64(limit))], Self.read)
    }

    /// The newest first, from before a sequence.
    public func list(before sequence: Int64, limit: Int) throws -> [(sequence: Int64, entry: Entry)] {
        try session.query(
            """
            SELECT at, door, caller, claimed_order, code, detail, digest, record, sequence FROM refused_proofs \
            WHERE sequence < ? ORDER BY sequence DESC LIMIT ?
            """, [.integer(sequence), .integer(Int64(limit))]
        ) { row in (row.integer(8), try Self.read(row)) }
    }

    private static func read(_ row: any Row) throws -> Entry {
        Entry(
            at: row.instant(0), door: row.text(1), caller: row.text(2),
            claimedOrder: row.isNull(3) ? nil : try row.uniqueID(3), code: row.text(4), detail: row.text(5),
            digest: row.blob(6), record: row.optionalText(7))
    }
}
