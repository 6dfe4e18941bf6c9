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

/// One installation in a directory of its own, examined without a network: Apple's address refuses connections.
private struct Installation {
    static let now = Instant(seconds: 1_790_000_000)
    static let catalog = """
        {"products": [{"id": "p", "type": "Consumable", "names": {"en": "p", "zh": "p"},
          "price": {"amount": 600, "currency": "CNY"}, "points": {"points": 60}}]}
        """
    /// A port that no program listens on.
    static let emulator = #""emulator": "http://127.0.0.1:1""#

    let directory: TemporaryDirectory
    var ledgerPath: String { directory.path + "/till.db" }
    private let configuration: String

    /// - Parameters:
    ///   - apple: more members of `apple`; `rest`: more members of the configuration.
    ///   - fills: changes the ledger before it is examined; nil: there is no ledger.
    init(
        apple: String = "", rest: String = "", environment: String = "Sandbox",
        fills: (@Sendable (any Connection) throws -> Void)? = { _ in }
    ) async throws {
        directory = try TemporaryDirectory()
        chmod(directory.path, 0o700)
        try directory.write("catalog.json", Self.catalog)
        let members = environment == "Sandbox" ? Self.emulator + apple : String(apple.dropFirst(2))
        configuration = try directory.write(
            "till.json",
            """
            {"listen": "127.0.0.1:1", "database": "sqlite:till.db", "catalog": "catalog.json",
             "apple": {"bundleId": "com.example.learn", "environments": ["\(environment)"], \(members)}\(rest)}
            """)
        chmod(configuration, 0o600)
        guard let fills else { return }
        let ledger = try SQLiteDatabase.open(path: ledgerPath, role: .server, options: .init(.ledger))
        try await ledger.write { try fills($0) }
        await ledger.close()
    }

    /// Changes the ledger's file with no regard for its rules.
    func change(_ script: String) throws {
        var handle: OpaquePointer?
        try #require(sqlite3_open(ledgerPath, &handle) == SQLITE_OK)
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        let message = String(cString: sqlite3_errmsg(handle))
        sqlite3_close(handle)
        try #require(code == SQLITE_OK, "\(message)")
    }

    func examine(_ change: (inout Doctor) -> Void = { _ in }) async throws -> [DoctorCheck] {
        var doctor = try Doctor(try Configuration.load(file: configuration), process: Recorder().process())
        doctor.configurationFile = configuration
        change(&doctor)
        return await doctor.run()
    }

    /// The command itself.
    func run(_ language: String = "en", json: Bool = true) async throws -> (code: ExitCode, output: String) {
        let recorder = Recorder()
        let program = Program(commands: Command.all, process: recorder.process())
        let code = await program.run(
            ["doctor", "--lang", language, "--config", configuration] + (json ? ["--json"] : []))
        return (code, recorder.out)
    }
}

extension [DoctorCheck] {
    fileprivate func of(_ name: DoctorCheck.Name) -> [DoctorCheck] { filter { $0.name == name } }
}

/// Expects a finding whose sentences contain these parts in both languages, with something to do.
private func expect(
    _ checks: [DoctorCheck], _ name: DoctorCheck.Name, _ status: DoctorCheck.Status, en: String, zh: String,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let found = checks.of(name)
    let match = found.first { $0.status == status && $0.detail.en.contains(en) && $0.detail.zh.contains(zh) }
    #expect(match != nil, "\(found.map { ($0.status, $0.detail) })", sourceLocation: sourceLocation)
    guard let match else { return }
    #expect(match.action.en.isEmpty == (status == .ok), sourceLocation: sourceLocation)
    #expect(match.action.zh.isEmpty == (status == .ok), sourceLocation: sourceLocation)
}

@Suite("till doctor") struct DoctorTests {
    @Test("Every check is reported, in the order of the list, and the exit code is that of its worst status")
    func shape() async throws {
        let installation = try await Installation()
        for language in ["en", "zh"] {
            let (code, output) = try await installation.run(language)
            #expect(code == .done, "only warnings: \(output)")
            let checks = try JSONValue(decoding: Array(output.utf8))["checks"]?.array ?? []
            var names: [String] = []
            for check in checks where names.last != check["name"]?.string { names.append(check["name"]?.string ?? "") }
            #expect(names == DoctorCheck.Name.allCases.map(\.rawValue))
            for check in checks {
                let status = check["status"]?.string ?? ""
                #expect(["ok", "warning"].contains(status))
                #expect((check["action"]?.string ?? "?").isEmpty == (status == "ok"), "\(check)")
                #expect(check["detail"]?.string?.isEmpty == false)
            }
        }
        let (_, text) = try await installation.run(json: false)
        #expect(text.contains("ok       ledger           The ledger can be read."), "\(text)")
        #expect(text.contains("\n         → "))
    }

    // MARK: Configuration

