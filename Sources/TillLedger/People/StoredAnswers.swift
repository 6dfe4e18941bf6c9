import TillBilling
import TillJSON
import TillSQL

/// The stored answers of `idempotency_keys`, as an erasure reads them: their requests and answers name users in text.
struct StoredAnswers {
    private static let columns: Columns = "credential, method, path, query_digest, environment, key"

    private let connection: any Connection
    init(_ connection: any Connection) { self.connection = connection }

    /// The values of the primary key, without the app.
    struct Key: Sendable {
        let values: [SQLValue]
    }

    struct Answer: Sendable {
        let key: Key
        let credential: String
        let path: String
        let body: [UInt8]

        /// Whether the request or the answer names a user for whom `isMeant` is true.
        func names(_ isMeant: (UserID) -> Bool) -> Bool {
            let prefix = "user:"
            if credential.utf8.starts(with: prefix.utf8),
                isMeant(UserID(String(decoding: credential.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)))
            {
                return true
            }
            if path.split(separator: "/").contains(where: { isMeant(UserID(Self.decoded($0))) }) { return true }
            guard !body.isEmpty, let json = try? JSONValue(decoding: body) else { return false }
            return Self.texts(json, isMeant)
        }

        /// Names stand alone, or after `user:` in the name of an account.
        private static func texts(_ json: JSONValue, _ isMeant: (UserID) -> Bool) -> Bool {
            switch json {
            case .string(let text):
                isMeant(UserID(text)) || text.hasPrefix("user:") && isMeant(UserID(String(text.dropFirst(5))))
            case .array(let elements): elements.contains { texts($0, isMeant) }
            case .object(let members): members.values.contains { texts($0, isMeant) }
            case .null, .bool, .int, .double: false
            }
        }

        /// A segment of a path, with its percent-encoded bytes decoded.
        private static func decoded(_ segment: Substring) -> String {
            var (bytes, rest): ([UInt8], _) = ([], segment.utf8[...])
            while let byte = rest.popFirst() {
                let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                if byte == UInt8(ascii: "%"), let value = UInt8(digits, radix: 16) {
                    bytes.append(value)
                    rest = rest.dropFirst(2)
                } else {
                    bytes.append(byte)
                }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// In the order of their keys.
    func list(after key: Key?, limit: Int) throws -> [Answer] {
        guard let key else {
            return try connection.query(
                "SELECT \(Self.columns), body FROM idempotency_keys ORDER BY \(Self.columns) LIMIT ?1",
                [.integer(Int64(limit))], Self.read)
        }
        return try connection.query(
            """
            SELECT \(Self.columns), body FROM idempotency_keys WHERE (\(Self.columns)) > (\(marks: 6)) \
            ORDER BY \(Self.columns) LIMIT ?7
            """, key.values + [.integer(Int64(limit))], Self.read)
    }

    func remove(_ key: Key) throws {
        try connection.write(
            """
            DELETE FROM idempotency_keys WHERE credential = ?1 AND method = ?2 AND path = ?3 \
            AND query_digest = ?4 AND environment = ?5 AND key = ?6
            """, key.values)
    }

    private static func read(_ row: any Row) throws -> Answer {
        Answer(
            key: Key(values: [
                .text(row.text("credential")), .text(row.text("method")), .text(row.text("path")),
                .blob(row.blob("query_digest")), .integer(row.integer("environment")), .text(row.text("key")),
            ]),
            credential: row.text("credential"), path: row.text("path"),
            body: row.isNull("body") ? [] : row.blob("body"))
    }
}
