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

    @Test("A key that has expired or soon does is a warning that says how to rotate it")
    func endingKeys() async throws {
        let installation = try await Installation(
            rest: """
                , "secretKeys": [
                  {"id": "old", "sha256": "\(String(repeating: "ab", count: 32))", "expires": "2020-01-01T00:00:00Z"},
                  {"id": "new", "sha256": "\(String(repeating: "cd", count: 32))", "expires": "2999-01-01T00:00:00Z"}]
                """)
        let checks = try await installation.examine()
        expect(checks, .keys, .warning, en: #"secretKeys "old": expired at 2020"#, zh: "“old”：已于 2020")
        #expect(!checks.of(.keys).contains { $0.detail.en.contains("2999") })
        #expect(checks.of(.keys).contains { $0.action.en.contains("till keys add") })
    }

    @Test("Certificates are followed to their ends: valid, soon over, over, and not yet valid")
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
            try checks(own, at: 1_790_000_000), .certificates, .ok, en: "are valid; the first ends on 2040",
            zh: "最早的有效期至 2040")
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
}
