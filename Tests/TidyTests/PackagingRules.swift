import Foundation
import Testing

/// The files of the Debian package, and the page that its operators follow. `make package-test` runs both in an empty
/// Debian root; this is what can be seen without one.
enum PackagingRules {
    static let units = "Packaging/systemd/"
    static let examples = "Examples/Production/"
    static let pages = ["docs/production.md", "docs/production.zh-CN.md"]

    /// What a service may not lose unnoticed.
    static let hardening = [
        "NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes",
        "PrivateDevices=yes", "MemoryDenyWriteExecute=yes", "RestrictNamespaces=yes",
        "SystemCallFilter=@system-service", "User=till",
    ]

    static func findings(inService text: String, path: String) -> [Finding] {
        let lines = Set(text.components(separatedBy: "\n"))
        return hardening.filter { !lines.contains($0) }.map { Finding(path, 0, "the line \($0) is missing") }
    }

    /// Runs a program in a directory.
    static func run(
        _ program: String, _ arguments: [String], in directory: URL
    ) throws -> (status: Int32, text: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.currentDirectoryURL = directory
        let output = Pipe()
        (process.standardOutput, process.standardError) = (output, output)
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: bytes, as: UTF8.self))
    }

    static func withFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-packaging-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder)
    }
}

@Suite("The package and its page")
struct PackagingTests {
    private let checkout = Checkout.current

    private func files(in folder: String) -> [(path: String, text: String)] {
        checkout.paths.filter { $0.hasPrefix(folder) }.compactMap { path in checkout.text(path).map { (path, $0) } }
    }

    @Test("The page shows each file that the package installs, letter by letter, in both languages")
    func shownFiles() throws {
        let examples = files(in: PackagingRules.examples)
        #expect(examples.count >= 4)
        for path in PackagingRules.pages {
            let page = try #require(checkout.text(path))
            expectNone(ScalingPageRules.missing(examples, in: page, path: path))
        }
    }

    @Test("Both languages of the page have the same commands and the same headings")
    func languages() throws {
        let pages = try PackagingRules.pages.map { try #require(checkout.text($0)) }
        #expect(ScalingPageRules.codeBlocks(of: pages[0]) == ScalingPageRules.codeBlocks(of: pages[1]))
        #expect(DocumentRules.Shape(pages[0]) == DocumentRules.Shape(pages[1]))
    }

    @Test("Every service is hardened, and the servers tell systemd that they are ready and alive")
    func hardened() throws {
        let services = files(in: PackagingRules.units).filter { $0.path.hasSuffix(".service") }
        #expect(services.count == 3)
        for service in services { expectNone(PackagingRules.findings(inService: service.text, path: service.path)) }
        for name in ["till.service", "till@.service"] {
            let text = try #require(checkout.text(PackagingRules.units + name))
            for line in ["Type=notify", "NotifyAccess=all", "WatchdogSec=30", "KillMode=mixed"] {
                #expect(text.contains("\n\(line)\n"), "\(name): \(line)")
            }
        }
        #expect(PackagingRules.findings(inService: "User=root\n", path: "a").count == PackagingRules.hardening.count)
    }

    @Test(
        "systemd reads every unit without a complaint",
        .enabled(if: FileManager.default.fileExists(atPath: "/usr/bin/systemd-analyze"), "systemd-analyze is missing"))
    func units() throws {
        try PackagingRules.withFolder { folder in
            var names: [String] = []
            for unit in files(in: PackagingRules.units) {
                let name = String(unit.path.dropFirst(PackagingRules.units.count))
                // The program is not installed here.
                let text = unit.text.replacingOccurrences(of: "=/usr/bin/till", with: "=/bin/true")
                try text.write(to: folder.appendingPathComponent(name), atomically: false, encoding: .utf8)
                if !name.contains("@") { names.append("./" + name) }
            }
            #expect(names.count == 4)
            let known = try PackagingRules.run("/usr/bin/systemd-analyze", ["verify"] + names.sorted(), in: folder)
            #expect(known.status == 0 && known.text.isEmpty, "\(known.text)")
            let bad = folder.appendingPathComponent("bad.service")
            let misspelt = "[Service]\nExecStart=/bin/true\nProtectSytem=strict\n"
            try misspelt.write(to: bad, atomically: false, encoding: .utf8)
            let found = try PackagingRules.run("/usr/bin/systemd-analyze", ["verify", "./bad.service"], in: folder)
            #expect(found.text.contains("ProtectSytem"), "a misspelt setting is not found")
        }
    }
}

@Suite("The release script")
struct ReleaseScriptTests {
    /// A repository with the parts that the script reads, and a packaging that only says so.
    private struct Repository {
        let folder: URL

