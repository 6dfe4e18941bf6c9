import TillCrypto
import TillSQL
import TillThreads

/// `proof_headers`: the first parts of signed texts, each with its dot. They contain the certificates and are the same
/// for all that one signer signed.
struct ProofHeaderTable {
    private let connection: any Connection
    private let known: KnownProofHeaders?

    init(_ connection: any Connection, knowing known: KnownProofHeaders?) {
        self.connection = connection
        self.known = known
    }

    /// The header of a signed text. One without a row gets one.
    ///
    /// - Returns: the header, and whether it has to be remembered after the commit; nil if the text has none.
    func header(of text: [UInt8]) throws -> (header: KnownProofHeaders.Header, isNew: Bool)? {
        if let header = known?.find(in: text) { return (header, false) }
        guard let bytes = Self.header(of: text) else { return nil }
        let found = try row(of: bytes)
        if found == nil { try connection.lockFirst([.proofHeader(bytes)]) }
        let rowID = try found ?? connection.insert("INSERT INTO proof_headers (header) VALUES (?1)", [.blob(bytes)])
        return (KnownProofHeaders.Header(bytes: bytes, rowID: rowID), true)
    }

    /// The row of a header; nil if it has none.
    func row(of header: [UInt8]) throws -> Int64? {
        if let known = known?.find(in: header) { return known.rowID }
        return try connection.first(Self.finding(header)) { $0.integer("row_id") }
    }

    func find(_ rowID: Int64) throws -> [UInt8]? {
        try connection.first("SELECT header FROM proof_headers WHERE row_id = ?1", [.integer(rowID)]) {
            $0.blob("header")
        }
    }

    private static func header(of text: [UInt8]) -> [UInt8]? {
        text.firstIndex(of: UInt8(ascii: ".")).map { Array(text[...$0]) }
    }

    private static func finding(_ header: [UInt8]) -> Statement {
        Statement("SELECT row_id FROM proof_headers WHERE header = ?1", [.blob(header)])
    }

    /// Finds the header of a signed text; nil if it has none, or if its row is known.
    static func finding(headerOf text: [UInt8], unless known: KnownProofHeaders) -> Statement? {
        known.find(in: text) == nil ? header(of: text).map { finding($0) } : nil
    }
}

/// The rows of the headers that committed proofs use: finding three kilobytes in an index costs as much as a
/// statement. Kept only where this process is the one that writes, because another could restore an older database.
final class KnownProofHeaders: Sendable {
    struct Header: Sendable {
        let bytes: [UInt8]
        let rowID: Int64
    }

    /// Apple uses one or two signers at a time.
    private static let capacity = 8
    private let isKept: Bool
    private let headers = Locked<[Header]>([])

    init(of database: any Database) { isKept = !database.isShared }

    func find(in body: [UInt8]) -> Header? {
        guard isKept else { return nil }
        return headers.withLock { headers in headers.first { CompactToken.begins(body, with: $0.bytes) } }
    }

    /// Call after the commit.
    func insert(_ header: Header) {
        guard isKept else { return }
        headers.withLock { headers in
            headers.removeAll { $0.bytes == header.bytes }
            if headers.count == Self.capacity { headers.removeFirst() }
            headers.append(header)
        }
    }
}
