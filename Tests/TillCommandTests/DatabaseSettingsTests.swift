import Foundation
import Testing
import TillBilling

@testable import till

@Suite("The setting of the database")
struct DatabaseSettingsTests {
    private static let secret = "hunter2-0123456789"

    private func load(
        _ database: String, in directory: TemporaryDirectory, environment: [String: String] = [:],
        flags: [ConfigurationKey: String] = [:]
    ) throws -> LedgerLocation {
        let file = try directory.write(
            "till.json",
            """
            {"database": \(database), "catalog": \(sampleCatalog),
             "apple": {"bundleId": "com.example", "environments": ["Sandbox"]}}
            """)
        return try Configuration.load(file: file, environment: environment, flags: flags).database
    }

    private func problems(_ database: String, language: Language = .english) throws -> [String] {
        do {
            _ = try load(database, in: try TemporaryDirectory())
            return []
        } catch let error as ConfigurationError {
            return error.failure.reasons.map { $0(language) }
        }
    }

    @Test("An object names the address, the files and the sizes; its paths start from the file's directory")
    func object() throws {
        let directory = try TemporaryDirectory()
        let password = try directory.write("database.password", Self.secret)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: password)
        let found = try load(
            """
            {"url": "postgres://till@db1:5432,[fd00::1]:5433/shop?sslmode=verify-full", "passwordFile":
             "database.password", "statePath": "state", "connections": 7, "readers": 3, "statementMilliseconds": 100,
             "lockMilliseconds": 10}
            """, in: directory)
        guard case .postgres(let location) = found else {
            Issue.record("\(found)")
            return
        }
        #expect(location.address.text == "postgres://till@db1:5432,[fd00::1]:5433/shop?sslmode=verify-full")
        #expect(location.address.hosts == ["db1", "[fd00::1]"] && location.address.user == "till")
        #expect(location.passwordFile == password && location.statePath == directory.path + "/state")
        #expect(location.connections == 7 && location.readers == 3)
        #expect(location.statementMilliseconds == 100 && location.lockMilliseconds == 10)
        #expect(found.name == "postgres://till@db1:5432,[fd00::1]:5433/shop" && found.role == "till")
        #expect(found.file == nil && found.stateBase == directory.path + "/state")
    }

    @Test("The variable and the flag give the address alone")
    func variable() throws {
        let directory = try TemporaryDirectory()
        let found = try load(
            "\"sqlite:a.db\"", in: directory, environment: ["TILL_DATABASE": "postgresql:///shop?host=%2Frun%2Fpg"])
        #expect(found.configured == "postgres:///shop" && found.role == nil)
        let flagged = try load("\"sqlite:a.db\"", in: directory, flags: [.database: "postgres://h/d"])
        #expect(flagged == .postgres(PostgresLocation(try PostgresAddress("postgres://h/d"))))
        #expect(try load("{\"url\": \"sqlite:b.db\"}", in: directory) == .sqlite(path: directory.path + "/b.db"))
    }

    @Test(
        "Each wrong address is reported with what to do, and never repeated",
        arguments: [
            ("postgres://u:\(secret)@h/d", "must not contain a password"),
            ("postgres://u:%68unter@h:1/d", "must not contain a password"),
            ("postgres://h/d?password=\(secret)", "must not contain a password"),
            ("postgres://h/d?sslpassword=\(secret)", "must not contain a password"),
            ("postgres://h", "names no database"), ("postgres://h/", "names no database"),
            ("postgres:///", "names no database"), ("postgres://h/d/e", "must be postgres://USER"),
            ("postgres://h:0/d", "has a port that is not"), ("postgres://h:99999/d", "has a port that is not"),
            ("postgres://[::1/d", "must be postgres://USER"), ("postgres://h/d d", "must be postgres://USER"),
            ("postgres://h/d?host=%ZZ", "must be postgres://USER"), ("postgres://h/d?x", "must be postgres://USER"),
            ("postgres://h/d#x", "must be postgres://USER"),
            ("postgres://h/d?sslmodee=require", "sslmodee, which can't be set here. Did you mean sslmode?"),
            ("postgres://h/d?options=-cfsync", "has the parameter options, which can't be set here"),
            ("postgres://h/d?sslmode=require&sslmode=require", "has the parameter sslmode twice"),
            ("postgres://h/d?sslmode=never", "the value of sslmode must be one of disable, allow, prefer"),
            ("postgres://h/d?target_session_attrs=standby", "the value of target_session_attrs must be one of any"),
            ("postgres://h/d?connect_timeout=soon", "the value of connect_timeout must be one of 0…"),
            ("postgres://h/d?passfile=here", "the value of passfile must be one of /PATH"),
            ("postgres://h/d?passfile=%2Fnowhere%2Fat-all", "/nowhere/at-all"),
        ])
    func wrong(_ address: String, _ sentence: String) throws {
        for language in [Language.english, .chinese] {
            let found = try problems("\"\(address)\"", language: language)
            #expect(found.count == 1)
            if language == .english { #expect(found.first?.contains(sentence) == true, "\(found)") }
            #expect(!found.joined().contains(Self.secret) && !found.joined().contains("%68unter"))
        }
    }

    @Test("A password file must exist, and others must not be able to read it")
    func passwordFile() throws {
        let missing = try problems(#"{"url": "postgres://h/d", "passwordFile": "none"}"#)
        #expect(missing.count == 1 && missing[0].contains("database.passwordFile"))
        let directory = try TemporaryDirectory()
        let path = try directory.write("open.password", Self.secret)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        #expect(throws: ConfigurationError.self) {
            try load(#"{"url": "postgres://h/d", "passwordFile": "open.password"}"#, in: directory)
        }
        let found = try problems("{\"url\": \"postgres://h/d\", \"passwordFile\": \"\(path)\"}")
        #expect(found.count == 1 && found[0].contains("run chmod 600"), "\(found)")
    }

    @Test(
        "Members of the object that mean nothing, or too much, are refused",
        arguments: [
            (#"{"passwordFile": "x"}"#, "database.url: is missing"),
            (#"{"url": "postgres://h/d", "conections": 1}"#, "Did you mean connections?"),
            (#"{"url": "postgres://h/d", "connections": 101}"#, "database.connections: must be 1 to 100, is 101"),
            (#"{"url": "postgres://h/d", "lockMilliseconds": 0}"#, "database.lockMilliseconds: must be above zero"),
            (#"{"url": "sqlite:a.db", "readers": 2}"#, "database.readers: belongs to a database on PostgreSQL only"),
            ("7", "database: must be text, found a number"),
        ])
    func object(_ database: String, _ sentence: String) throws {
        let found = try problems(database)
        #expect(found.count == 1 && found[0].contains(sentence), "\(found)")
    }

    @Test("A server warns about a connection to another machine that nothing verifies")
    func warns() throws {
        let directory = try TemporaryDirectory()
        func warnings(_ address: String) throws -> [String] {
            let file = try directory.write(
                "till.json",
                """
                {"database": "\(address)", "catalog": \(sampleCatalog),
                 "apple": {"bundleId": "com.example", "environments": ["Sandbox"]}}
                """)
            return try Configuration.load(file: file).startWarnings.map(\.en).filter { $0.hasPrefix("database:") }
        }
        #expect(try warnings("postgres://db1/shop").count == 1)
        #expect(try warnings("postgres://db1/shop?sslmode=require").count == 1)
        #expect(try warnings("postgres://localhost,db1/shop").count == 1)
        for quiet in [
            "postgres://db1/shop?sslmode=verify-full", "postgres://127.0.0.1/shop", "postgres:///shop",
            "postgres:///shop?host=%2Frun%2Fpostgresql", "postgres://%2Frun%2Fpostgresql/shop", "sqlite:a.db",
        ] {
            #expect(try warnings(quiet).isEmpty, "\(quiet)")
        }
    }
}
