import Testing
import TillBilling

@testable import till

@Suite("The flags that name a configuration")
struct ConfigurationFlagTests {
    /// Represents any command that needs a configuration: prints what it read.
    private static let command = Command(
        "show", summary: LocalizedText(en: "show", zh: "显示"), flags: Configuration.flags
    ) { call in
        let configuration = try Configuration.load(for: call)
        call.console.print("\(configuration.listen) \(configuration.database)")
        return .done
    }

    private func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) async -> (code: ExitCode, out: String, error: String) {
        let recorder = Recorder()
        let program = Program(commands: [Self.command], process: recorder.process(environment: environment))
        let code = await program.run(["show"] + arguments)
        return (code, recorder.out, recorder.error)
    }

    @Test("--listen and --database override the file; a path in a flag is relative to the working directory")
    func overrides() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            "till.json",
            """
            {"database": "sqlite:a.db", "catalog": \(sampleCatalog),
             "apple": {"bundleId": "com.example", "environments": ["Sandbox"]}}
            """)
        let plain = await run(["--config", file])
        #expect(plain.out == "127.0.0.1:8787 sqlite(path: \"\(directory.path)/a.db\")\n")
        let overridden = await run(["--config", file, "--listen", "[::1]:1", "--database", "sqlite:b.db"])
        #expect(overridden.out == "[::1]:1 sqlite(path: \"b.db\")\n")
        let wrong = await run(["--config", file, "--listen", "nowhere", "--database=postgres://h"])
        #expect(wrong.code == .refused && wrong.out.isEmpty)
        #expect(wrong.error.contains("till: --listen: must be ADDRESS:PORT"))
        #expect(wrong.error.contains("till: --database: names no database"))
    }

    @Test("without a file and variables the usage is wrong; with one variable the missing ones are listed")
    func nothingGiven() async {
        let nothing = await run([])
        #expect(nothing.code == .wrongUsage && nothing.error.contains("--config is missing"))
        let one = await run([], environment: ["TILL_LISTEN": "127.0.0.1:1"])
        #expect(one.code == .refused && one.error.contains("till: TILL_DATABASE: is missing"))
    }
}
