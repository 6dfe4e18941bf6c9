import TillBilling
import TillCrypto
import TillJSON
import TillSQL

/// `apps`: the app that the ledger belongs to.
public struct AppTable {
    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    /// Nil until a server of this version has started on the ledger.
    public func bundleID() throws -> String? {
        try connection.first("SELECT bundle_id FROM apps WHERE app_id = 1", []) { $0.optionalText("bundle_id") } ?? nil
    }

    /// Sets the bundle id, unless the ledger has one.
    func adopt(_ bundleID: String) throws {
        try connection.write(
            "UPDATE apps SET bundle_id = ?1 WHERE app_id = 1 AND bundle_id IS NULL", [.text(bundleID)])
    }

    /// How many of the oldest and of the newest signed transactions are read for their bundle ids.
    static let sample: Int64 = 500

    /// A bundle id that stored transactions are signed for and that differs from the given one.
    public func otherBundleID(than bundleID: String) throws -> String? {
        let oldest = try connection.query(
            "SELECT kind, body FROM proofs ORDER BY transaction_row_id LIMIT ?1", [.integer(Self.sample)], Self.signed)
        let newest = try connection.query(
            "SELECT kind, body FROM proofs ORDER BY transaction_row_id DESC LIMIT ?1", [.integer(Self.sample)],
            Self.signed)
        let signed = (oldest + newest).compactMap { $0 }
        return signed.lazy.compactMap(Self.bundleID).first { !$0.hasSameBytes(as: bundleID) }
    }

    /// The body of a signed transaction; nil for a receipt.
    private static func signed(_ row: any Row) -> [UInt8]? {
        row.integer("kind") == ProofTable.Kind.signedTransaction.rawValue ? row.blob("body") : nil
    }

    /// The bundle id in a stored signed transaction, which was verified when it was stored.
    private static func bundleID(in body: [UInt8]) -> String? {
        // A proof whose header is stored apart begins with its payload.
        let parts = body.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count >= 2 else { return nil }
        let payload = String(decoding: parts[parts.count - 2], as: UTF8.self)
        guard let bytes = Base64.decode(payload, .url) else { return nil }
        return (try? JSONValue(decoding: bytes))?["bundleId"]?.string
    }
}

extension Ledger {
    /// The app whose ledger this is, if it is another one than the configured app. A ledger from before bundle ids were
    /// stored is adopted if its stored transactions agree. Call before the server listens.
    package func bundleToRefuse() async throws -> String? {
        let bundleID = settings.apple.bundleID
        let (known, other) = try await database.read { connection in
            let table = AppTable(connection)
            let known = try table.bundleID()
            return (known, try known == nil ? table.otherBundleID(than: bundleID) : nil)
        }
        if let known { return known.hasSameBytes(as: bundleID) ? nil : known }
        if let other { return other }
        do {
            try await database.write(locking: [.ledger("identity")]) { try AppTable($0).adopt(bundleID) }
            // `till doctor` recognises the server by the ledger's secret.
            _ = try await identity()
        } catch let error as DatabaseError where error.isRetryable {
            // A full disk stops purchases, and not the answers about earlier ones. The next start adopts the ledger.
        }
        return nil
    }
}
