import Testing
import TillBilling
import TillJSON
import TillSQL
import TillTestDatabases

@testable import TillLedger

@Suite("Ids derived from what they identify") struct DerivedIDTests {
    private let now = Instant(seconds: 1_790_000_000)

    // Computed with Python's hashlib from the rule in docs/decisions/0060.
    @Test("A grant's id is the digest of app, environment and transaction; an event's id that of key and revision")
    func vectors() {
        let id = TransactionID("2000000123456789")
        #expect(
            DerivedID.grant(app: "com.example.learn", id, in: .production).description
                == "25fca24c-a6b7-8831-aa71-416c7cb250fa")
        #expect(
            DerivedID.grant(app: "com.example.learn", id, in: .sandbox).description
                == "5b5c2979-97c8-8a41-a268-8117e9d6e274")
        let key = "grant.created:Production:2000000123456789"
        #expect(DerivedID.event(key, revision: 0).description == "1722ae82-1f98-8d74-acdf-49495151312a")
        #expect(DerivedID.event(key, revision: 1).description == "179ded16-7f33-8b5d-b8ef-aec8d4a37af0")
    }

    @Test("Two ledgers that record the same things in the same order give their events the same, unique ids")
    func sameIDs() async throws {
        func ids(_ ledger: any Database) async throws -> [UniqueID] {
            try await ledger.write { connection in
                let events = EventRecorder(connection)
                for number in 0..<3 {
                    try events.record(
                        type: "subscription.updated", user: UserID("ann"), about: "Production:1:ann",
                        body: ["number": .int(Int64(number))], at: now)
                }
                try events.record(type: "subscription.updated", user: nil, about: "Production:2:ben", at: now)
                try events.record(type: "guest.merged", user: nil, about: "3", happensOnce: true, at: now)
                _ = try OutboxTable(connection).place(limit: 10)
            }
            return try await ledger.read { try OutboxTable($0).list(after: 0, limit: 10).map(\.id) }
        }
        var found: [[UniqueID]] = []
        for _ in 0..<2 { try await withLedger { found.append(try await ids($0)) } }
        #expect(found[0].count == 5 && Set(found[0]).count == 5)
        #expect(found[1] == found[0])
    }
}
