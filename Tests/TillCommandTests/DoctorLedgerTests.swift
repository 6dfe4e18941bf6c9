import CTillSQLite
import Foundation
import Testing
import TillBilling
import TillCrypto
import TillJSON
import TillLedger
import TillSQL
import TillSQLite

@testable import till

@Suite("till doctor about the ledger") struct DoctorLedgerTests {
    @Test("A missing ledger is an error with its cure, and what needs it is not checked")
    func noLedger() async throws {
        let checks = try await Installation(fills: nil).examine()
        expect(checks, .ledger, .error, en: "there is no database", zh: "打不开")
        expect(checks, .integrity, .warning, en: "not checked, because the ledger can't be read", zh: "未检查，因为账本无法读取")
        let installation = try await Installation(fills: nil)
        #expect(try await installation.run().code == .refused)
    }

    @Test("A newer schema is an error, an older one a warning with what to do, another file an error")
    func schema() async throws {
        let installation = try await Installation()
        let version = DatabaseSchema.ledger.version
        try installation.change("PRAGMA user_version = \(version + 1)")
        expect(
            try await installation.examine(), .schema, .error, en: "has schema version \(version + 1)",
            zh: "由更新版本的 Till 写成")
        try installation.change("PRAGMA user_version = \(version - 1)")
        expect(try await installation.examine(), .schema, .warning, en: "1 migrations are pending", zh: "有 1 个迁移待执行")
        try installation.change("PRAGMA user_version = 7")
        expect(try await installation.examine(), .schema, .error, en: "before the first release", zh: "首个正式版之前")
        try installation.change("PRAGMA application_id = 1")
        expect(try await installation.examine(), .ledger, .error, en: "another program", zh: "不是 Till 的账本")
    }

    @Test("A ledger of another app is an error; one from before is named as what the next start takes over")
    func identity() async throws {
        let fresh = try await Installation()
        expect(try await fresh.examine(), .ledgerIdentity, .ok, en: "at the next start", zh: "下次启动时")
        try fresh.change("UPDATE apps SET bundle_id = 'com.example.learn'")
        expect(try await fresh.examine(), .ledgerIdentity, .ok, en: "belongs to com.example.learn", zh: "账本属于")
        try fresh.change("UPDATE apps SET bundle_id = 'com.example.other'")
        expect(
            try await fresh.examine(), .ledgerIdentity, .error, en: "belongs to the app com.example.other",
            zh: "属于 App com.example.other")
    }

