import Testing

/// One import statement, with the conditions around it.
struct Import: Hashable {
    struct Condition: Hashable {
        /// The condition after `#if` or `#elseif`; for an `#else`, that of its `#if`.
        let text: String
        let isElse: Bool
    }

    let module: String
    let line: Int
    let isReexport: Bool
    let conditions: [Condition]

    func stands(under text: String, isElse: Bool) -> Bool {
        conditions.contains(Condition(text: text, isElse: isElse))
    }

    static func all(in source: SwiftSource) -> [Import] {
        var conditions: [Condition] = []
        var imports: [Import] = []
        for (index, line) in source.code.enumerated() {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
            switch words.first {
            case "#if":
                conditions.append(Condition(text: words.dropFirst().joined(separator: " "), isElse: false))
            case "#elseif":
                if !conditions.isEmpty { conditions.removeLast() }
                conditions.append(Condition(text: words.dropFirst().joined(separator: " "), isElse: false))
            case "#else":
                if let opened = conditions.popLast() { conditions.append(Condition(text: opened.text, isElse: true)) }
            case "#endif":
                _ = conditions.popLast()
            default:
                guard let module = module(in: words) else { continue }
                let isReexport = words.contains("@_exported") || words.first == "public"
                imports.append(Import(module: module, line: index + 1, isReexport: isReexport, conditions: conditions))
            }
        }
        return imports
    }

    /// `@testable import struct Module.Type` → `Module`.
    private static func module(in words: [String]) -> String? {
        let access = ["public", "package", "internal", "fileprivate", "private"]
        let lead = words.prefix { $0.hasPrefix("@") || access.contains($0) }
        var rest = words.dropFirst(lead.count)
        guard rest.popFirst() == "import" else { return nil }
        let kinds = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias", "actor"]
        if let kind = rest.first, kinds.contains(kind) { rest.removeFirst() }
        return rest.first?.split(whereSeparator: { $0 == "." || $0 == ";" }).first.map(String.init)
    }
}

enum ImportRules {
    static func findings(in source: SwiftSource) -> [Finding] {
        guard source.isSource, let target = source.target else { return [] }
        guard let moduleRules = PackageLayout.modules[target] else {
            return [
                Finding(source.path, 0, "\(target) is no room of the house: add it to House.swift with its imports")
            ]
        }
        return Import.all(in: source).compactMap { statement in
            complaint(about: statement, in: target, moduleRules).map { Finding(source.path, statement.line, $0) }
        }
    }

    private static func complaint(about statement: Import, in target: String, _ moduleRules: PackageLayout.ModuleRules)
        -> String?
    {
        let module = statement.module
        // Apple's StoreKit re-exports Foundation; apps that import only StoreKit rely on it.
        if statement.isReexport, target == "StoreKit", module == "Foundation" { return nil }
        if statement.isReexport { return "re-exports \(module): every file says itself what it imports" }
        guard moduleRules.imports.contains(module) || moduleRules.system.contains(module) else {
            return "\(target) may not import \(module)"
        }
        let essentials = "canImport(FoundationEssentials)"
        switch module {
        case "Foundation" where !moduleRules.mayImportFoundation && !statement.stands(under: essentials, isElse: true):
            return "\(target) imports Foundation only as the #else of #if \(essentials)"
        case "FoundationEssentials" where !statement.stands(under: essentials, isElse: false):
            return "FoundationEssentials is not everywhere: import it under #if \(essentials)"
        case "FoundationNetworking" where !statement.stands(under: "canImport(FoundationNetworking)", isElse: false):
            return "FoundationNetworking is not everywhere: import it under #if canImport(FoundationNetworking)"
        default: return nil
        }
    }

    /// A test imports what Package.swift declares for it; TidyTests, which checks everything, depends on nothing.
    static func findings(inTest source: SwiftSource, declared: [String: Set<String>]) -> [Finding] {
        guard source.isTest, let target = source.target else { return [] }
        guard let dependencies = declared[target] else {
            return [Finding(source.path, 0, "\(target) is not declared in Package.swift")]
        }
        let system = target == "TidyTests" ? ["Testing", "Foundation"] : PackageLayout.testSystem
        return Import.all(in: source).filter { !dependencies.union(system).contains($0.module) }.map {
            Finding(source.path, $0.line, "\(target) imports \($0.module), which Package.swift does not declare for it")
        }
    }
}

