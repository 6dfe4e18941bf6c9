import CTillSQLite
import Foundation
import Testing
import TillSQL
import TillSQLite
import TillTestDatabases
import TillThreads

@testable import TillLedger

@Suite("The rules of every ledger") struct AuditTests {
    /// One granted purchase with all its rows.
    private static let purchase = """
        INSERT INTO customers (customer_id, user_id, first_seen) VALUES (1, 'ann', 0);
        INSERT INTO orders (row_id, id, customer_id, product, quantity, status, price, currency, environment,
            transaction_id, created_at, updated_at, moves, id_source)
            VALUES (1, x'000102030405060708090a0b0c0d0e0f', 1, 'p', 1, 1, 600, 'CNY', 2, 't1', 0, 0, 2, 2);
        INSERT INTO order_moves VALUES (1, 1, 0, 0, ''), (1, 2, 1, 0, '');
        INSERT INTO transactions (row_id, environment, id, original_id, product, quantity, purchased_at, signed_at,
            state, order_row_id, received_at) VALUES (1, 2, 't1', 't1', 'p', 1, 0, 0, 1, 1, 0);
        INSERT INTO purchases_with_rights VALUES (1, 1) ON CONFLICT DO NOTHING;
        INSERT INTO proofs (transaction_row_id, kind, body) VALUES (1, 1, x'00');
        INSERT INTO evidence (row_id, transaction_row_id, at, decision, ground, source, caller_kind)
            VALUES (1, 1, 0, 'granted', 'token', 'app', 'apple');
        INSERT INTO grants (transaction_row_id, id, order_row_id, customer_id, at)
            VALUES (1, x'100102030405060708090a0b0c0d0e0f', 1, 1, 0);
        INSERT INTO postings (environment, customer_id, contra, currency, amount, kind, grant_row_id, at)
            VALUES (2, 1, 'apple', 'points', 60, 'purchase', 1, 0);
        INSERT INTO balances (environment, customer_id, currency, amount) VALUES (2, 1, 'points', 60);
        INSERT INTO outbox (row_id, event_id, type, customer_id, user_sequence, transaction_row_id, at, revision,
            version, body) VALUES (1, x'200102030405060708090a0b0c0d0e0f', 'grant.created', 1, 1, 1, 0, 1, 1, '{}');
        INSERT INTO event_positions (position, event_row_id) VALUES (1, 1);
        """

    private static let second = """
        INSERT INTO evidence (row_id, transaction_row_id, at, decision, ground, source, caller_kind)
        """

    /// The decision is in the row of the grant, and nowhere else.
    private static let plain = """
        DROP TRIGGER evidence_is_never_deleted; DELETE FROM evidence; DROP TRIGGER grants_are_never_edited;
        UPDATE grants SET decision = 5
        """

    private static func transfer(_ row: Int, _ kind: String, reverses: String) -> String {
        """
        INSERT INTO transfers (row_id, id, kind, from_customer_id, to_customer_id, reason, caller_kind, reverses, at)
        VALUES (\(row), x'\(row)00102030405060708090a0b0c0d0e0f', \(kind), 2, 1, 'r', 'key', \(reverses), 0)
        """
    }

    private static let merge =
        "INSERT INTO customers (customer_id, user_id, first_seen, merged_into) VALUES (2, 'guest', 0, 1); "
        + transfer(1, "'guest_merge'", reverses: "NULL")

    private static func compressed(_ body: String) -> String {
        "DELETE FROM proofs; INSERT INTO proof_headers (row_id, header) VALUES (1, x'2e');"
            + " INSERT INTO compressed_proofs (transaction_row_id, header_row_id, body) VALUES (1, 1, x'\(body)')"
    }

