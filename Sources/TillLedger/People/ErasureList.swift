import TillBilling
import TillCrypto
import TillJSON
import TillSQL

/// The list of a ledger's erasures that is kept beside its backups, and its replay.
///
/// A backup that is older than an erasure still has the person's data. So:
///
/// 1. `Erasures.lines(of:_:)` gives every erasure of a ledger as a line of text. A backup stores these lines beside the
///    copy of the ledger. Every erasure also adds its line to the file `erasure.list` before it is answered
///    (`ErasureTerms.keep`), because the newest backup may be older.
/// 2. `Erasures.replay(_:at:)` takes such lines and erases the same customers in a ledger that was restored from an
///    older backup. Call it before the ledger serves. A repetition changes nothing.
///
/// A line is a JSON object without names: `appId`, `at` (the time of the erasure), `customerId` and `firstSeen` (the
/// customer's row), `hash` (`ErasureKey.hash` in hexadecimal). A customer is erased again if
///
/// - the hash is that of its user id, and the customer was first seen before the erasure: a person who came back later
///   is another customer; or
/// - number and first sight are the same: a ledger that was restored may have given the number to another customer.
extension Erasures {
    /// How many customers were found by the lines.
    public struct Replayed: Sendable, Hashable {
        /// Lines that could be read.
        public var lines: Int64 = 0
        /// Lines that are none of a list: one that a full disk cut is followed by the whole line.
        public var unreadable: Int64 = 0
        /// Customers erased now.
        public var erased: Int64 = 0
        /// Lines whose customer the ledger had erased already.
        public var unchanged: Int64 = 0
        /// Lines whose customer the ledger does not have.
        public var unknown: Int64 = 0
    }

    /// Every erasure of a ledger, oldest first, in pages: `body` gets the lines of one page.
    public static func lines(
        of database: any Database, _ body: ([String]) async throws -> Void
    ) async throws {
        var last: Int64 = 0
        while true {
            let after = last
            let page = try await database.read { try ErasureTable($0).list(after: after, limit: 1_000) }
            guard let end = page.last else { return }
            last = end.rowID
            try await body(page.map(\.line))
        }
    }

    /// Erases the customers of these lines.
    ///
    /// - Parameter lines: empty lines are allowed; others that are none of a list are counted.
    public func replay(_ lines: [String], at now: Instant) async throws -> Replayed {
        let texts = lines.filter { !$0.isEmpty }
        let entries = texts.compactMap(Line.init)
        var result = Replayed()
        result.lines = Int64(entries.count)
        result.unreadable = Int64(texts.count - entries.count)
        let byHash = Dictionary(grouping: entries, by: \.hash)
        let byCustomer = Dictionary(grouping: entries, by: \.customerID)
        var found: Set<Line> = []
        var last: Int64 = 0
        while true {
            let after = last
            let page = try await database.read { try PersonTable($0).list(after: after, limit: 1_000) }
            guard let end = page.last else { break }
            last = end.customerID
            for person in page {
                let meant =
                    (byHash[key.hash(of: person.user)] ?? []).filter { person.firstSeen <= $0.at }
                    + (byCustomer[person.customerID] ?? []).filter { person.firstSeen == $0.firstSeen }
                guard let line = meant.max(by: { $0.at < $1.at }) else { continue }
                found.formUnion(meant)
                try await begin(
                    customer: person.customerID, of: person.user, Cause(caller: "replay", at: line.at))
                result.erased += 1
            }
        }
        try await finish(at: now)
        for line in Set(entries).subtracting(found) {
            let known = try await database.read { try ErasureTable($0).newest(line.hash) }
            if known == nil { result.unknown += 1 } else { result.unchanged += 1 }
        }
        return result
    }

    /// One line of a list.
    private struct Line: Hashable {
        let customerID: Int64
        let firstSeen: Instant
        let hash: [UInt8]
        let at: Instant

        init?(_ text: String) {
            guard let json = try? JSONValue(decoding: text), json["appId"]?.string == "1",
                let customerID = json["customerId"]?.string.flatMap({ Int64($0) }),
                let firstSeen = json["firstSeen"]?.string.flatMap({ Instant(rfc3339: $0) }),
                let at = json["at"]?.string.flatMap({ Instant(rfc3339: $0) }),
                let hash = json["hash"]?.string.flatMap(Self.bytes), hash.count == 32
            else { return nil }
            (self.customerID, self.firstSeen, self.hash, self.at) = (customerID, firstSeen, hash, at)
        }

        private static func bytes(_ digits: String) -> [UInt8]? {
            var rest = digits.utf8[...]
            var bytes: [UInt8] = []
            while !rest.isEmpty {
                guard let byte = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else { return nil }
                bytes.append(byte)
                rest = rest.dropFirst(2)
            }
            return bytes
        }
    }
}

extension ErasureTable.Stored {
    /// As a line of the list beside the backups.
    public var line: String {
        JSONValue.object([
            "appId": "1", "customerId": .string(String(customerID)), "firstSeen": .string(firstSeen.rfc3339),
            "hash": .string(hexadecimal(userHash)), "at": .string(at.rfc3339),
        ]).encoded()
    }
}