    @Test("Broken sums and rows are errors that name the rule, and nothing is written by looking")
    func integrity() async throws {
        let installation = try await Installation { connection in
            try LedgerTable(connection).post(
                Posting(
                    environment: .sandbox, userID: UserID("ann"), contra: .given, currency: "points", amount: 60,
                    kind: .bonus, reference: "r", at: Installation.now), grant: nil)
        }
        let before = try Data(contentsOf: URL(fileURLWithPath: installation.ledgerPath))
        expect(try await installation.examine(), .integrity, .ok, en: "all pages", zh: "没有违反规则")
        expect(
            try await installation.examine { $0.isFull = true }, .integrity, .ok, en: "rows: no violation.", zh: "全部")
        #expect(try Data(contentsOf: URL(fileURLWithPath: installation.ledgerPath)) == before)
        try installation.change("UPDATE balances SET amount = 61; INSERT INTO order_moves VALUES (7, 1, 0, 0, '')")
        let checks = try await installation.examine()
        expect(checks, .integrity, .error, en: "violations of balances", zh: "违反 balances")
        expect(checks, .integrity, .error, en: "2 ann points", zh: "2 ann points")
        expect(checks, .integrity, .error, en: "violations of references", zh: "违反 references")
        try installation.change(
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 3 WHERE name = 'claims_due'")
        expect(try await installation.examine(), .integrity, .error, en: "damaged in", zh: "处损坏")
    }

    // MARK: What waits

    @Test("Work that waits too long is a warning and then an error; given up and failing work is a warning")
    func pendingWork() async throws {
        func checks(_ minutes: Int64) async throws -> [DoctorCheck] {
            try await Installation { connection in
                _ = try NotificationTable(connection).insert(
                    uuid: "n", environment: .sandbox, type: "TEST", subtype: nil, signedAt: nil,
                    at: Installation.now.adding(seconds: -60 * minutes), payload: [])
            }.examine()
        }
        expect(try await checks(3), .pendingWork, .ok, en: "1 entries wait", zh: "有 1 项等待")
        expect(
            try await checks(20), .pendingWork, .warning, en: "1 notifications to process, the oldest for 20 min",
            zh: "待处理的通知有 1 项")
        expect(try await checks(90), .pendingWork, .error, en: "the oldest for 90 min", zh: "最早的已等待 90 min")
        let tasks = try await Installation { connection in
            let payment = Self.payment(1, token: nil)
            let row = try TransactionTable(connection).insert(
                payment, state: .granted, quarantine: nil, orderRowID: nil, at: Installation.now)
            try AppleTaskTable(connection).insert(.finish, transaction: row, due: Installation.now)
            try AppleTaskTable(connection).refuse(1, detail: "4040010")
        }.examine()
        expect(tasks, .pendingWork, .warning, en: "1 tasks for Apple were given up", zh: "1 项已放弃")
    }

    @Test("Many refused proofs are a warning with their codes; a few are not")
    func refusedProofs() async throws {
        func checks(_ count: Int) async throws -> [DoctorCheck] {
            try await Installation { connection in
                for number in 0..<count {
                    try connection.execute(
                        """
                        INSERT INTO refused_proofs (at, source, caller_kind, code, detail, digest, budget, count)
                        VALUES (?1, 'app', 'anonymous', ?2, '', ?3, 'anonymous', 1)
                        """,
                        [
                            .integer(Installation.now.milliseconds - 3_600_000),
                            .text(number == 0 ? "wrong_app" : "bad_signature"), .blob([UInt8(number)]),
                        ])
                }
                try connection.execute(
                    """
                    INSERT INTO refused_proofs (at, source, caller_kind, code, detail, digest, budget, count)
                    VALUES (?1, 'app', 'anonymous', 'malformed', '', ?2, 'anonymous', 1)
                    """, [.integer(Installation.now.milliseconds - 90_000_000), .blob([255])])
            }.examine()
        }
        expect(try await checks(3), .refusedProofs, .ok, en: "3 different proofs", zh: "3 份不同的凭证")
        let many = try await checks(25)
        expect(
            many, .refusedProofs, .warning,
            en: "25 different proofs were refused in 24 hours: bad_signature 24, wrong_app 1", zh: "bad_signature 24")
    }

    private static let constant = UniqueID(high: 0x7C1D_2B3A_0F4E_4A6B, low: 0x8C9D_0E1F_2A3B_4C5D)

    private static func payment(_ number: Int, token: AppAccountToken?) -> PaidTransaction {
        var payment = PaidTransaction(
            id: TransactionID("\(number)"), originalID: TransactionID("\(number)"), productID: ProductID("p"),
            quantity: 1, environment: .sandbox, token: token, purchasedAt: Installation.now,
            signedAt: Installation.now, revokedAt: nil, isRenewal: false, isFromReceipt: false, price: nil)
        payment.appTransactionID = "70\(number)"
        return payment
    }

    /// Payments in quarantine with one token, each from its own Apple Account.
    private func checks(ofPayments count: Int) async throws -> [DoctorCheck] {
        try await Installation { connection in
            for number in 0..<count {
                let row = try TransactionTable(connection).insert(
                    Self.payment(number, token: .order(Self.constant)), state: .quarantined, quarantine: .unknownToken,
                    orderRowID: nil, at: Installation.now)
                try ProofTable(connection).insert(transaction: row, kind: .signedTransaction, body: Array("a.b.c".utf8))
                try EvidenceTable(connection).insert(
                    transaction: row,
                    .init(
                        at: Installation.now, decision: "quarantined", ground: "unknown_token", source: "app",
                        caller: "apple"))
            }
        }.examine()
    }

    @Test("A token in payments of more than three Apple Accounts is reported, with what to check (V2)")
    func sharedToken() async throws {
        let checks = try await checks(ofPayments: 4)
        expect(checks, .sharedTokens, .warning, en: Self.constant.description, zh: Self.constant.description)
        #expect(checks.of(.integrity).first?.status == .ok)
    }

    @Test("Three Apple Accounts count as one customer's, and quarantined purchases are counted (V2)")
    func ordinary() async throws {
        let checks = try await checks(ofPayments: 3)
        expect(checks, .sharedTokens, .ok, en: "more than 3", zh: "超过 3 个")
        expect(checks, .quarantine, .warning, en: "3 payments wait for an owner", zh: "有 3 笔付款等待认领")
    }

    @Test("Doctor says whether Apple can be asked about receipts, and whether it refuses the shared secret (P2)")
    func receipts() async throws {
        func checks(_ waiting: String?, apple: String = #", "sharedSecret": "0123456789abcdef""#) async throws
            -> [DoctorCheck]
        {
            try await Installation(apple: apple) { connection in
                guard let waiting else { return }
                try WaitingProofTable(connection).insert(
                    TransactionID("7"), in: .sandbox, by: .init(name: "user:ann", namedUser: nil, claimedOrder: nil),
                    receipt: [1], digest: Array(repeating: 2, count: 32), at: Installation.now, due: Installation.now,
                    detail: waiting)
            }.examine()
        }
        let none = try await checks(nil)
        expect(none, .receipts, .ok, en: "verifyReceipt", zh: "verifyReceipt")
        expect(
            none, .sharedSecret, .warning, en: "not checked, because the ledger holds no recent receipt",
            zh: "账本中没有近期的收据")
        #expect(try await checks("verifyReceipt: timedOut").of(.sharedSecret).first?.status == .warning)
        let wrong = try await checks(SignedTransactionLookup.Answer.wrongSecret)
        expect(
            wrong, .sharedSecret, .error, en: "Apple refuses apple.sharedSecret (21004); 1 receipts wait.",
            zh: "Apple 拒绝 apple.sharedSecret")
        #expect(!wrong.contains { $0.detail.en.contains("0123456789abcdef") })
        expect(try await checks(nil, apple: ""), .sharedSecret, .ok, en: "none is needed", zh: "不需要")
    }
}