    /// Two more grants under the same order; the first one's event was written long after its neighbours'.
    private static let late = """
        INSERT INTO transactions (row_id, environment, id, original_id, product, quantity, purchased_at, signed_at,
            state, order_row_id, received_at) VALUES (2, 2, 't2', 't2', 'p', 1, 0, 0, 1, 1, 0),
            (3, 2, 't3', 't3', 'p', 1, 0, 0, 1, 1, 0);
        INSERT INTO purchases_with_rights VALUES (1, 2), (1, 3) ON CONFLICT DO NOTHING;
        INSERT INTO proofs (transaction_row_id, kind, body) VALUES (2, 1, x'00'), (3, 1, x'00');
        INSERT INTO evidence (row_id, transaction_row_id, at, decision, ground, source, caller_kind)
            VALUES (2, 2, 0, 'granted', 'token', 'app', 'apple'), (3, 3, 0, 'granted', 'token', 'app', 'apple');
        INSERT INTO grants (transaction_row_id, id, order_row_id, customer_id, at)
            VALUES (2, x'110102030405060708090a0b0c0d0e0f', 1, 1, 0),
            (3, x'120102030405060708090a0b0c0d0e0f', 1, 1, 0);
        INSERT INTO outbox (row_id, event_id, type, customer_id, user_sequence, transaction_row_id, at, revision,
            version, body) VALUES (2, x'210102030405060708090a0b0c0d0e0f', 'grant.created', 1, 2, 3, 0, 1, 1, '{}'),
            (90000, x'220102030405060708090a0b0c0d0e0f', 'grant.created', 1, 3, 2, 0, 1, 1, '{}');
        INSERT INTO event_positions (position, event_row_id) VALUES (2, 2), (3, 90000)
        """

    struct Case: Sendable, CustomTestStringConvertible {
        let change: String
        let rules: [AuditRule]
        /// A part of the first violation.
        var part = ""

        var testDescription: String { change }
    }

