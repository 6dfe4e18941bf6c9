import Foundation
import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillLedger
import TillSQL
import TillSQLite

@Suite("till serve, as a process") struct ServeJourneys {
    @Test("SIGTERM under load: the server ends with 0, and no answered request is lost (O6)")
    func stopsUnderLoad() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start()
            let count = Answered()
            await withTaskGroup(of: Void.self) { group in
                for client in 0..<16 {
                    group.addTask {
                        var number = 0
                        while let reply = try? await open(files, port, client: client, number), reply.status == 201 {
                            count.add(client: client, number)
                            number += 1
                        }
                    }
                }
                group.addTask {
                    while count.all.count < 200 { try? await Task.sleep(for: .milliseconds(5)) }
                    process.send(SIGTERM)
                }
            }
            #expect(await process.end() == 0, "\(process.complaints)")
            #expect(process.complaintsBesideWarnings.isEmpty)

            let (again, newPort) = try await files.start()
            #expect(count.all.count >= 200)
            for (client, number) in count.all {
                let reply = try await files.send(newPort, .get, "/v1/orders/\(order(client: client, number).id)")
                #expect(reply.status == 200, "answered and lost: \(client)/\(number)")
            }
            try await files.buy(newPort, as: "afterwards")
            again.send(SIGTERM)
            #expect(await again.end() == 0)
        }
    }

    private func order(client: Int, _ number: Int) -> ProvenOrder { ProvenOrder(of: "c\(client)", number) }

    private func open(_ files: ServerProcess, _ port: UInt16, client: Int, _ number: Int) async throws -> Reply {
        try await files.send(
            port, .post, "/v1/orders",
            order(client: client, number).opening(["productId": .string(Shop.points60)]),
            as: .user("c\(client)"))
    }

    @Test("A second server on the same ledger is refused in the reader's language; reading works beside the first")
    func secondServer() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start()
            try await files.buy(port, as: "u1")
            for (language, phrase) in [("en", "is being served by process"), ("zh", "正由另一个服务器使用")] {
                let second = try TillProcess.start(
                    ["serve", "--config", files.configurationFile, "--lang", language])
                let (output, code) = await second.finish()
                #expect(code == 1)
                #expect(output.isEmpty)
                #expect(second.complaints.contains(phrase), "\(second.complaints)")
                #expect(second.complaints.contains(String(process.id)), "names the process that has it")
                #expect(second.complaints.contains("till.db"))
            }
            // An operating command reads beside the server, and so does any SQLite; neither disturbs it.
            let reader = try SQLiteDatabase.open(path: files.ledgerFile, role: .operator, options: .init(.ledger))
            let wallet = try await reader.read { try LedgerTable($0).wallet(of: UserID("u1"), in: .sandbox) }
            #expect(wallet.balances == ["points": 60])
            await #expect(throws: DatabaseError.self) {
                try await reader.write { try HeartbeatTable($0).beat(at: Instant(seconds: 0)) }
            }
            await reader.close()
            #expect(try await Self.sqlite3(files.ledgerFile, "SELECT count(*) AS count FROM grants") == "1")
            try await files.buy(port, as: "u2")
            process.send(SIGTERM)
            #expect(await process.end() == 0)
        }
    }

    /// The answer of the `sqlite3` program; nil if it isn't installed.
    private static func sqlite3(_ file: String, _ sql: String) async throws -> String {
        let process = try TillProcess.start(["-readonly", file, sql], executable: "/usr/bin/sqlite3")
        let (output, code) = await process.finish()
        #expect(code == 0, "\(process.complaints)")
        return output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test("A server that was killed leaves no lock behind, and its ledger is intact (O6)")
    func killed() async throws {
        try await ServerProcess.withFiles { files in
            let (process, port) = try await files.start()
            try await files.buy(port, as: "u1")
            process.send(SIGKILL)
            #expect(await process.end() == -SIGKILL)
            let (again, newPort) = try await files.start()
            #expect(try await files.send(newPort, .get, "/v1/users/u1/wallet")["balances"].at("points").int == 60)
            try await files.buy(newPort, as: "u2")
            again.send(SIGTERM)
            #expect(await again.end() == 0)
        }
    }

    @Test("A port in use is reported, with a remedy", arguments: ["en", "zh"])
    func portTaken(_ language: String) async throws {
        try await ServerProcess.withFiles { files in
            let taken = try Listener(bodyLimit: { _, _ in 0 }, handler: { _ in HTTPResponse(status: 200) })
            let process = try TillProcess.start([
                "serve", "--config", files.configurationFile, "--lang", language, "--listen",
                "127.0.0.1:\(taken.port)",
            ])
            let (output, code) = await process.finish()
            #expect(code == 1)
            #expect(output.isEmpty)
            let phrase = language == "en" ? "127.0.0.1:\(taken.port) is in use" : "127.0.0.1:\(taken.port) 已被其他程序占用"
            #expect(process.complaints.contains(phrase), "\(process.complaints)")
            await taken.stop(grace: 1)
            // The refused server left the ledger free.
            let (other, _) = try await files.start()
            other.send(SIGTERM)
            #expect(await other.end() == 0)
        }
    }

    /// The change to a good configuration, the message, and the exit code.
    static let spoilings: [(kind: String, english: String, chinese: String, code: Int32)] = [
        ("not JSON", "till.json", "till.json", 1),
        ("misspelt key", "Did you mean catalog?", "是否想写 catalog？", 1),
        ("no catalogue file", "there is no such file", "文件不存在", 1),
        ("unwritable ledger", "does not exist; create it first", "目录", 1),
        ("a ledger that is none", "is not a database", "不是", 1),
        ("no file", "there is no such file", "文件不存在", 1),
        ("unknown flag", "--config", "--config", 2),
    ]

    @Test("A malformed configuration stops the start with its fault and its place", arguments: spoilings, ["en", "zh"])
    func malformed(
        _ spoiling: (kind: String, english: String, chinese: String, code: Int32), _ language: String
    ) async throws {
        try await ServerProcess.withFiles { files in
            var arguments = ["serve", "--config", files.configurationFile, "--lang", language]
            var text = try String(contentsOfFile: files.configurationFile, encoding: .utf8)
            switch spoiling.kind {
            case "not JSON": text.removeLast(8)
            case "misspelt key": text = text.replacingOccurrences(of: "\"catalog\"", with: "\"catalogue\"")
            case "no catalogue file": text = text.replacingOccurrences(of: "catalog.json", with: "none.json")
            case "unwritable ledger": text = text.replacingOccurrences(of: "sqlite:till.db", with: "sqlite:no/till.db")
            case "a ledger that is none":
                try Data("this is a letter, not a ledger, and it is longer than a page header".utf8)
                    .write(to: URL(fileURLWithPath: files.ledgerFile))
            case "no file": arguments[2] = files.folder.path + "/nothing.json"
            default: arguments[1] = "--confg"
            }
            try Data(text.utf8).write(to: URL(fileURLWithPath: files.configurationFile))
            let process = try TillProcess.start(arguments)
            let (output, code) = await process.finish()
            #expect(code == spoiling.code)
            #expect(output.isEmpty)
            let expected = language == "en" ? spoiling.english : spoiling.chinese
            #expect(process.complaints.contains(expected), "\(process.complaints)")
            // A wrong call is answered before there is a log.
            #expect(process.complaints.hasPrefix(code == 2 ? "till: " : #"{"ts":""#))
        }
    }
}

/// The orders that were answered 201.
private final class Answered: @unchecked Sendable {
    private let lock = NSLock()
    private var found: [(client: Int, number: Int)] = []

    func add(client: Int, _ number: Int) {
        lock.lock()
        defer { lock.unlock() }
        found.append((client, number))
    }

    var all: [(client: Int, number: Int)] {
        lock.lock()
        defer { lock.unlock() }
        return found
    }
}