@Suite("Imports")
struct ImportTests {
    @Test("Every module imports only what the package allows it")
    func modules() {
        expectNone(Checkout.current.sources.flatMap(ImportRules.findings(in:)))
    }

    @Test("Every test imports only what Package.swift declares for it")
    func tests() throws {
        let manifest = try #require(Manifest(Checkout.current))
        expectNone(
            Checkout.current.sources.flatMap { ImportRules.findings(inTest: $0, declared: manifest.dependencies) })
    }

    @Test(
        "An import that the package does not allow is found",
        arguments: [
            ("TillBilling", "import TillCrypto"),
            ("TillBilling", "import Foundation"),
            ("TillBilling", "#if canImport(FoundationEssentials)\nimport FoundationEssentials\n#endif"),
            ("TillBilling", "import Glibc"),
            ("TillCrypto", "import TillBilling"),
            ("TillCrypto", "import CTillSQLite"),
            ("TillLedger", "import CTillSQLite"),
            ("TillLedger", "import TillHTTP"),
            ("TillHTTP", "import CTillOpenSSL"),
            ("TillDashboard", "import TillServer"),
            ("TillServer", "import TillSQLite"),
            ("TillServer", "import TillEmulator"),
            ("TillServer", "import TillClient"),
            ("TillServer", "import Foundation"),
            ("TillServer", "import FoundationEssentials"),
            ("TillServer", "#if canImport(FoundationEssentials)\nimport Foundation\n#endif"),
            ("TillServer", "#if os(Linux)\nimport FoundationEssentials\n#else\nimport Foundation\n#endif"),
            ("TillServer", "import struct Foundation.Date"),
            ("TillServer", "@preconcurrency import Dispatch"),
            ("TillClient", "import TillServer"),
            ("TillClient", "import Synchronization"),
            ("TillClient", "import FoundationNetworking"),
            ("TillAPI", "import Glibc"),
            ("StoreKit", "import TillServer"),
            ("TillEmulator", "import StoreKit"),
            ("TillSQLite", "@_exported import TillLedger"),
            ("TillSQLite", "public import TillLedger"),
            ("till", "import CTillOpenSSL"),
            ("till", "import Foundation"),
            ("TillKitchen", "let a = 1"),
        ])
    func findsForbidden(_ target: String, _ text: String) {
        let source = SwiftSource(path: "Sources/\(target)/Sample.swift", text: text)
        #expect(!ImportRules.findings(in: source).isEmpty)
    }

    @Test(
        "An import that the package allows is accepted",
        arguments: [
            ("TillBilling", "// import Foundation\nlet a = \"import Foundation\""),
            ("TillCrypto", "import CTillOpenSSL"),
            (
                "TillServer",
                "#if canImport(FoundationEssentials)\nimport FoundationEssentials\n#else\n    import Foundation\n#endif"
            ),
            (
                "TillServer",
                "#if canImport(Glibc)\n    import Glibc\n#elseif canImport(Darwin)\n    import Darwin\n#endif"
            ),
            (
                "TillClient",
                "import Foundation\n#if canImport(FoundationNetworking)\nimport FoundationNetworking\n#endif"
            ),
            ("TillClient", "import StoreKit"),
            ("TillSimulation", "import CTillSQLite\nimport StoreKit"),
            ("till", "import TillSimulation"),
        ])
    func leavesAllowed(_ target: String, _ text: String) {
        let source = SwiftSource(path: "Sources/\(target)/Sample.swift", text: text)
        #expect(ImportRules.findings(in: source).isEmpty)
    }

    @Test("A test's undeclared import is found, and TidyTests may not depend on the package")
    func findsInTests() {
        let declared: [String: Set<String>] = ["TillHTTPTests": ["TillHTTP"], "TidyTests": ["TillHTTP"]]
        func findings(_ path: String, _ text: String) -> [Finding] {
            ImportRules.findings(inTest: SwiftSource(path: path, text: text), declared: declared)
        }
        #expect(findings("Tests/TillHTTPTests/A.swift", "import Testing\n@testable import TillHTTP").isEmpty)
        #expect(findings("Tests/TillHTTPTests/A.swift", "import TillServer").count == 1)
        #expect(findings("Tests/TidyTests/A.swift", "import XCTest").count == 1)
        #expect(findings("Tests/LostTests/A.swift", "import Testing").count == 1)
    }
}