    static let cases = [
        Case(change: "SELECT 1", rules: []),
        Case(change: "UPDATE balances SET amount = 59", rules: [.balances], part: "2 ann points"),
        Case(change: "DELETE FROM balances", rules: [.balances], part: "by -60"),
        Case(change: "UPDATE orders SET status = 2", rules: [.orderMoves], part: "is ongoing"),
        Case(
            change: "INSERT INTO order_moves VALUES (1, 3, 4, 0, ''); UPDATE orders SET status = 4",
            rules: [.orderMoves], part: "completed → failed"),
        Case(change: "DELETE FROM order_moves", rules: [.orderMoves], part: "last move is missing"),
        Case(change: "UPDATE orders SET reason = 'token'; DELETE FROM order_moves", rules: []),
        Case(
            change: "UPDATE orders SET reason = 'token', moves = 3; DELETE FROM order_moves", rules: [.orderMoves],
            part: "moved 3 times, and 2 moves"),
        Case(
            change: "UPDATE orders SET reason = 'refund', status = 6, moves = 2; DELETE FROM order_moves",
            rules: [.orderMoves], part: "prepared → refunded"),
        Case(change: "UPDATE orders SET transaction_id = 't9'", rules: [.paidOrders], part: "transaction t9"),
        Case(
            change: "UPDATE orders SET transaction_id = NULL, environment = NULL", rules: [.paidOrders],
            part: "order 00010203-0405-0607-0809-0a0b0c0d0e0f: is completed"),
        Case(
            change: "DROP TRIGGER grants_are_never_deleted; DELETE FROM grants", rules: [.grants, .references],
            part: "transaction t1"),
        Case(
            change: second + " VALUES (2, 1, 0, 'granted', 'token', 'app', 'apple')", rules: [.grantedOnce],
            part: "granted twice"),
        Case(change: plain, rules: []),
        Case(change: plain + "; UPDATE transactions SET state = 3", rules: [.states], part: "about it is granted"),
        Case(
            change: plain + "; " + second + " VALUES (2, 1, 0, 'granted', 'token', 'app', 'apple')",
            rules: [.grantedOnce], part: "granted twice"),
        Case(
            change: plain + "; " + second + " VALUES (2, 1, 0, 'quarantined', 'r', 'app', 'apple')", rules: [.states],
            part: "about it is quarantined"),
        Case(
            change: second + """
                 VALUES (2, 1, 0, 'quarantined', 'r', 'app', 'apple'), (3, 1, 0, 'granted', 'token', 'app', 'apple')
                """, rules: []),
        Case(
            change: "DROP TRIGGER events_are_never_deleted; DELETE FROM outbox", rules: [.events, .references],
            part: "without its event"),
        Case(change: late, rules: []),
        Case(
            change: late
                + "; DROP TRIGGER events_are_never_edited; UPDATE outbox SET type = 'other' WHERE row_id = 90000",
            rules: [.events], part: "transaction t2: has a grant without its event"),
        Case(
            change: late + "; DROP TRIGGER events_are_never_edited; UPDATE outbox SET type = 'other' WHERE row_id = 2",
            rules: [.events], part: "transaction t3: has a grant without its event"),
        Case(
            change: "DELETE FROM purchases_with_rights", rules: [.rights],
            part: "transaction t1: is not in the list"),
        Case(change: "INSERT INTO purchases_with_rights VALUES (1, 7)", rules: []),
        Case(change: "DELETE FROM purchases_with_rights; UPDATE transactions SET type = 1", rules: []),
        Case(
            change: second + " VALUES (2, 9, 0, 'granted', 'token', 'app', 'apple')", rules: [.references],
            part: "evidence 2"),
        Case(
            change: second + " VALUES (2, -5, 0, 'granted', 'token', 'app', 'apple')", rules: [.references],
            part: "evidence 2"),
        Case(
            change: "INSERT INTO customers (customer_id, user_id, first_seen, merged_into) VALUES (2, 'guest', 0, 1)",
            rules: [.merges], part: "customer guest: is part of another account"),
        Case(change: merge, rules: []),
        Case(
            change: merge + "; UPDATE customers SET merged_into = NULL", rules: [.merges], part: "customer guest"),
        Case(
            change: merge + "; UPDATE customers SET merged_into = NULL; " + transfer(2, "'reversal'", reverses: "1"),
            rules: []),
        Case(
            change: "INSERT INTO account_tokens VALUES (x'300102030405060708090a0b0c0d0e0f', 1, 0)",
            rules: [.accountTokens], part: "account token 30010203-0405-0607-0809-0a0b0c0d0e0f: was not registered"),
        Case(change: "DELETE FROM proofs", rules: [.proofs], part: "no proof"),
        Case(change: compressed("0001"), rules: [.proofs], part: "proof that is damaged (unknownFormat)"),
        Case(
            change: compressed("01").replacing("VALUES (1, 1", with: "VALUES (1, 9"), rules: [.references],
            part: "compressed_proofs 1"),
        Case(
            change: """
                UPDATE transactions SET state = 2, quarantine = 'r'; INSERT INTO evidence (row_id, transaction_row_id,
                at, decision, ground, source, caller_kind) VALUES (2, 1, 0, 'quarantined', 'r', 'app', 'apple');
                INSERT INTO apple_tasks (kind, transaction_row_id,
                state, attempts, due_at, detail) VALUES (1, 1, 0, 0, 0, '')
                """, rules: [.finishTasks], part: "to be finished"),
        Case(change: "UPDATE transactions SET order_row_id = 9", rules: [.references], part: "transactions 1"),
        Case(change: "UPDATE orders SET customer_id = 9", rules: [.references, .rights], part: "orders 1"),
        Case(change: "UPDATE orders SET catalog_version = 9", rules: [.references], part: "orders 1"),
        Case(change: "UPDATE transactions SET app_id = 9", rules: [.paidOrders, .references], part: "transaction t1"),
        Case(change: "UPDATE proofs SET header_row_id = 9", rules: [.references], part: "proofs 1"),
        Case(
            change: "UPDATE event_positions SET event_row_id = 9", rules: [.events, .references], part: "outbox 1"),
        Case(change: "DELETE FROM event_positions", rules: [.events], part: "no place in the feed"),
        Case(change: "UPDATE transactions SET state = 3", rules: [.states], part: "last decision about it is granted"),
        Case(
            change: "DROP TRIGGER evidence_is_never_edited; UPDATE evidence SET decision = 'kept'",
            rules: [.grants, .states], part: "has the state 1"),
        Case(
            change: """
                INSERT INTO customers (customer_id, user_id, first_seen) VALUES (2, 'eve', 0);
                INSERT INTO grant_owners (grant_row_id, environment, original_id, customer_id) VALUES (1, 2, 't1', 2)
                """, rules: [.owners], part: "whom no event told"),
        Case(
            change: """
                INSERT INTO outbox (row_id, event_id, type, customer_id, user_sequence, transaction_row_id, at,
                revision, version, body)
                VALUES (2, x'300102030405060708090a0b0c0d0e0f', 'grant.moved', 1, 2, 1, 0, 1, 1, '{}');
                INSERT INTO event_positions (position, event_row_id) VALUES (2, 2)
                """, rules: [.owners], part: "was moved to another customer"),
    ]

    /// Runs the body with a ledger that another program has changed, with no regard for its rules.
    private func withLedger(
        _ script: String, on database: LedgerDatabase = .chosen, _ body: (any Database) async throws -> Void
    ) async throws {
        try await withLedgerPlace(on: database) { place in
            let made = try place.open()
            await made.close()
            if let session = try place.session() {
                // A replica trusts what it gets: it checks no reference and fires no trigger.
                try session.run("SET session_replication_role = replica")
                try session.run(Self.postgres(script))
            } else {
                try Self.run(script, at: String(place.address.dropFirst("sqlite:".count)))
            }
            let ledger = try place.open(.operator)
            do {
                try await body(ledger)
            } catch {
                await ledger.close()
                throw error
            }
            await ledger.close()
        }
    }

