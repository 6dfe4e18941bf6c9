import Testing
import TillBilling
import TillSQL
import TillTestDatabases

@testable import TillLedger

@Suite("Which refusals are kept") struct RefusedProofTests {
    private static let at = Instant(seconds: 1_790_000_000)

    private static func entry(
        _ caller: String, _ number: Int, source: String = "app", order: OrderID? = nil
    ) -> RefusedProofTable.Entry {
        RefusedProofTable.Entry(
            at: at.adding(seconds: Int64(number)), source: source, caller: caller, claimedOrder: order,
            code: "bad_signature", detail: "\(number)",
            digest: [UInt8(number & 255), UInt8(number >> 8 & 255), UInt8(number >> 16)], record: "{}")
    }

    private static func rows(_ caller: String, _ connection: any Connection) throws -> [Int64] {
        let found = try connection.query(
            "SELECT record, \(caller: "refused_proofs") FROM refused_proofs", []
        ) { (caller: CallerColumns.name($0), isWhole: !$0.isNull("record")) }.filter { $0.caller == caller }
        return [Int64(found.count), Int64(found.filter(\.isWhole).count)]
    }

    @Test("A flood of anonymous posts displaces neither a user's record nor a backend's (10,400 posts)")
    func anonymousFlood() async throws {
        try await withLedger { ledger in
            let stored = try await ledger.write { connection in
                let table = RefusedProofTable(connection)
                try table.insert(Self.entry("user:eve", 1))
                try table.insert(Self.entry("key:backend", 2))
                try table.insert(Self.entry("apple", 3, source: "reconciliation"))
                for number in 0..<10_400 { try table.insert(Self.entry("apple", number, source: "notification")) }
                let list = try table.list(before: .max, limit: 10).map(\.entry.caller)
                return (
                    try Self.rows("user:eve", connection), try Self.rows("key:backend", connection),
                    try Self.rows("apple", connection), list, try table.anonymous(limit: 5_000)
                )
            }
            #expect(stored.0 == [1, 1] && stored.1 == [1, 1])
            let quota = RefusedProofTable.Quota.anonymous
            #expect(stored.2 == [quota.rows + 1, quota.records + 1], "the one beside is of the reconciliation")
            #expect(stored.3 == ["apple", "key:backend", "user:eve"])
            #expect(stored.4.count == Int(quota.rows) && stored.4.first?.detail == "10399")
        }
    }

    @Test("A user displaces only that user's own records, and a backend key only its own")
    func ownBudget() async throws {
        try await withLedger { ledger in
            let stored = try await ledger.write { connection in
                let table = RefusedProofTable(connection)
                try table.insert(Self.entry("user:eve", 0))
                try table.insert(Self.entry("key:a", 0))
                for number in 0..<400 { try table.insert(Self.entry("user:mallory", number)) }
                for number in 0..<2_100 { try table.insert(Self.entry("key:b", number)) }
                return try ["user:eve", "user:mallory", "key:a", "key:b"].map { try Self.rows($0, connection) }
            }
            let (user, trusted) = (RefusedProofTable.Quota.user, RefusedProofTable.Quota.trusted)
            #expect(stored == [[1, 1], [user.rows, user.records], [1, 1], [trusted.rows, trusted.records]])
        }
    }

    @Test("Many accounts of one person can't fill the disk either")
    func manyUsers() async throws {
        try await withLedger { ledger in
            let quota = RefusedProofTable.Quota.users
            let stored = try await ledger.write { connection in
                let table = RefusedProofTable(connection)
                for number in 0..<(Int(quota.rows) + 1_000) {
                    try table.insert(Self.entry("user:\(number / 40)", number))
                }
                try table.insert(Self.entry("key:a", 0))
                return try connection.first(
                    "SELECT count(*) AS count, count(record) AS count_2 FROM refused_proofs", []
                ) {
                    [$0.integer("count"), $0.integer("count_2")]
                } ?? []
            }
            #expect(quota.rows...(quota.rows + 257) ~= stored[0])
            #expect(stored[1] <= quota.records + 257)
        }
    }

    @Test("The same proof refused again is counted, with its latest time, and takes no second row")
    func repeated() async throws {
        try await withLedger { ledger in
            let order = try #require(OrderID("3f2c91ab-0000-4000-8000-000000000001"))
            let found = try await ledger.write { connection in
                let table = RefusedProofTable(connection)
                for number in 0..<3 {
                    for claimed in [nil, order] {
                        var entry = Self.entry("user:eve", 7, order: claimed)
                        entry = .init(
                            at: Self.at.adding(seconds: Int64(number)), source: entry.source, caller: entry.caller,
                            claimedOrder: claimed, code: entry.code, detail: entry.detail, digest: entry.digest)
                        try table.insert(entry)
                    }
                }
                try table.insert(Self.entry("user:mallory", 7))
                return try table.list(before: .max, limit: 10).map(\.entry)
            }
            #expect(found.map(\.caller) == ["user:mallory", "user:eve", "user:eve"])
            #expect(found.map(\.count) == [1, 3, 3])
            #expect(found.map(\.lastAt) == [nil, Self.at.adding(seconds: 2), Self.at.adding(seconds: 2)])
            #expect(found.last?.at == Self.at)
        }
    }

    @Test("Notifications of one foreign app don't displace those that state another app")
    func foreignNotifications() async throws {
        try await withLedger { ledger in
            let stored = try await ledger.write { connection in
                let table = ForeignNotificationTable(connection)
                try table.insert(Self.notification("ours", "com.example.learn"))
                for number in 0..<1_400 { try table.insert(Self.notification("\(number)", "com.example.other")) }
                for number in 0..<30 { try table.insert(Self.notification("n\(number)", nil)) }
                return try table.list(limit: 5_000)
            }
            #expect(stored.count == Int(ForeignNotificationTable.capacity))
            #expect(stored.filter { $0.bundleID == "com.example.learn" }.map(\.uuid) == ["ours"])
            #expect(stored.filter { $0.bundleID == nil }.count == 30)
        }
    }

    private static func notification(_ uuid: String, _ bundle: String?) -> ForeignNotificationTable.Entry {
        ForeignNotificationTable.Entry(
            uuid: uuid, app: (bundle, nil), environment: "Sandbox", type: "TEST", subtype: nil, receivedAt: at,
            reason: ("wrong_app", "bundleId"), payload: "x.y.z")
    }
}
