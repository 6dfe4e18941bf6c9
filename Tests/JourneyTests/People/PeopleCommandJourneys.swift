import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillLedger
import TillSQL
import TillTestDatabases

@Suite("till export and till erase, as processes") struct PeopleCommandJourneys {
    private func run(
        _ arguments: [String], json: Bool = true
    ) async throws -> (output: String, code: Int32, complaints: String) {
        let process = try TillProcess.start(arguments + ["--lang", "en"] + (json ? ["--json"] : []))
        let (output, code) = await process.finish()
        return (output, code, process.complaints)
    }

    /// Files of a server that can erase customers.
    private func withFiles(_ body: (_ files: ServerProcess) async throws -> Void) async throws {
        try await ServerProcess.withFiles { files in
            try files.configure("erasure", ["keyFile": "erasure.key", "list": "backups/erasures.jsonl"])
            let folder = files.folder.appendingPathComponent("backups")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            func write(_ name: String, _ text: String) throws {
                let file = files.folder.appendingPathComponent(name)
                try Data(text.utf8).write(to: file)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            }
            try write("erasure.key", "an erasure key of at least thirty-two bytes\n")
            try write("backend.key", Shop.secretKey)
            try await body(files)
        }
    }

    /// Whether any byte of the ledger's files holds a text.
    private func holds(_ text: String, _ files: ServerProcess, _ name: String = "till.db") throws -> Bool {
        try ["", "-wal"].contains { ending in
            let file = files.folder.appendingPathComponent(name + ending)
            guard FileManager.default.fileExists(atPath: file.path) else { return false }
            return try Data(contentsOf: file).range(of: Data(text.utf8)) != nil
        }
    }

    private func list(_ files: ServerProcess) throws -> [String] {
        let file = files.folder.appendingPathComponent("backups/erasures.jsonl")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    /// Copies a ledger with its log.
    private func copy(_ name: String, to other: String, _ files: ServerProcess) throws {
        for ending in ["", "-wal"] {
            let source = files.folder.appendingPathComponent(name + ending)
            guard FileManager.default.fileExists(atPath: source.path) else { continue }
            try FileManager.default.copyItem(at: source, to: files.folder.appendingPathComponent(other + ending))
        }
    }

    private func restore(_ files: ServerProcess) throws {
        for ending in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(at: files.folder.appendingPathComponent("till.db" + ending))
        }
        try copy("backups/old.db", to: "till.db", files)
    }