    @Test("A configuration that can't be used is reported under the check it concerns; nothing else is checked")
    func configuration() async throws {
        let directory = try TemporaryDirectory()
        try directory.write("catalog.json", Installation.catalog)
        try directory.write("key.p8", "not a key")
        let file = try directory.write(
            "till.json",
            """
            {"databse": "sqlite:till.db", "catalog": "catalog.json",
             "apple": {"bundleId": "com.example.learn", "environments": ["Sandbox"], "keyId": "2X9R4HXF34",
                       "issuerId": "57246542-96fe-1a63-e053-0824d011072a", "privateKeyFile": "key.p8",
                       "roots": ["catalog.json"]}}
            """)
        let recorder = Recorder()
        let code = await Program(commands: Command.all, process: recorder.process())
            .run(["doctor", "--json", "--config", file])
        #expect(code == .refused)
        let checks = try JSONValue(decoding: Array(recorder.out.utf8))["checks"]?.array ?? []
        func details(_ name: String, _ status: String) -> String {
            checks.filter { $0["name"]?.string == name && $0["status"]?.string == status }
                .compactMap { $0["detail"]?.string }.joined(separator: "\n")
        }
        #expect(details("configuration", "error").contains("4 problems"))
        #expect(details("configuration", "error").contains("databse: there is no such key. Did you mean database?"))
        #expect(details("api_key", "error").contains("is not a P-256 private key"))
        #expect(details("certificates", "error").contains("is not a certificate"))
        #expect(details("integrity", "warning").hasPrefix("not checked, because the configuration"))
        #expect(!recorder.out.contains("not a key"), "no content of a key file")
        let garbage = try directory.write("garbage.json", "{\"database\": ")
        let second = Recorder()
        let refused = await Program(commands: Command.all, process: second.process())
            .run(["doctor", "--lang", "zh", "--config", garbage])
        #expect(refused == .refused && second.out.contains("configuration    配置有"))
    }

    @Test("Without an API key each thing that does not work is named, and so are callers without keys")
    func withoutKey() async throws {
        let checks = try await Installation().examine()
        #expect(checks.of(.apiKey).count == AppleChecks.withoutKey.count)
        expect(checks, .apiKey, .warning, en: "claims by Apple's order number", zh: "凭 Apple 订单号的认领")
        expect(checks, .keys, .warning, en: "no backend can call", zh: "任何后端都无法调用")
        expect(checks, .keys, .warning, en: "no app can call", zh: "任何 App 都无法调用")
        expect(checks, .receipts, .warning, en: "neither an In-App Purchase Key", zh: "既没有配置 App 内购买项目密钥")
        expect(checks, .notifications, .warning, en: "not checked, because there is no API key", zh: "未检查，因为没有 API 密钥")
        expect(checks, .server, .warning, en: "No server answers at 127.0.0.1:1", zh: "127.0.0.1:1 没有服务器应答")
        expect(checks, .clock, .warning, en: "not checked, because the emulated store", zh: "未检查，因为连接不到模拟商店")
        expect(checks, .proxy, .warning, en: "no public address was given", zh: "没有给出公开地址")
        expect(checks, .webhooks, .ok, en: "No endpoint", zh: "没有配置端点")
    }

    @Test("A key that Apple can't be asked with is an error that names the address to open")
    func unreachable() async throws {
        let installation = try await Installation(
            apple: """
                , "keyId": "2X9R4HXF34", "issuerId": "57246542-96fe-1a63-e053-0824d011072a",
                "privateKey": \(JSONValue.string(try PrivateKey.generate(.p256).pem()).encoded())
                """)
        let checks = try await installation.examine()
        expect(checks, .apiKey, .error, en: "can't be reached", zh: "连接不到模拟商店")
        #expect(checks.of(.apiKey).first?.action.en.contains("till emulate") == true)
        expect(checks, .receipts, .ok, en: "In-App Purchase Key", zh: "App 内购买项目密钥")
        expect(checks, .notifications, .warning, en: "no server of this ledger runs", zh: "服务器没有运行")
    }