    private static func run(_ script: String, at path: String) throws {
        var handle: OpaquePointer?
        try #require(sqlite3_open(path, &handle) == SQLITE_OK)
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        let message = String(cString: sqlite3_errmsg(handle))
        sqlite3_close(handle)
        try #require(code == SQLITE_OK, "\(message)")
    }

    /// Bytes are written in another way; no trigger has to be dropped.
    private static func postgres(_ script: String) -> String {
        script.replacing("x'", with: "'\\x").replacing(/DROP TRIGGER \w+;/, with: "")
    }

    @Test(
        "Each rule finds what violates it, and names it in English and Chinese", arguments: cases, LedgerDatabase.each)
    func finds(_ item: Case, _ database: LedgerDatabase) async throws {
        try await withLedger(Self.purchase + item.change, on: database) { ledger in
            let report = try await LedgerAudit.run(on: ledger, slice: 1)
            #expect(Set(report.violations.map(\.rule)) == Set(item.rules), "\(report.violations.map(\.text.en))")
            #expect(report.isComplete && report.rows > 0)
            let first = report.violations.first
            #expect(item.part.isEmpty || first?.text.en.contains(item.part) == true, "\(first?.text.en ?? "none")")
            #expect(report.violations.allSatisfy { $0.text.zh != $0.text.en && $0.text.zh.hasPrefix($0.about) })
            let once = try await ledger.read { try LedgerAudit.violations($0) }
            #expect(Set(once) == Set(report.violations), "in one read or in slices")
        }
    }

    @Test("Every rule is violated by a case, and says what holds in both languages")
    func everyRule() {
        // Seals need a key: `SealTests`.
        let rules = Set(AuditRule.allCases).subtracting([.seals])
        #expect(Set(Self.cases.flatMap(\.rules)) == rules)
        #expect(AuditRule.allCases.allSatisfy { $0.sentence.en.hasSuffix(".") && $0.sentence.zh.hasSuffix("。") })
        #expect(Set(AuditWalk.all.flatMap(\.rules)) == rules)
    }

    @Test("An audit that ends early has looked at the newest rows by every rule, and says how much it looked at")
    func bounded() async throws {
        let many = """
            INSERT INTO customers (customer_id, user_id, first_seen) VALUES (2, 'bob', 0);
            WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO transactions (row_id, environment, id, original_id, product, quantity, purchased_at, signed_at,
            state, received_at) SELECT i, 2, 'u' || i, 'u' || i, 'p', 1, 0, 0, 1, 0 FROM n;
            """
        try await withLedger(Self.purchase + many) { ledger in
            let calls = Calls()
            let report = try await LedgerAudit.run(on: ledger, slice: 10) { calls.next() < 22 }
            #expect(!report.isComplete && report.rows < report.allRows)
            #expect(report.violations.contains { $0.about == "transaction u3000" }, "the newest comes first")
            #expect(!report.violations.contains { $0.about == "transaction u2" })
            let whole = try await LedgerAudit.run(on: ledger)
            #expect(whole.violations.count == LedgerAudit.violationLimit, "a damaged ledger ends the list")
        }
    }

    @Test("Rows without what they name, and damaged pages, are found by SQLite's own checks")
    func file() async throws {
        func withFile(_ script: String, _ body: (SQLiteDatabase) async throws -> Void) async throws {
            try await withLedger(script, on: .sqlite) { try await body(try #require($0 as? SQLiteDatabase)) }
        }
        try await withFile(Self.purchase) { ledger in
            let (quick, whole) = (
                try await ledger.damages(isComplete: false), try await ledger.damages(isComplete: true)
            )
            let broken = try await ledger.brokenReferences(limit: 5)
            #expect(quick.isEmpty && whole.isEmpty && broken.isEmpty)
        }
        try await withFile(Self.purchase + "UPDATE orders SET customer_id = 9; UPDATE balances SET customer_id = 9") {
            let found = try await $0.brokenReferences(limit: 5)
            #expect(found.contains("orders 1 → customers"), "\(found)")
            #expect(found.contains("balances → customers"), "a table without row ids: \(found)")
        }
        let short = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 3 WHERE name = 'claims_due';"
        try await withFile(Self.purchase + short) { ledger in
            let found = try await ledger.damages(isComplete: false)
            #expect(!found.isEmpty)
        }
    }
}

private final class Calls: Sendable {
    private let count = Locked(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
