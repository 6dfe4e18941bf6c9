import Foundation
import Testing
import TillBilling
import TillCrypto
import TillJSON
import TillLedger
import TillServer

@testable import till

@Suite("till init, as a process")
struct InitTests {
    private func secret(in directory: String) throws -> String {
        let content = try String(contentsOfFile: directory + "/user-token.secret", encoding: .utf8)
        return String(content.dropLast())
    }

    @Test("its files load, and the shown keys are those whose hashes it wrote")
    func roundTrip() throws {
        let directory = try TemporaryDirectory()
        let shop = directory.path + "/a/shop"
        let ran = try runTill(["init", shop, "--json"])
        #expect(ran.code == 0 && ran.error.isEmpty)
        let shown = try JSONValue(decoding: ran.out)
        let secretKey = try #require(shown["secretKey"]?.string)
        let operatorToken = try #require(shown["operatorToken"]?.string)
        let userSecret = try secret(in: shop)
        #expect(secretKey.hasPrefix("sk_") && secretKey.utf8.count == 46)
        #expect(shown["files"]?.array?.count == 5)

        let configuration = try Configuration.load(file: shop + "/till.json")
        #expect(configuration.secretKeys.map(\.sha256) == [Digest.sha256.hash(Array(secretKey.utf8))])
        #expect(configuration.operators.map(\.sha256) == [Digest.sha256.hash(Array(operatorToken.utf8))])
        guard case .hs256(let secret)? = configuration.userTokens.first?.algorithm else {
            Issue.record("no HS256 key was written")
            return
        }
        #expect(secret == Array(userSecret.utf8))
        #expect(configuration.database == .sqlite(path: shop + "/till.db"))
        let key = try String(contentsOfFile: shop + "/erasure.key", encoding: .utf8).dropLast()
        #expect(configuration.erasure?.key == ErasureKey(String(key)) && key.utf8.count == 43)
        #expect(configuration.erasure?.list == shop + "/erasures.jsonl" && !ran.out.contains(key))
        #expect(configuration.apple.environments == [.sandbox])

        let products = configuration.catalog.products
        #expect(configuration.catalog.findings.isEmpty)
        let packs = products.filter { $0.type == .consumable }
        #expect(packs.map(\.price.amount) == [600, 3_000, 6_800, 12_800])
        #expect(packs.map(\.points) == [["points": 60], ["points": 300], ["points": 680], ["points": 1_280]])
        #expect(products.first?.id == ProductID("com.example.learn.points60") && products.count == 8)
    }

    @Test("no key is on disk in plain text except the token secret, which only its owner can read")
    func secretsOnDisk() throws {
        let directory = try TemporaryDirectory()
        let ran = try runTill(["init", directory.path, "--json"])
        let shown = try JSONValue(decoding: ran.out)
        let secretKey = try #require(shown["secretKey"]?.string)
        let operatorToken = try #require(shown["operatorToken"]?.string)
        let userSecret = try secret(in: directory.path)
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
            let content = try directory.read(name)
            #expect(!content.contains(secretKey) && !content.contains(operatorToken), "\(name)")
            #expect(content.contains(userSecret) == (name == "user-token.secret"), "\(name)")
        }
        #expect(!ran.out.contains(userSecret))
        let plain = try runTill(["init", directory.path + "/made"])
        #expect(try !plain.out.contains(secret(in: directory.path + "/made")))
        func mode(_ name: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: directory.path + name)[.posixPermissions] as? Int
        }
        #expect(try mode("/user-token.secret") == 0o600 && mode("/till.json") == 0o600)
        #expect(try mode("/made") == 0o700 && mode("/made/user-token.secret") == 0o600)
    }

    @Test("two runs make different keys")
    func freshKeys() throws {
        let directory = try TemporaryDirectory()
        let one = try JSONValue(decoding: try runTill(["init", directory.path + "/1", "--json"]).out)
        let two = try JSONValue(decoding: try runTill(["init", directory.path + "/2", "--json"]).out)
        for name in ["secretKey", "operatorToken"] {
            #expect(one[name] != nil && one[name] != two[name])
        }
        #expect(try secret(in: directory.path + "/1") != secret(in: directory.path + "/2"))
    }

    @Test("it overwrites nothing: existing files are listed, and nothing else is written")
    func refusesToOverwrite() throws {
        let directory = try TemporaryDirectory()
        try directory.write("catalog.json", "mine")
        try directory.write("till.json", "mine too")
        let ran = try runTill(["init", directory.path])
        #expect(ran.code == 1 && ran.out.isEmpty)
        #expect(
            ran.error == """
                till: \(directory.path)/catalog.json already exists and is not overwritten
                till: \(directory.path)/till.json already exists and is not overwritten

                """)
        #expect(try directory.read("catalog.json") == "mine")
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/user-token.secret"))
        #expect(try runTill(["init", directory.path, "--lang", "zh"]).error.contains("已经存在，不会覆盖"))
    }

    @Test("a directory that can't be created is a refusal with its reason")
    func impossibleDirectory() throws {
        let ran = try runTill(["init", "/dev/null/shop"])
        #expect(ran.code == 1 && ran.out.isEmpty)
        #expect(ran.error.contains("/dev/null/shop: a part of the path is not a directory"))
    }
}

@Suite("till, as a process")
struct ProcessTests {
    @Test("exit codes are 0 for done, 1 for refused, 2 for wrong usage")
    func exitCodes() throws {
        let help = try runTill(["--help"])
        #expect(help.code == 0 && help.error.isEmpty && help.out.contains("init"))
        let refused = try runTill(["init", "/dev/null/x"])
        #expect(refused.code == 1 && refused.out.isEmpty && !refused.error.isEmpty)
        let wrong = try runTill(["inti"])
        #expect(wrong.code == 2 && wrong.out.isEmpty)
        #expect(wrong.error.contains("Did you mean till init?"))
        #expect(try runTill([]).code == 2)
    }

    @Test("the locale selects the language, and --lang overrides it")
    func language() throws {
        let chinese = ["LANG": "zh_CN.UTF-8"]
        #expect(try runTill(["inti"], environment: chinese).error.contains("是否想写 till init？"))
        #expect(try runTill(["inti", "--lang", "en"], environment: chinese).error.contains("Did you mean"))
        #expect(try runTill(["--help"], environment: chinese).out.contains("命令"))
    }
}