    @Test("Weak secrets, secrets under two names and tokens without an end are found; no secret is printed")
    func keys() async throws {
        let (secret, digest) = ("correct horse battery staple and more", String(repeating: "ab", count: 32))
        let installation = try await Installation(
            rest: """
                , "secretKeys": [{"id": "a", "sha256": "\(digest)"}], "operators": [{"id": "o", "sha256": "\(digest)"}],
                "userTokens": [{"id": "u", "algorithm": "HS256", "secret": "\(secret)"}]
                """)
        let checks = try await installation.examine()
        expect(checks, .keys, .error, en: #"secretKeys "a", operators "o""#, zh: "使用同一个密钥")
        expect(checks, .keys, .warning, en: "looks like words", zh: "像是单词")
        expect(checks, .keys, .warning, en: "maximumLifetime", zh: "maximumLifetime")
        #expect(!checks.contains { ($0.detail.en + $0.action.en).contains(secret) })
        let good = try await Installation(
            rest: """
                , "secretKeys": [{"id": "a", "sha256": "\(digest)"}],
                "operators": [{"id": "o", "sha256": "\(String(repeating: "cd", count: 32))"}],
                "userTokens": [{"id": "u", "algorithm": "HS256", "secret": "kX9mQ2vL7pR4tY8wZ3nB6jH1dF5gS0aC",
                                "maximumLifetime": 86400}]
                """)
        expect(try await good.examine(), .keys, .ok, en: "1 for backends, 1 for user tokens", zh: "后端密钥 1 个")
    }

    @Test("Certificates are followed to their ends: valid, soon over, over, not yet valid, and no authority")
    func certificates() throws {
        func checks(_ der: [UInt8]?, at seconds: Int64) throws -> [DoctorCheck] {
            let directory = try TemporaryDirectory()
            try directory.write("catalog.json", Installation.catalog)
            let roots = try der.map { try directory.write("root.cer", $0) }
            let file = try directory.write(
                "till.json",
                """
                {"database": "sqlite:till.db", "catalog": "catalog.json", "apple": {"bundleId": "com.example.learn",
                 "environments": ["Sandbox"]\(roots.map { ", \"roots\": [\"\($0)\"]" } ?? "")}}
                """)
            return ConfigurationChecks(
                configuration: try Configuration.load(file: file), now: Instant(seconds: seconds)
            ).all.of(.certificates)
        }
        // Valid from 2020 to 2040, and no authority.
        let own = foreignCertificate()
        let end = try #require(Certificate(der: own)).notAfter
        expect(try checks(nil, at: 1_790_000_000), .certificates, .ok, en: "Apple's roots are trusted", zh: "信任 Apple")
        expect(
            try checks(own, at: 1_790_000_000), .certificates, .warning, en: "not a certificate authority",
            zh: "不是证书颁发机构")
        expect(try checks(own, at: end - 86_400 * 29), .certificates, .warning, en: "ends in 29 days", zh: "29 天后到期")
        expect(try checks(own, at: end + 1), .certificates, .error, en: "ended on 2040", zh: "到期")
        expect(try checks(own, at: 1_500_000_000), .certificates, .error, en: "valid only from 2020", zh: "起才有效")
        expect(try checks(nil, at: 2_500_000_000), .certificates, .error, en: "apple.roots", zh: "到期")
    }

    // MARK: The machine

    @Test("Files that others may read are a warning, files that others may change an error, with the command")
    func fileModes() async throws {
        let installation = try await Installation(
            rest: """
                , "userTokens": [{"id": "u", "algorithm": "HS256", "secret": "kX9mQ2vL7pR4tY8wZ3nB6jH1dF5gS0aC"}]
                """)
        expect(try await installation.examine(), .fileModes, .ok, en: "closed to other users", zh: "其他用户无法访问")
        chmod(installation.ledgerPath, 0o640)
        expect(try await installation.examine(), .fileModes, .warning, en: "till.db (mode 640)", zh: "可被本机其他用户访问")
        chmod(installation.ledgerPath, 0o600)
        chmod(installation.directory.path + "/till.json", 0o606)
        let open = try await installation.examine()
        expect(open, .fileModes, .error, en: "till.json (mode 606)", zh: "可被本机所有用户修改")
        #expect(open.of(.fileModes).first?.action.en.contains("chmod 600 ") == true)
        chmod(installation.directory.path + "/till.json", 0o600)
        chmod(installation.directory.path, 0o777)
        expect(try await installation.examine(), .fileModes, .error, en: "mode 777", zh: "777")
        chmod(installation.directory.path, 0o1777)
        #expect(try await installation.examine().of(.fileModes).first?.status == .ok, "a sticky directory")
    }

    @Test("Free space and inodes are compared with what the server needs and with the ledger's growth")
    func disk() async throws {
        let installation = try await Installation()
        func found(_ free: Int64, _ files: Int64?, growth: LedgerGrowth? = nil) throws -> DoctorCheck {
            var effects = Doctor.Effects()
            effects.diskSpace = { _ in DiskSpace(free: free, files: files) }
            let doctor = try Doctor(
                try Configuration.load(file: installation.directory.path + "/till.json"),
                process: Recorder().process(), effects: effects)
            defer { doctor.fetch.stop() }
            return doctor.disk(growth)
        }
        expect([try found(50_000_000_000, nil)], .disk, .ok, en: "50.0 GB free beside the ledger.", zh: "剩余 50.0 GB")
        expect([try found(1_500_000_000, 5_000)], .disk, .warning, en: "1.5 GB", zh: "1.5 GB")
        expect([try found(200_000_000, nil)], .disk, .error, en: "200.0 MB", zh: "200.0 MB")
        expect([try found(50_000_000_000, 7)], .disk, .error, en: "only 7 more files fit", zh: "只能再创建 7 个文件")
        let fast = LedgerGrowth(bytesPerDay: 2_000_000_000)
        expect(
            [try found(50_000_000_000, nil, growth: fast)], .disk, .warning, en: "enough for 25 days at 2.0 GB a day",
            zh: "可用 25 天")
        expect([try found(5_000_000_000, nil, growth: fast)], .disk, .error, en: "enough for 2 days", zh: "可用 2 天")
        let real = try #require(DiskSpace(at: installation.directory.path))
        #expect(real.free > 0 && DiskSpace(at: "/nowhere") == nil)
    }

    // MARK: The ledger's file

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
                    at: Installation.now.adding(seconds: -60 * minutes), payload: "")
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
