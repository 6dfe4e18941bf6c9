import Foundation
import Testing
import TillBilling
import TillCompression
import TillCrypto
import TillSQL
import TillSQLite
import TillTestDatabases
import TillThreads

@testable import TillLedger

@Suite("Stored proofs are compressed after the grant") struct ProofCompressionTests {
    private static let header = Array((String(repeating: "eyJhbGciOiJFUzI1NiJ9", count: 160) + ".").utf8)

    private static func payload(_ number: Int) -> String {
        """
        {"transactionId":"20000006000\(10_000 + number)","originalTransactionId":"20000006000\(10_000 + number)",\
        "bundleId":"com.example.learn","productId":"com.example.learn.points60","purchaseDate":1764300\
        \(100_000 + number),"quantity":1,"type":"Consumable","appAccountToken":"3f2c4d5e-0011-4a2b-8c3d-0123456789ab",\
        "inAppOwnershipType":"PURCHASED","signedDate":1764300555000,"environment":"Sandbox","storefront":"CHN",\
        "price":6000,"currency":"CNY","appTransactionId":"7043123456789\(10_000 + number)"}
        """
    }

    private static func rest(_ number: Int, payload: String? = nil, signature: Int = 64) -> [UInt8] {
        let signature = (0..<signature).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ number &* 101) }
        return Array(
            "\(Base64.encode((payload ?? Self.payload(number)).utf8, .url)).\(Base64.encode(signature, .url))".utf8)
    }

    private static func proof(_ number: Int) -> [UInt8] { header + rest(number) }

    /// Transactions 1 to `count`, each with the proof of its number.
    private static func fill(_ ledger: any Database, _ count: Int) async throws {
        try await ledger.write { connection in
            for number in 1...count {
                try insertTransaction(number, connection)
                try ProofTable(connection)
                    .insert(transaction: Int64(number), kind: .signedTransaction, body: proof(number))
            }
        }
    }

    private static func insertTransaction(_ number: Int, _ connection: any Connection) throws {
        try connection.execute(
            """
            INSERT INTO transactions (row_id, environment, id, original_id, product, quantity, purchased_at, \
            signed_at, state, received_at) VALUES (?1, 2, ?2, ?2, 'p', 1, 0, 0, 1, 0)
            """, [.integer(Int64(number)), .text("t\(number)")])
    }

    private static func stored(_ ledger: any Database, _ number: Int) async throws -> [UInt8]? {
        try await ledger.read { try ProofTable($0).find(transaction: Int64(number))?.body }
    }

    /// The numbers of the transactions in each of the two tables.
    private static func places(_ ledger: any Database) async throws -> (original: [Int64], compressed: [Int64]) {
        try await ledger.read { connection in
            func rows(_ sql: SQL) throws -> [Int64] {
                try connection.query(sql, []) { $0.integer("transaction_row_id") }
            }
            return (
                try rows("SELECT transaction_row_id FROM proofs ORDER BY 1"),
                try rows("SELECT transaction_row_id FROM compressed_proofs ORDER BY 1")
            )
        }
    }

    // MARK: The job

    @Test("A batch at a time, each proof is moved and comes back byte for byte", arguments: LedgerDatabase.each)
    func moved(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await Self.fill(ledger, 10)
            let compression = ProofCompression(ledger)
            let first = try await compression.compress(after: 0, limit: 4)
            #expect(first.last == 4 && first.compressed == 4)
            #expect(try await Self.places(ledger) == ([5, 6, 7, 8, 9, 10], [1, 2, 3, 4]))
            // Another process begins at the start, and finds what is left.
            let second = try await compression.compress(after: 0, limit: 100)
            #expect(second.last == 10 && second.compressed == 6)
            #expect(second.bytesSaved > 6 * 400, "\(second.bytesSaved) bytes")
            #expect(try await compression.compress(after: 0) == ProofCompression.Batch(last: nil))
            for number in 1...10 { #expect(try await Self.stored(ledger, number) == Self.proof(number)) }
        }
    }

    @Test("Receipts and texts that would not come back stay as they are", arguments: LedgerDatabase.each)
    func kept(_ database: LedgerDatabase) async throws {
        let odd: [[UInt8]] = [
            Self.header + Self.rest(1, signature: 63), Self.header + Self.rest(2) + Array("=".utf8),
            Self.header + Self.rest(3, payload: String(repeating: "7", count: CompressedProof.payloadLimit + 1)),
            Array("no token".utf8), Self.header + Array("e30".utf8), Self.header,
        ]
        try await withLedger(on: database) { ledger in
            try await ledger.write { connection in
                for (index, body) in odd.enumerated() {
                    try Self.insertTransaction(index + 1, connection)
                    try ProofTable(connection)
                        .insert(transaction: Int64(index + 1), kind: .signedTransaction, body: body)
                }
                try Self.insertTransaction(9, connection)
                try ProofTable(connection).insert(transaction: 9, kind: .receipt, body: Self.proof(9))
            }
            let batch = try await ProofCompression(ledger).compress(after: 0)
            #expect(batch == ProofCompression.Batch(last: 9))
            #expect(try await Self.places(ledger) == ([1, 2, 3, 4, 5, 6, 9], []))
            for (index, body) in odd.enumerated() { #expect(try await Self.stored(ledger, index + 1) == body) }
            #expect(try await ledger.read { try ProofTable($0).newestReceipt() } == Self.proof(9))
        }
    }

    @Test("A newer copy takes the place of a compressed one, and a receipt does not", arguments: LedgerDatabase.each)
    func replaced(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await Self.fill(ledger, 2)
            _ = try await ProofCompression(ledger).compress(after: 0)
            try await ledger.write { connection in
                let table = ProofTable(connection)
                try table.replace(transaction: 1, kind: .signedTransaction, body: Self.proof(7))
                try table.replace(transaction: 2, kind: .receipt, body: [1, 2, 3])
            }
            #expect(try await Self.places(ledger) == ([1], [2]))
            #expect(try await Self.stored(ledger, 1) == Self.proof(7))
            #expect(try await Self.stored(ledger, 2) == Self.proof(2))
            #expect(try await ProofCompression(ledger).compress(after: 0).compressed == 1)
            #expect(try await Self.places(ledger) == ([], [1, 2]))
            #expect(try await Self.stored(ledger, 1) == Self.proof(7))
        }
    }

    @Test("A proof that changes while it is being compressed stays", arguments: LedgerDatabase.each)
    func changed(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await Self.fill(ledger, 3)
            let interrupting = InterruptedDatabase(ledger) { connection in
                try ProofTable(connection).replace(transaction: 2, kind: .signedTransaction, body: Self.proof(8))
            }
            let batch = try await ProofCompression(interrupting).compress(after: 0)
            #expect(batch.compressed == 2 && batch.last == 3)
            #expect(try await Self.places(ledger) == ([2], [1, 3]))
            #expect(try await Self.stored(ledger, 2) == Self.proof(8))
        }
    }

    @Test("A commit that fails leaves every proof where it was", arguments: LedgerDatabase.each)
    func failed(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await Self.fill(ledger, 3)
            // The second row is in the way of the batch's insertion.
            try await ledger.write { connection in
                try connection.write(
                    """
                    INSERT INTO compressed_proofs (transaction_row_id, header_row_id, body) \
                    SELECT 2, row_id, ?1 FROM proof_headers
                    """, [.blob([0])])
            }
            await #expect(throws: DatabaseError.self) { try await ProofCompression(ledger).compress(after: 0) }
            #expect(try await Self.places(ledger) == ([1, 2, 3], [2]))
        }
    }

    @Test("A ledger of the release before is opened at once, and its proofs are compressed later")
    func migrated() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("till.db").path
        var earlier = DatabaseSchema.ledger
        earlier.migrations = Array(earlier.migrations.prefix(3))
        let old = try SQLiteDatabase.open(path: path, role: .server, options: .init(earlier))
        try await Self.fill(old, 3)
        await old.close()
        let ledger = try SQLiteDatabase.open(path: path, role: .server, options: .init(.ledger))
        #expect(try await Self.stored(ledger, 3) == Self.proof(3))
        #expect(try await ProofCompression(ledger).compress(after: 0).compressed == 3)
        #expect(try await Self.stored(ledger, 3) == Self.proof(3))
        await ledger.close()
    }

    // MARK: Damage

    @Test("A damaged row is an error that names it, and never another proof", arguments: LedgerDatabase.each)
    func damagedRow(_ database: LedgerDatabase) async throws {
        try await withLedger(on: database) { ledger in
            try await Self.fill(ledger, 2)
            _ = try await ProofCompression(ledger).compress(after: 0)
            try await ledger.write { connection in
                let other = try connection.first(
                    "SELECT body FROM compressed_proofs WHERE transaction_row_id = 1", []
                ) { $0.blob("body") }
                try connection.write(
                    "UPDATE compressed_proofs SET body = ?1 WHERE transaction_row_id = 2",
                    [.blob(try #require(other) + [0])])
            }
            let error = await #expect(throws: DatabaseError.self) { try await Self.stored(ledger, 2) }
            #expect(error?.kind == .corrupt && error.map { "\($0)" }?.contains("in row 2 is") == true)
            #expect(try await Self.stored(ledger, 1) == Self.proof(1))
        }
    }

    @Test("One turned bit anywhere, any other length, and another header are noticed")
    func damagedBytes() throws {
        let form = try CompressedProof()
        let whole = try #require(try form.compress(header: Self.header, rest: Self.rest(1)))
        #expect(try form.decompress(whole, header: Self.header) == Self.rest(1))
        for place in whole.indices {
            for bit in 0..<8 {
                var bytes = whole
                bytes[place] ^= 1 << UInt8(bit)
                // The unused bits after the last deflate block may turn.
                let read = try? form.decompress(bytes, header: Self.header)
                #expect(read == nil || (read == Self.rest(1) && place == whole.count - 1), "bit \(bit) of \(place)")
            }
            #expect(throws: CompressedProof.Damage.self) {
                try form.decompress(Array(whole.prefix(place)), header: Self.header)
            }
        }
        #expect(throws: CompressedProof.Damage.unreadable) { try form.decompress(whole + [0], header: Self.header) }
        #expect(throws: CompressedProof.Damage.wrongChecksum) {
            try form.decompress(whole, header: Array(Self.header.dropLast()) + [0x2D, 0x2E])
        }
        #expect(throws: CompressedProof.Damage.unknownFormat) {
            try form.decompress([2] + whole.dropFirst(), header: Self.header)
        }
    }

    @Test("A short row that would become ten megabytes is refused")
    func bomb() throws {
        let body = try Deflater(dictionary: []).compress([UInt8](repeating: 0x20, count: 10_000_000))
        let row = [1] + [UInt8](repeating: 0, count: 68) + body
        #expect(row.count < 50_000)
        #expect(throws: CompressedProof.Damage.unreadable) {
            try CompressedProof().decompress(row, header: Self.header)
        }
        #expect(throws: CompressionError.tooLong) {
            try Inflater(dictionary: []).decompress(body[...], limit: 65_536)
        }
    }

    @Test("Format 1 is read for ever: a row of the release that introduced it")
    func firstFormat() throws {
        let row = try #require(Base64.decode(Self.firstRow))
        #expect(try CompressedProof().decompress(row, header: Self.header) == Self.rest(1))
    }

    private static let firstRow = """
        AZtxg/Fliq/U+R5DaI2y1/whRmuQtdr/JEluk7jdAidMcZa74AUqT3SZvuMILVJ3nMHmCzBVep/E6Q4zWH2ix+wRNluAwxkf\
        IGNANZMh4YhBVooWQ6kVibkFOal6OamJRXlYogtFXq8gPzOvpNjMAEskmpkYQywxMCQr1ozTjJJNUkxTdYEGGOqaJBol6Vok\
        G6foGhgaGZuYmplbWCYmkR6zYFeZmpqCgxxXjYYlCsmIKhNjuEshYV0LAA==
        """
}

/// Changes the ledger after the first read, as another server could.
private final class InterruptedDatabase: Database {
    private let inner: any Database
    private let change: @Sendable (any Connection) throws -> Void
    private let isChanged = Locked(false)

    init(_ inner: any Database, _ change: @escaping @Sendable (any Connection) throws -> Void) {
        self.inner = inner
        self.change = change
    }

    func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await inner.write(locking: keys(), body)
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        let value = try await inner.read(body)
        let isFirst = isChanged.withLock { changed in
            defer { changed = true }
            return !changed
        }
        if isFirst { try await inner.write(locking: [], change) }
        return value
    }

    func close() async { await inner.close() }
}