        init(_ folder: URL, program: String, script: String) throws {
            self.folder = folder
            try write("scripts/release", script)
            try write("scripts/package", "#!/bin/sh\necho packaged\n")
            for name in ["release", "package"] {
                let path = folder.appendingPathComponent("scripts/\(name)").path
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
            }
            try write(Self.program, program)
            for log in ["CHANGELOG.md", "CHANGELOG.zh-CN.md"] { try write(log, "# C\n\n## [Unreleased]\n") }
            try git("init", "--quiet")
            try commit()
        }

        static let program = "Sources/till/CommandLine/Program.swift"

        func write(_ path: String, _ text: String) throws {
            let file = folder.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: file, atomically: false, encoding: .utf8)
        }

        @discardableResult func git(_ arguments: String...) throws -> String {
            let person = ["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
            return try PackagingRules.run("/usr/bin/env", ["git"] + person + arguments, in: folder).text
        }

        func commit() throws {
            try git("config", "user.name", "T")
            try git("config", "user.email", "t@example.com")
            try git("add", "--all")
            try git("commit", "--quiet", "--message", "c")
        }

        func release(_ arguments: String...) throws -> (status: Int32, text: String) {
            try PackagingRules.run(folder.appendingPathComponent("scripts/release").path, arguments, in: folder)
        }

        func addSection(_ version: String, to logs: [String] = ["CHANGELOG.md", "CHANGELOG.zh-CN.md"]) throws {
            let section = "## [\(version)] - 2026-01-02\n\n- A line.\n"
            for log in logs {
                try write(log, "# C\n\n## [Unreleased]\n\n\(section)\n## [0.0.1] - 2025-01-02\n\n- Older.\n")
            }
        }
    }

    private func withRepository(_ body: (Repository) throws -> Void) throws {
        let program = try #require(Checkout.current.text(Repository.program))
        let script = try #require(Checkout.current.text("scripts/release"))
        try PackagingRules.withFolder { try body(try Repository($0, program: program, script: script)) }
    }

    @Test("A release needs a version, clean files, both changelogs and a new tag; each refusal changes nothing")
    func refusals() throws {
        try withRepository { repository in
            let before = try repository.git("rev-parse", "HEAD")
            func refuses(_ version: String, _ words: String) throws {
                let result = try repository.release(version)
                #expect(result.status == 1 && result.text.contains(words), "\(version): \(result.text)")
            }
            #expect(try repository.release().status == 2)
            try refuses("1.2", "is no version")
            try refuses("1.2.3-x", "is no version")
            try refuses("0.0.9", "is older than")
            try refuses("9.9.9", "CHANGELOG.md: the newest section is 'none'")
            try repository.addSection("9.9.9", to: ["CHANGELOG.md"])
            try refuses("9.9.9", "not committed")
            try repository.git("stash", "--quiet")
            #expect(try repository.git("rev-parse", "HEAD") == before && repository.git("tag").isEmpty)
            try repository.addSection("9.9.9", to: ["CHANGELOG.md"])
            try repository.commit()
            try refuses("9.9.9", "CHANGELOG.zh-CN.md: the newest section is 'none'")
            try repository.addSection("9.9.9")
            try repository.commit()
            try repository.git("tag", "v9.9.9")
            try refuses("9.9.9", "the tag v9.9.9 exists")
        }
    }

    @Test("A dry run says what it would do; the release sets the version in one place, tags and packages")
    func release() throws {
        try withRepository { repository in
            try repository.addSection("9.9.9")
            try repository.commit()
            let before = try repository.git("rev-parse", "HEAD")
            let dry = try repository.release("9.9.9", "--dry-run")
            #expect(dry.status == 0 && dry.text.contains("would set the tag v9.9.9"), "\(dry.text)")
            #expect(try repository.git("rev-parse", "HEAD") == before && repository.git("tag").isEmpty)
            let real = try repository.release("9.9.9")
            #expect(real.status == 0 && real.text.contains("packaged"), "\(real.text)")
            let program = repository.folder.appendingPathComponent(Repository.program)
            #expect(try String(contentsOf: program, encoding: .utf8).contains("static let version = \"9.9.9\"\n"))
            #expect(try repository.git("tag") == "v9.9.9\n")
            #expect(try repository.git("status", "--porcelain").isEmpty)
            #expect(try repository.git("diff", "--name-only", "HEAD~1") == Repository.program + "\n")
        }
    }
}
