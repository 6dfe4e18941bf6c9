import Testing
import TillBilling
import TillJSON
import TillSQL
import TillServer
import TillSimulation
import TillTestDatabases

@testable import TillLedger

@Suite("Changes by SQL, behind the server")
struct TamperingJourneys {
    /// A ledger with something in every sealed table.
    private func withSealedLedger(_ work: (Shop, SealAudit) async throws -> Void) async throws {
        try await PersonalDataShop.open { own in
            _ = try await own.live()
            let shop = own.shop
            for (index, user) in ["ford", "trillian", "arthur"].enumerated() {
                let bought = try await shop.buyPlan("points60", as: user, device: "device \(index)")
                if index == 0 { _ = try await shop.refund(bought, by: user) }
            }
            // More postings than one seal holds.
            for number in 1...130 {
                let debit: JSONValue = ["currency": "points", "amount": 1, "reference": .string("page \(number)")]
                let user = number < 60 ? "trillian" : "arthur"
                _ = try await shop.send(.post, "/v1/users/\(user)/wallet/debits", debit)
            }
            #expect(try await own.erase().status == 201)
            try await shop.sealAll()
            let identity = try await shop.server.ledger.identity()
            try await work(shop, SealAudit(shop.ledger, key: try #require(Shop.sealKey), ledger: identity.id))
        }
    }

    private func count(_ tampers: Int, seed: UInt64) async throws {
        try await withSealedLedger { shop, audit in
            let whole = try await audit.run()
            #expect(whole.violations.isEmpty, "\(whole.violations.map(\.text.en))")
            #expect(whole.rows > 160 && whole.seals > 9)
            try await Triggers.drop(shop)
            let tampering = try await shop.ledger.read { try Tampering($0) }
            var random = SeededRandom(seed: seed)
            var (made, draws, kinds) = (0, 0, Set<String>())
            while made < tampers, draws < 20 * tampers {
                draws += 1
                let before = random
                do {
                    try await shop.ledger.write { connection in
                        var random = before
                        guard let change = try tampering.change(connection, &random) else {
                            throw Tampering.Undone(change: "", violations: [])
                        }
                        let found = try audit.report(connection).violations + LedgerAudit.violations(connection)
                        throw Tampering.Undone(change: change, violations: found)
                    }
                } catch let undone as Tampering.Undone where !undone.change.isEmpty {
                    made += 1
                    kinds.insert(String(undone.change.prefix { $0 != ":" && $0 != "." }))
                    #expect(!undone.violations.isEmpty, "seed \(seed), draw \(draws): \(undone.change)")
                } catch is Tampering.Undone {
                } catch let refused as DatabaseError where refused.kind == .constraint {
                    // PostgreSQL ends the whole transaction; nothing was changed.
                }
                for _ in 0..<7 { _ = random.next() }
            }
            #expect(made == tampers && kinds.count > 15, "\(made) changes of \(kinds.sorted())")
            #expect(try await audit.run().violations.isEmpty)
        }
    }

    @Test("A change of the ledger by SQL is found by the audit, also where the books fit (V8)")
    func tampered() async throws { try await count(400, seed: 1) }

    @Test("The same ten thousand times (V8)", .slow, .timeLimit(.minutes(40)))
    func tamperedOften() async throws { try await count(10_000, seed: 2) }
}

/// The ledger's own guards, which an attacker removes first.
enum Triggers {
    static func drop(_ shop: Shop) async throws {
        for (trigger, table) in all {
            try await shop.change(
                sqlite: "DROP TRIGGER \(table: trigger)", postgres: "DROP TRIGGER \(trigger) ON \(table)")
        }
    }

    private static let all: [(StaticString, table: StaticString)] = [
        ("evidence_is_never_edited", "evidence"), ("evidence_is_never_deleted", "evidence"),
        ("grants_are_never_edited", "grants"), ("grants_are_never_deleted", "grants"),
        ("postings_are_never_edited", "postings"), ("postings_are_never_deleted", "postings"),
        ("events_are_never_edited", "outbox"), ("events_are_never_deleted", "outbox"),
        ("catalog_versions_are_never_edited", "catalog_versions"),
        ("catalog_versions_are_never_deleted", "catalog_versions"),
        ("transfers_are_never_edited", "transfers"), ("transfers_are_never_deleted", "transfers"),
        ("consents_are_never_edited", "consents"), ("consents_are_never_deleted", "consents"),
    ]
}
