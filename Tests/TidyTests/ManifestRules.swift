import Foundation
import Testing

/// The declarations of Package.swift, read as text: SwiftPM would wait for the lock that the running test holds.
struct Manifest {
    struct Target {
        let kind: String
        let line: Int
        let dependencies: Set<String>
        /// Those that it has on Linux only.
        let linuxDependencies: Set<String>
        let isLinuxOnly: Bool
    }

    let targets: [String: Target]
    /// Lines that name a package from outside.
    let outsidePackages: [Int]

    var dependencies: [String: Set<String>] { targets.mapValues(\.dependencies) }

    init?(_ checkout: Checkout) {
        guard let source = checkout.sources.first(where: { $0.path == "Package.swift" }) else { return nil }
        self.init(source)
    }

    init(_ source: SwiftSource) {
        var targets: [String: Target] = [:]
        var linux: [Bool] = []
        var outside: [Int] = []
        var skipUntil = 0
        for (index, line) in source.code.enumerated() {
            let trimmed = line.drop { $0 == " " }
            if trimmed.hasPrefix("#if") { linux.append(trimmed.hasPrefix("#if os(Linux)")) }
            if trimmed.hasPrefix("#else") || trimmed.hasPrefix("#elseif"), !linux.isEmpty {
                linux[linux.count - 1] = false
            }
            if trimmed.hasPrefix("#endif") { _ = linux.popLast() }
            if line.contains(".package(") || line.contains(".product(") { outside.append(index + 1) }
            guard index >= skipUntil, let kind = Self.kinds.first(where: { trimmed.contains(".\($0)(") }) else {
                continue
            }
            let (text, end) = Self.call(from: index, in: source)
            skipUntil = end + 1
            let strings = Self.strings(in: text)
            guard let name = strings.first else { continue }
            let listed =
                text.firstRange(of: "dependencies: [").map { Self.strings(in: Self.list(text[$0.upperBound...])) } ?? []
            // Dependencies for Linux only are added by name, because other hosts don't know them.
            let onLinux =
                text.contains("] + linuxOnly")
                ? ["StoreKit", "TillHTTP"] : text.contains("] + storeKit") ? ["StoreKit"] : []
            targets[name] = Target(
                kind: kind, line: index + 1, dependencies: Set(listed + onLinux), linuxDependencies: Set(onLinux),
                isLinuxOnly: linux.contains(true))
        }
        self.targets = targets
        outsidePackages = outside
    }

    private static let kinds = ["target", "executableTarget", "testTarget", "systemLibrary", "macro", "plugin"]

    /// The raw text from this line to the line where its parentheses close.
    private static func call(from start: Int, in source: SwiftSource) -> (text: Substring, end: Int) {
        var depth = 0
        for index in start..<source.code.count {
            for sign in source.code[index] where sign == "(" || sign == ")" { depth += sign == "(" ? 1 : -1 }
            if depth <= 0 { return (source.lines[start...index].joined(separator: "\n")[...], index) }
        }
        return (source.lines[start...].joined(separator: "\n")[...], source.code.count - 1)
    }

    /// The text up to the bracket that closes an open list.
    private static func list(_ text: Substring) -> Substring {
        var depth = 1
        return text.prefix { sign in
            if sign == "[" { depth += 1 } else if sign == "]" { depth -= 1 }
            return depth > 0
        }
    }

