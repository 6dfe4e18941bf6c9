/// The package: every target, and the modules that its files may import. The graph is written for the machine only
/// here; docs/decisions/0002 gives the reasons.
enum PackageLayout {
    struct ModuleRules: Sendable {
        /// Till's own modules, and the C libraries that this module owns.
        let imports: Set<String>
        /// Modules of the toolchain.
        let system: Set<String>
        /// Whether plain `import Foundation` is allowed. Elsewhere FoundationEssentials at most: Foundation makes a
        /// static binary four times as large.
        let mayImportFoundation: Bool
        /// Whether the rules on effects apply. Only the composition roots may reach the outside world by themselves.
        let effectsArePassedIn: Bool

        init(
            _ imports: Set<String>, system: Set<String> = serverSystem, mayImportFoundation: Bool = false,
            effectsArePassedIn: Bool = true
        ) {
            self.imports = imports
            self.system = system
            self.mayImportFoundation = mayImportFoundation
            self.effectsArePassedIn = effectsArePassedIn
        }
    }

    static let essentials: Set<String> = ["FoundationEssentials", "Foundation"]
    static let serverSystem: Set<String> = essentials.union(["Glibc", "Musl", "Darwin", "Synchronization"])

    static let modules: [String: ModuleRules] = [
        // Without Foundation: pure values and decisions.
        "TillBilling": ModuleRules([], system: []),
        "CTillOpenSSLSetup": ModuleRules([]),
        // A program's own build, and its own pages in memory.
        "CTillProgram": ModuleRules([]),
        "TillCrypto": ModuleRules(["TillThreads", "CTillOpenSSL", "CTillOpenSSLSetup"]),
        "TillHTTP": ModuleRules(["TillThreads", "CTillMicroHTTPD", "CTillCurl"]),
        // The strict reader and writer for bytes from outside.
        "TillJSON": ModuleRules([]),
        // The one mutex, and threads that may wait; not for modules that ship in apps.
        "TillThreads": ModuleRules([], system: ["Glibc", "Musl", "Darwin"]),
        "TillAppStore": ModuleRules(["TillThreads", "TillBilling", "TillJSON", "TillCrypto"]),
        // Deploys to iOS 15 with the client: no Synchronization, no C.
        "TillAPI": ModuleRules(["TillBilling"], system: essentials),
        // Turns text into markup, for every module that shows pages.
        "TillPages": ModuleRules(["TillBilling"], system: []),
        // A durable store and its statements, shared by both drivers.
        "TillSQL": ModuleRules([]),
        // Deflate, for what the ledger keeps for years.
        "TillCompression": ModuleRules(["CTillZlib"]),
        "TillLedger": ModuleRules([
            "TillThreads", "TillBilling", "TillJSON", "TillCrypto", "TillAppStore", "TillSQL", "TillCompression",
        ]),
        "TillSQLite": ModuleRules(["TillThreads", "TillSQL", "CTillSQLite"]),
        "TillPostgres": ModuleRules(["TillThreads", "TillSQL", "CTillPostgres"]),
        // Pages for operators. The server that mounts them authenticates the visitor, so they import no server.
        "TillDashboard": ModuleRules([
            "TillBilling", "TillCrypto", "TillAppStore", "TillJSON", "TillAPI", "TillPages", "TillSQL", "TillLedger",
            "TillHTTP",
        ]),
        "TillServer": ModuleRules([
            "TillThreads", "TillBilling", "TillCrypto", "TillAppStore", "TillJSON", "TillAPI", "TillPages", "TillSQL",
            "TillLedger", "TillHTTP", "TillDashboard",
        ]),
        // It has its own schema and does not know the ledger's.
        "TillEmulator": ModuleRules([
            "TillThreads", "TillBilling", "TillAppStore", "TillJSON", "TillCrypto", "TillHTTP", "TillPages", "TillSQL",
            "TillSQLite",
        ]),
        // Apple's API over the emulator's control API: NSObject subclasses need Foundation.
        "StoreKit": ModuleRules(
            ["TillThreads", "TillBilling", "TillAppStore", "TillJSON", "TillCrypto", "TillHTTP"],
            system: serverSystem.union(["FoundationNetworking"]), mayImportFoundation: true),
        // HTTP on Linux only, where Foundation's own is unsafe against a hostile server.
        "TillClient": ModuleRules(
            ["TillBilling", "TillAPI", "StoreKit", "TillHTTP"],
            system: essentials.union([
                "FoundationNetworking", "Glibc", "Musl", "Darwin", "Combine", "Dispatch", "Network", "UIKit", "AppKit",
            ]), mayImportFoundation: true),
        // The whole system on one thread; `EffectRules` names its effects on the outside world.
        "TillSimulation": ModuleRules(
            everyLibrary.union(["CTillSQLite", "CTillOpenSSL"]), mayImportFoundation: true),
        // Makes load and kills servers: a composition root beside `till`, and no part of the product.
        "till-load": ModuleRules(
            everyLibrary.union(["TillSimulation"]), mayImportFoundation: true, effectsArePassedIn: false),
        // Runs the programs as a user would start them, and audits the result: no part of the product either.
        "TillSoak": ModuleRules(
            everyLibrary.union(["TillTestDatabases"]), mayImportFoundation: true, effectsArePassedIn: false),
        // For tests and the soak: where their ledgers lie. It starts PostgreSQL itself.
        "TillTestDatabases": ModuleRules(
            ["TillThreads", "TillSQL", "TillSQLite", "TillPostgres", "TillLedger", "CTillPostgres"],
            mayImportFoundation: true, effectsArePassedIn: false),
        // Apps as their developers would write them: they import the client kit and share one terminal.
        "ExampleTerminal": ModuleRules(["TillClient"], mayImportFoundation: true, effectsArePassedIn: false),
        "LearnPoints": exampleApp,
        "CloudPlans": exampleApp,
        "Game": exampleApp,
        "till": ModuleRules(everyLibrary.union(["TillSimulation", "CTillProgram"]), effectsArePassedIn: false),
    ]

    /// C libraries: each belongs to the one module that wraps it (the simulation's fault-injecting disk beside
    /// SQLite's).
    static let cLibraries: Set<String> = [
        "CTillOpenSSL", "CTillMicroHTTPD", "CTillCurl", "CTillSQLite", "CTillPostgres", "CTillZlib",
    ]

    /// What apps build, with its tests: all that Xcode shows on a Mac.
    static let kit: Set<String> = [
        "TillBilling", "TillAPI", "TillClient", "TillBillingTests", "TillClientTests", "TillClientAppTests",
    ]

    private static let exampleApp = ModuleRules(
        ["TillClient", "ExampleTerminal"], mayImportFoundation: true, effectsArePassedIn: false)

    private static let everyLibrary: Set<String> = [
        "TillThreads", "TillBilling", "TillCrypto", "TillHTTP", "TillAppStore", "TillJSON", "TillAPI", "TillPages",
        "TillSQL", "TillLedger", "TillSQLite", "TillPostgres", "TillDashboard", "TillServer", "TillEmulator",
        "StoreKit", "TillClient",
    ]

    /// Modules that tests may import besides the targets that Package.swift declares for them.
    static let testSystem: Set<String> = serverSystem.union(["Testing", "FoundationNetworking", "UIKit"])
}
