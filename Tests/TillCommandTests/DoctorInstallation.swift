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
struct Installation {
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
    func of(_ name: DoctorCheck.Name) -> [DoctorCheck] { filter { $0.name == name } }
}

/// Expects a finding whose sentences contain these parts in both languages, with something to do.
func expect(
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