    private static func strings(in text: Substring) -> [String] {
        text.split(separator: "\"", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
            .map { String($0.element) }
    }
}

enum ManifestRules {
    static func findings(in manifest: Manifest, directories: [String]) -> [Finding] {
        func finding(_ line: Int, _ message: String) -> Finding { Finding("Package.swift", line, message) }
        var findings = manifest.outsidePackages.map { finding($0, "no outside packages: docs/decisions/0003") }
        for (name, target) in manifest.targets.sorted(by: { $0.key < $1.key }) {
            switch target.kind {
            case "systemLibrary":
                if !PackageLayout.cLibraries.contains(name) {
                    findings.append(finding(target.line, "\(name) is owned by no room"))
                }
            case "testTarget":
                continue
            case "target", "executableTarget":
                guard let moduleRules = PackageLayout.modules[name] else {
                    findings.append(finding(target.line, "\(name) is no room of the house"))
                    continue
                }
                for extra in target.dependencies.subtracting(moduleRules.imports).sorted() {
                    findings.append(finding(target.line, "\(name) may not depend on \(extra)"))
                }
                if name == "StoreKit", !target.isLinuxOnly {
                    findings.append(finding(target.line, "StoreKit is declared under #if os(Linux) only"))
                }
            default:
                findings.append(finding(target.line, "a \(target.kind) has no place in the house yet"))
            }
        }
        for directory in directories where manifest.targets[directory] == nil {
            findings.append(finding(0, "\(directory) is a directory of code that no target declares"))
        }
        return findings
    }

    /// What Xcode shows on a Mac: the kit and its tests, and nothing that would need a C library there.
    static func outsideLinux(_ manifest: Manifest) -> [Finding] {
        let everywhere = manifest.targets.filter { !$0.value.isLinuxOnly }
        return everywhere.sorted { $0.key < $1.key }.flatMap { name, target -> [Finding] in
            guard PackageLayout.kit.contains(name) else {
                return [Finding("Package.swift", target.line, "\(name) belongs under #if os(Linux)")]
            }
            return target.dependencies.subtracting(target.linuxDependencies).filter { everywhere[$0] == nil }.sorted()
                .map { Finding("Package.swift", target.line, "\(name) needs \($0), which only Linux has") }
        }
    }

    /// An import that Package.swift does not declare compiles only while another module brings it along.
    static func undeclared(in source: SwiftSource, _ manifest: Manifest) -> [Finding] {
        guard source.isSource, let target = source.target, let declared = manifest.targets[target] else { return [] }
        return Import.all(in: source)
            .filter { PackageLayout.modules[$0.module] != nil || PackageLayout.cLibraries.contains($0.module) }
            // On Apple's platforms StoreKit belongs to the system.
            .filter { !declared.dependencies.contains($0.module) && $0.module != "StoreKit" }
            .map { Finding(source.path, $0.line, "Package.swift does not declare \($0.module) for \(target)") }
    }
}

@Suite("Package.swift")
struct ManifestTests {
    @Test("The manifest declares every directory of code, and only dependencies that the package allows")
    func manifest() throws {
        let checkout = Checkout.current
        let manifest = try #require(Manifest(checkout))
        #expect(manifest.targets["TillServer"]?.dependencies.contains("TillLedger") == true)
        #expect(manifest.targets["TidyTests"]?.dependencies.isEmpty == true)
        let directories = checkout.targets(under: "Sources") + checkout.targets(under: "Tests")
        expectNone(ManifestRules.findings(in: manifest, directories: directories))
    }

    @Test("Every import between modules is declared, not brought along by another")
    func declares() throws {
        let manifest = try #require(Manifest(Checkout.current))
        expectNone(Checkout.current.sources.flatMap { ManifestRules.undeclared(in: $0, manifest) })
    }

    @Test("What a Mac sees is the kit and its tests, without a C library")
    func outsideLinux() throws {
        let manifest = try #require(Manifest(Checkout.current))
        expectNone(ManifestRules.outsideLinux(manifest))
        #expect(PackageLayout.kit.allSatisfy { manifest.targets[$0]?.isLinuxOnly == false })
    }