    /// Exports a person beside the running server, which is read only.
    private func exports(_ person: [String], _ files: ServerProcess) async throws {
        let exported = try await run(["export"] + person)
        #expect(exported.code == 0, "\(exported)")
        let document = try JSONValue(decoding: exported.output)
        #expect(document.at("format").int == 1 && document.at("userId").text == "zaphod-beeblebrox")
        #expect(document.at("orders").list.count == 1 && document.at("transactions").list.count == 1)
        #expect(document.at("balances").list.first?.at("amount").int == 60)
        #expect(document.at("notIncluded").list.count == 4 && document.at("claims") == [])
        #expect(Set(CustomerExport.lists).isSubset(of: Set(document.object?.keys.map { $0 } ?? [])))
        #expect(!exported.output.contains("arthur"))
        let file = files.folder.appendingPathComponent("zaphod.json")
        let written = try await run(["export"] + person + ["--output", file.path])
        #expect(written.code == 0 && written.output.isEmpty, "\(written)")
        let copy = try JSONValue(decoding: Array(Data(contentsOf: file)))
        #expect(copy.at("orders") == document.at("orders"))
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try await run(["export"] + person + ["--output", file.path]).code == 1)
        let unknown = try await run(["export", "--config", files.configurationFile, "--user", "nobody"])
        #expect(unknown.code == 1 && unknown.output.isEmpty && unknown.complaints.contains("knows no such user"))
    }

    /// `till restore` erases again who is on the list, and makes no ledger without the key to find them.
    private func restoresErased(_ files: ServerProcess) async throws {
        let source = files.folder.appendingPathComponent("backups/old.db").path
        let target = files.folder.appendingPathComponent("restored.db").path
        let keyless = try await run(["restore", source, "--to", target])
        #expect(keyless.code == 1 && keyless.complaints.contains("give --config"), "\(keyless)")
        #expect(!FileManager.default.fileExists(atPath: target))
        let done = try await run(["restore", source, "--to", target, "--config", files.configurationFile])
        #expect(done.code == 0 && done.complaints.isEmpty, "\(done)")
        #expect(try JSONValue(decoding: done.output).at("erased") == 1)
        #expect(try !holds("zaphod", files, "restored.db") && holds("arthur-dent", files, "restored.db"))
    }

    @Test(
        "A person is exported, erased, and erased again in a restored backup (R6, R4)",
        .enabled(if: LedgerDatabase.isSQLite, "\(LedgerDatabase.sqliteOnly)"))
    func all() async throws {
        try await withFiles { files in
            let (server, port) = try await files.start()
            try await files.buy(port, as: "zaphod-beeblebrox")
            try await files.buy(port, as: "arthur-dent")
            let configured = ["--config", files.configurationFile]
            let person = configured + ["--user", "zaphod-beeblebrox"]

            try await exports(person, files)

            // The backup of the night.
            try copy("till.db", to: "backups/old.db", files)

            // Through the running server, and only with what it takes.
            let alone = try await run(["erase"] + person)
            #expect(alone.code == 1 && alone.complaints.contains("--key-file"), "\(alone)")
            let beside = [
                "--listen", "127.0.0.1:\(port)", "--key-file", files.folder.appendingPathComponent("backend.key").path,
            ]
            let unconfirmed = try await run(["erase"] + person + beside)
            #expect(unconfirmed.code == 1 && unconfirmed.complaints.contains("points 60"), "\(unconfirmed)")
            let erased = try await run(["erase"] + person + beside + ["--forfeit", "points=60"])
            #expect(erased.code == 0 && erased.complaints.isEmpty, "\(erased)")
            let pseudonym = try JSONValue(decoding: erased.output).at("pseudonym").text
            #expect(pseudonym.hasPrefix("erased:"))
            let lines = try list(files)
            #expect(lines.count == 1 && !lines[0].contains("zaphod"))
            server.send(SIGTERM)
            #expect(await server.end() == 0)
            #expect(try !holds("zaphod", files) && holds("arthur-dent", files))

            // Without a server, the command opens the ledger itself; a repetition is the same erasure.
            let again = try await run(["erase"] + person)
            #expect(again.code == 0 && again.output.contains(pseudonym), "\(again)")
            #expect(try list(files) == lines)

            // The machine burns: the backup of the night comes back, and the list with it.
            try restore(files)
            #expect(try holds("zaphod", files))
            let replay =
                ["erase"] + configured
                + ["--replay", files.folder.appendingPathComponent("backups/erasures.jsonl").path]
            let replayed = try await run(replay)
            #expect(replayed.code == 0 && replayed.complaints.isEmpty, "\(replayed)")
            #expect(
                try JSONValue(decoding: replayed.output) == [
                    "lines": 1, "erased": 1, "unchanged": 0, "unknown": 0, "unreadable": 0,
                ])
            #expect(try !holds("zaphod", files) && holds("arthur-dent", files))
            try await restoresErased(files)
            let nothing = try await run(replay)
            #expect(try JSONValue(decoding: nothing.output).at("unchanged").int == 1)
            let gone = try await run(["export"] + person)
            #expect(gone.code == 1 && gone.complaints.contains("knows no such user"))
            let doctor = try await run(["doctor"] + configured)
            let integrity = try JSONValue(decoding: doctor.output).at("checks").list.first {
                $0.at("name").text == "integrity"
            }
            #expect(integrity?.at("status").text == "ok", "\(doctor.output)")
        }
    }

    @Test("Wrong calls say what to do (CONTRACT §1)")
    func wrong() async throws {
        try await withFiles { files in
            let configured = ["--config", files.configurationFile]
            for (arguments, code, text) in [
                (["export"] + configured, Int32(2), "--user"), (["erase"] + configured, 2, "--user"),
                (["erase"] + configured + ["--user", "u", "--forfeit", "60"], 2, "points=60"),
                (["erase"] + configured + ["--replay", "nothing.jsonl"], 1, "there is no such file"),
                (["erase"] + configured + ["--usr", "u"], 2, "--user"),
            ] {
                let found = try await run(arguments)
                #expect(found.code == code && found.complaints.contains(text), "\(arguments): \(found)")
            }
            try files.configure("erasure", ["keyFile": "erasure.key"])
            let half = try await run(["erase"] + configured + ["--user", "u"])
            #expect(half.code == 1 && half.complaints.contains("erasure.list"), "\(half)")
            try files.configure("erasure", ["key": "short", "list": "erasures.jsonl"])
            let short = try await run(["erase"] + configured + ["--user", "u"])
            #expect(short.code == 1 && short.complaints.contains("at least 32 bytes"), "\(short)")
            #expect(!short.complaints.contains("short\""))
        }
    }
}
