import Foundation
import Testing
import TillBilling
import TillCrypto
import TillJSON
import TillServer

@testable import till

@Suite("till keys")
struct KeysCommandTests {
    private static let hash = String(repeating: "ab", count: 32)
    private static let now = Instant(seconds: 1_790_000_000)

    /// A file as a person writes it: its own order, layout and spelling.
    private static let text = """
        {
            "operators" : [ {"sha256":"\(hash)","id":"anna"} ],
          "database": "sqlite:till.db",   "catalog": \(sampleCatalog),
          "apple": {"environments": ["Sandbox"], "bundleId": "com.example"},
          "secretKeys": [
            { "id": "backend", "sha256": "\(hash)" }
          ],
          "reviewUsers": ["caf\\u00e9"]
        }

        """

    private func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) async -> (code: ExitCode, out: String, error: String) {
        let recorder = Recorder()
        let program = Program(commands: Command.all, process: recorder.process(environment: environment))
        let code = await program.run(["keys"] + arguments)
        return (code, recorder.out, recorder.error)
    }

    private func file(_ text: String = text, mode: Int = 0o600) throws -> (TemporaryDirectory, path: String) {
        let directory = try TemporaryDirectory()
        let path = try directory.write("till.json", text)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return (directory, path)
    }

    // MARK: The file

    @Test("add writes the hash, prints the key once, and keeps every other byte of the file")
    func add() async throws {
        let (directory, path) = try file(mode: 0o640)
        let ran = await run(["add", "backend-2", "--config", path, "--expires", "90d", "--json"])
        #expect(ran.code == .done, "\(ran.error)")
        let key = try #require(try JSONValue(decoding: ran.out)["key"]?.string)
        #expect(key.hasPrefix("sk_") && key.utf8.count == 46)
        let end = Self.now.adding(seconds: 90 * 86_400)
        let entry =
            #"{ "id": "backend-2", "sha256": "\#(hexadecimal(Digest.sha256.hash(key.utf8)))", "#
            + #""expires": "\#(end)" }"#
        let old = "{ \"id\": \"backend\", \"sha256\": \"\(Self.hash)\" }"
        #expect(try directory.read("till.json") == Self.text.replacing(old, with: "\(old),\n    \(entry)"))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o640)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["till.json"])
        let configuration = try Configuration.load(file: path)
        #expect(configuration.secretKeys.map(\.id) == ["backend", "backend-2"])
        #expect(configuration.secretKeys.last?.validity == KeyValidity(expires: end))
    }

    @Test("add and then retire gives back the same file, byte by byte", arguments: KeyUses.Kind.allCases)
    func addAndRetire(_ list: KeyUses.Kind) async throws {
        let (directory, path) = try file()
        let flags = ["--config", path, "--list", list.rawValue]
        #expect(await run(["add", "second"] + flags).code == .done)
        #expect(try directory.read("till.json") != Self.text)
        #expect(await run(["retire", "second"] + flags).code == .done)
        // A list that was missing stays behind, empty.
        let made = list == .userTokens ? ",\n  \"userTokens\": []" : ""
        let expected = Self.text.replacing("[\"caf\\u00e9\"]", with: "[\"caf\\u00e9\"]" + made)
        #expect(try directory.read("till.json") == expected)
    }

    @Test("retire with an end keeps the key until then")
    func retireLater() async throws {
        let (directory, path) = try file()
        #expect(await run(["retire", "backend", "--config", path, "--expires", "12h"]).code == .done)
        let end = Self.now.adding(seconds: 12 * 3_600)
        #expect(try directory.read("till.json").contains("\"sha256\": \"\(Self.hash)\", \"expires\": \"\(end)\" }"))
        #expect(await run(["retire", "backend", "--config", path, "--expires", "1h"]).code == .done)
        let configuration = try Configuration.load(file: path)
        #expect(configuration.secretKeys[0].validity.expires == Self.now.adding(seconds: 3_600))
    }

    @Test("add --list userTokens writes an HS256 secret that only its owner can read, and does not print it")
    func userToken() async throws {
        let (directory, path) = try file()
        let ran = await run(["add", "app", "--config", path, "--list", "userTokens"])
        #expect(ran.code == .done, "\(ran.error)")
        let secret = try directory.read("user-token-app.secret").dropLast()
        #expect(!ran.out.contains(secret) && secret.utf8.count == 43)
        let attributes = try FileManager.default.attributesOfItem(atPath: directory.path + "/user-token-app.secret")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try Configuration.load(file: path).userTokens.map(\.algorithm) == [.hs256(secret: Array(secret.utf8))])
        // A refused second attempt leaves the first one's file.
        #expect(await run(["add", "app", "--config", path, "--list", "userTokens"]).code == .refused)
        #expect(try directory.read("user-token-app.secret").dropLast() == secret)
    }

    private static let refusals: [(kind: String, arguments: [String], english: String, chinese: String)] = [
        ("writable by others", ["add", "b"], "can be written by other users", "可被本机其他用户写入"),
        ("taken", ["add", "backend"], "has a key \"backend\" already", "已有密钥“backend”"),
        ("unknown", ["retire", "ghost"], "there is no key \"ghost\"", "没有密钥“ghost”"),
        ("broken", ["add", "b"], "is not valid JSON", "不是合法的 JSON"),
        ("variable", ["add", "b"], "come from TILL_SECRET_KEYS", "来自 TILL_SECRET_KEYS"),
    ]

    @Test("A command that is refused says why and leaves the file as it is", arguments: refusals, ["en", "zh"])
    func refused(
        _ refusal: (kind: String, arguments: [String], english: String, chinese: String), _ language: String
    ) async throws {
        let text = refusal.kind == "broken" ? String(Self.text.dropLast(4)) : Self.text
        let (directory, path) = try file(text, mode: refusal.kind == "writable by others" ? 0o666 : 0o600)
        let environment = refusal.kind == "variable" ? ["TILL_SECRET_KEYS": "[]"] : [:]
        let ran = await run(
            refusal.arguments + ["--config", path, "--lang", language], environment: environment)
        #expect(ran.code == .refused)
        #expect(ran.error.contains(language == "en" ? refusal.english : refusal.chinese), "\(ran.error)")
        #expect(try directory.read("till.json") == text)
    }

    @Test("An id in several lists needs --list; wrong usage changes nothing and ends with 2")
    func wrongUsage() async throws {
        let (directory, path) = try file(Self.text.replacing("anna", with: "backend"))
        let before = try directory.read("till.json")
        for arguments in [["retire", "backend"], ["add"], ["remove", "backend"], ["add", "a b"], ["list", "x"]] {
            #expect(await run(arguments + ["--config", path]).code == .wrongUsage, "\(arguments)")
        }
        for end in ["yesterday", "2020-01-01T00:00:00Z", "0d", "-1h"] {
            #expect(await run(["add", "b", "--config", path, "--expires=\(end)"]).code == .wrongUsage, "\(end)")
        }
        #expect(try directory.read("till.json") == before)
    }

    @Test("Through a symbolic link the file is edited, and the link stays a link")
    func link() async throws {
        let (directory, path) = try file()
        let link = directory.path + "/link.json"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        #expect(await run(["add", "second", "--config", link]).code == .done)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
        #expect(try Configuration.load(file: path).secretKeys.map(\.id) == ["backend", "second"])
    }

    @Test("Commands at the same time lose no key")
    func concurrent() async throws {
        let (directory, path) = try file()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    let ran = try? runTill(["keys", "add", "k\(number)", "--config", path])
                    #expect(ran?.code == 0, "\(ran?.error ?? "")")
                }
            }
        }
        let ids = try Configuration.load(file: directory.path + "/till.json").secretKeys.map(\.id)
        #expect(Set(ids) == Set(["backend"] + (0..<8).map { "k\($0)" }))
    }

    // MARK: list

    @Test("list shows each key with its state, its end and its last use")
    func list() async throws {
        let entries = """
            [{"id": "old", "sha256": "\(Self.hash)", "expires": "2026-01-01T00:00:00Z"},
             {"id": "next", "sha256": "\(Self.hash)", "notBefore": "2030-01-01T00:00:00Z"}]
            """
        let (directory, path) = try file(
            Self.text.replacing("[\n    { \"id\": \"backend\", \"sha256\": \"\(Self.hash)\" }\n  ]", with: entries))
        var state = ServerState(process: 1)
        state.uses = [KeyUses.Key(kind: .operators, id: "anna"): Self.now]
        try state.write(besideLedger: directory.path + "/till.db")
        let ran = await run(["list", "--config", path, "--json"])
        #expect(ran.code == .done, "\(ran.error)")
        let keys = try JSONValue(decoding: ran.out)["keys"]?.array ?? []
        #expect(
            keys == [
                ["list": "secretKeys", "id": "old", "state": "expired", "expires": "2026-01-01T00:00:00.000Z"],
                ["list": "secretKeys", "id": "next", "state": "notYetValid", "notBefore": "2030-01-01T00:00:00.000Z"],
                ["list": "operators", "id": "anna", "state": "valid", "lastUsedAt": .string(Self.now.rfc3339)],
            ])
        let chinese = await run(["list", "--config", path, "--list", "operators", "--lang", "zh"])
        #expect(chinese.out == "operators  anna  有效  不会到期  最近使用 \(Self.now)\n")
    }

    // MARK: Text

    private static let appends: [(before: String, after: String)] = [
        ("{}", "{\n  \"l\": [\n    E\n  ]\n}"),
        ("{\"a\":1}", "{\"a\":1, \"l\": [E]}"),
        ("{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"l\": [\n    E\n  ]\n}\n"),
        ("{\"l\":[]}", "{\"l\":[E]}"),
        ("{\n\t\"l\": [ ]\n}", "{\n\t\"l\": [\n\t  E\n\t]\n}"),
        ("{\"l\": [1]}", "{\"l\": [1, E]}"),
        ("{\"l\": [\n 1,\n 2\n], \"b\": \"]}\\\"\"}", "{\"l\": [\n 1,\n 2,\n E\n], \"b\": \"]}\\\"\"}"),
        ("{\"b\":{\"l\":[0]},\"l\":[{\"l\":[]}]}", "{\"b\":{\"l\":[0]},\"l\":[{\"l\":[]}, E]}"),
        ("{\"\\u006c\":[true,null]}", "{\"\\u006c\":[true,null, E]}"),
    ]

    @Test("An entry is added in the layout of its neighbours", arguments: appends)
    func append(_ row: (before: String, after: String)) throws {
        var text = try #require(JSONListText(Array(row.before.utf8)))
        text.append("{\"id\": 7}", to: "l")
        #expect(String(decoding: text.bytes, as: UTF8.self) == row.after.replacing("E", with: "{\"id\": 7}"))
        #expect((try? JSONValue(decoding: text.bytes)) != nil)
    }

    private static let removals: [(before: String, index: Int, after: String)] = [
        ("{\"l\": [1]}", 0, "{\"l\": []}"),
        ("{\"l\": [1, 2]}", 0, "{\"l\": [2]}"),
        ("{\"l\": [1, 2]}", 1, "{\"l\": [1]}"),
        ("{\"l\": [\n 1,\n 2,\n 3\n]}", 1, "{\"l\": [\n 1,\n 3\n]}"),
        ("{\"l\": [\n {\"a\": \"]\"},\n [2]\n]}", 1, "{\"l\": [\n {\"a\": \"]\"}\n]}"),
    ]

    @Test("An entry is removed with its comma", arguments: removals)
    func remove(_ row: (before: String, index: Int, after: String)) throws {
        var text = try #require(JSONListText(Array(row.before.utf8)))
        text.remove(row.index, of: "l")
        #expect(String(decoding: text.bytes, as: UTF8.self) == row.after)
    }
}