    @Test("SwiftPM itself, off Linux, sees exactly the kit's libraries and its tests")
    func dumpedOutsideLinux() throws {
        struct Dump: Decodable {
            struct Product: Decodable { let name: String }
            struct Target: Decodable { let name: String }
            let products: [Product]
            let targets: [Target]
        }
        let text = try #require(Checkout.current.text("Package.swift"))
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-manifest-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Any system on which the condition is false.
        try text.replacing("os(Linux)", with: "os(Windows)")
            .write(to: folder.appendingPathComponent("Package.swift"), atomically: true, encoding: .utf8)
        let (swift, output) = (Process(), Pipe())
        swift.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        swift.arguments = [
            "swift", "package", "--package-path", folder.path, "--manifest-cache", "none", "dump-package",
        ]
        swift.standardOutput = output
        try swift.run()
        let dump = output.fileHandleForReading.readDataToEndOfFile()
        swift.waitUntilExit()
        let seen = try JSONDecoder().decode(Dump.self, from: dump)
        #expect(seen.products.map(\.name).sorted() == ["TillAPI", "TillBilling", "TillClient"])
        #expect(Set(seen.targets.map(\.name)) == PackageLayout.kit)
    }

    @Test(
        "A target and a dependency that a Mac does not have are found",
        arguments: [
            #".target(name: "TillHTTP"),"#,
            #".target(name: "TillClient", dependencies: ["TillHTTP"]),"#,
            "#if os(Linux)\n.target(name: \"TillJSON\"),\n#endif\n"
                + ".testTarget(name: \"TillClientTests\", dependencies: [\"TillJSON\"] + storeKit),",
            "#if os(Linux)\n#else\n.target(name: \"TillJSON\"),\n#endif",
        ])
    func findsLinuxOnly(_ text: String) {
        let manifest = Manifest(SwiftSource(path: "Package.swift", text: text))
        #expect(ManifestRules.outsideLinux(manifest).count == 1)
    }

    @Test(
        "An extra dependency, an unknown module and an outside package are found",
        arguments: [
            #".target(name: "TillBilling", dependencies: ["TillCrypto"]),"#,
            ".target(\n  name: \"TillLedger\",\n  dependencies: [\n\"TillBilling\", \"TillHTTP\",\n]\n),",
            #".target(name: "TillKitchen"),"#,
            #".systemLibrary(name: "CTillPython", pkgConfig: "python3"),"#,
            #".target(name: "StoreKit", dependencies: ["TillHTTP"]),"#,
            "#if os(Linux)\n#else\n.target(name: \"StoreKit\", dependencies: [\"TillHTTP\"]),\n#endif",
            #".package(url: "https://example.org/a", from: "1.0.0"),"#,
            #".plugin(name: "Lint"),"#,
        ])
    func findsSample(_ text: String) {
        let manifest = Manifest(SwiftSource(path: "Package.swift", text: text))
        #expect(ManifestRules.findings(in: manifest, directories: []).count == 1)
    }

    @Test("Conditional dependencies are read, and a module under #if os(Linux) passes")
    func readsConditions() {
        let text = """
            #if os(Linux)
                .target(name: "StoreKit", dependencies: ["TillHTTP"]),
            #endif
            .target(name: "TillClient", dependencies: [
                "TillBilling", .target(name: "StoreKit", condition: .when(platforms: [.linux])), "TillAPI",
            ]),
            """
        let manifest = Manifest(SwiftSource(path: "Package.swift", text: text))
        #expect(manifest.targets["TillClient"]?.dependencies == ["TillBilling", "StoreKit", "TillAPI"])
        #expect(ManifestRules.findings(in: manifest, directories: []).isEmpty)
        #expect(ManifestRules.findings(in: manifest, directories: ["TillClient", "Attic"]).count == 1)
    }

    @Test("An import that only another module declares is found")
    func findsUndeclared() {
        let manifest = Manifest(SwiftSource(path: "Package.swift", text: #".target(name: "TillServer"),"#))
        let source = SwiftSource(path: "Sources/TillServer/A.swift", text: "import TillLedger\nimport StoreKit")
        #expect(ManifestRules.undeclared(in: source, manifest).map(\.line) == [1])
    }
}
