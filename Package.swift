// swift-tools-version: 6.0
import PackageDescription

// Two parts: what apps build, on Apple's systems and on Linux, and everything else, which needs Linux and its C
// libraries. docs/ARCHITECTURE.md shows the modules and the imports each may use. Tests/TidyTests enforces them,
// because SwiftPM lets transitive imports compile.

// MARK: The client kit

// On Linux the kit runs over Till's own StoreKit. On Apple's systems that would shadow the real framework.
#if os(Linux)
    let storeKit: [Target.Dependency] = ["StoreKit"]
    let linuxOnly: [Target.Dependency] = storeKit + ["TillHTTP"]
#else
    let storeKit: [Target.Dependency] = []
    let linuxOnly: [Target.Dependency] = []
#endif

let package = Package(
    name: "Till",
    platforms: [.iOS(.v15), .macOS(.v12), .tvOS(.v15), .watchOS(.v8)],
    products: [
        .library(name: "TillBilling", targets: ["TillBilling"]),
        .library(name: "TillAPI", targets: ["TillAPI"]),
        .library(name: "TillClient", targets: ["TillClient"]),
    ],
    targets: [
        .target(name: "TillBilling"),
        .target(name: "TillAPI", dependencies: ["TillBilling"]),
        .target(name: "TillClient", dependencies: ["TillBilling", "TillAPI"] + linuxOnly),

        // They need no C library, so that Xcode runs them on a Mac.
        .testTarget(name: "TillBillingTests", dependencies: ["TillBilling"]),
        .testTarget(name: "TillClientTests", dependencies: ["TillClient", "TillAPI", "TillBilling"] + storeKit),
        // Compiles as an app does: nothing but `import TillClient`, outside of the package's access.
        .testTarget(
            name: "TillClientAppTests", dependencies: ["TillClient"], packageAccess: false,
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
        ),
    ],
    swiftLanguageModes: [.v6]
)

// MARK: Server, emulated App Store, StoreKit on Linux, examples, and their tests

#if os(Linux)
    package.products += [
        .executable(name: "till", targets: ["till"]),
        .executable(name: "learnpoints", targets: ["LearnPoints"]),
        .executable(name: "cloudplans", targets: ["CloudPlans"]),
        .executable(name: "game", targets: ["Game"]),
        // For apps' own tests on Linux: Apple's StoreKit API and the emulated store behind it.
        .library(name: "StoreKit", targets: ["StoreKit"]),
        .library(name: "TillEmulator", targets: ["TillEmulator"]),
    ]

    package.targets += [
        // Debian's C libraries, with a prefix in their names: two targets of the same name anywhere in an app's graph
        // collide.
        .systemLibrary(name: "CTillOpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CTillMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CTillCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CTillSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CTillZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CTillPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

        // Prepares OpenSSL before `main` runs, which only C code can do here.
        .target(name: "CTillOpenSSLSetup", linkerSettings: [.linkedLibrary("crypto")]),
        // What a program knows of itself. `till --version` names the build; scripts/package sets the variables
        // (docs/decisions/0079).
        .target(
            name: "CTillProgram",
            cSettings: ["TILL_BUILD_COMMIT", "TILL_BUILD_VERSION"].map {
                .define($0, to: "\"\(Context.environment[$0] ?? "")\"")
            }),

        // The modules, from the pure ones to the composition roots.
        .target(name: "TillJSON"),
        .target(name: "TillThreads"),
        .target(name: "TillCrypto", dependencies: ["TillThreads", "CTillOpenSSL", "CTillOpenSSLSetup"]),
        .target(name: "TillHTTP", dependencies: ["TillThreads", "CTillMicroHTTPD", "CTillCurl"]),
        .target(name: "TillAppStore", dependencies: ["TillThreads", "TillBilling", "TillJSON", "TillCrypto"]),
        .target(name: "TillPages", dependencies: ["TillBilling"]),
        .target(name: "TillSQL"),
        .target(name: "TillCompression", dependencies: ["CTillZlib"]),
        .target(
            name: "TillLedger",
            dependencies: [
                "TillThreads", "TillBilling", "TillJSON", "TillCrypto", "TillAppStore", "TillSQL", "TillCompression",
            ]
        ),
        .target(name: "TillSQLite", dependencies: ["TillThreads", "TillSQL", "CTillSQLite"]),
        .target(name: "TillPostgres", dependencies: ["TillThreads", "TillSQL", "CTillPostgres"]),
        .target(
            name: "TillDashboard",
            dependencies: [
                "TillBilling", "TillCrypto", "TillAppStore", "TillJSON", "TillAPI", "TillPages", "TillSQL",
                "TillLedger", "TillHTTP",
            ]
        ),
        .target(
            name: "TillServer",
            dependencies: [
                "TillThreads", "TillBilling", "TillCrypto", "TillAppStore", "TillJSON", "TillAPI", "TillPages",
                "TillSQL", "TillLedger", "TillHTTP", "TillDashboard",
            ]
        ),
        .target(
            name: "TillEmulator",
            dependencies: [
                "TillThreads", "TillBilling", "TillAppStore", "TillJSON", "TillCrypto", "TillHTTP", "TillPages",
                "TillSQL", "TillSQLite",
            ]
        ),
        // Outside of the package's access, so that an enum that Apple keeps open is open for the kit too.
        .target(
            name: "StoreKit",
            dependencies: ["TillThreads", "TillBilling", "TillAppStore", "TillJSON", "TillCrypto", "TillHTTP"],
            exclude: ["REMAINING.md"], packageAccess: false),
        // The whole system on one seeded thread.
        .target(
            name: "TillSimulation",
            dependencies: [
                "TillThreads", "TillBilling", "TillCrypto", "TillHTTP", "TillAppStore", "TillJSON", "TillAPI",
                "TillSQL", "TillLedger", "TillSQLite", "TillServer", "TillEmulator", "TillClient", "CTillSQLite",
                "CTillOpenSSL", "StoreKit",
            ]
        ),
        .executableTarget(
            name: "till",
            dependencies: [
                "TillThreads", "TillBilling", "TillCrypto", "TillHTTP", "TillAppStore", "TillJSON", "TillAPI",
                "TillSQL", "TillLedger", "TillSQLite", "TillPostgres", "TillServer", "TillEmulator", "TillClient",
                "TillSimulation", "StoreKit", "CTillProgram",
            ],
            exclude: ["Linking"]
        ),

        // Three small apps, written as an app developer would write them. Examples/SwiftUISample is not part of the
        // package.
        .target(name: "ExampleTerminal", dependencies: ["TillClient"], path: "Examples/Terminal"),
        .executableTarget(
            name: "LearnPoints", dependencies: ["TillClient", "ExampleTerminal"], path: "Examples/LearnPoints",
            exclude: ["README.md", "README.zh-CN.md"]
        ),
        .executableTarget(
            name: "CloudPlans", dependencies: ["TillClient", "ExampleTerminal"], path: "Examples/CloudPlans",
            exclude: ["README.md", "README.zh-CN.md"]
        ),
        .executableTarget(
            name: "Game", dependencies: ["TillClient", "ExampleTerminal"], path: "Examples/Game",
            exclude: ["README.md", "README.zh-CN.md"]
        ),

        // Load tests, benchmarks, and the test that kills a server and compares what it kept: `make bench`,
        // `make kill-test`.
        .executableTarget(
            name: "till-load",
            dependencies: [
                "TillThreads", "TillBilling", "TillCrypto", "TillHTTP", "TillAppStore", "TillJSON", "TillSQL",
                "TillLedger", "TillSQLite", "TillPostgres", "TillServer", "TillEmulator", "TillClient",
                "TillSimulation",
            ],
            path: "Benchmarks/TillLoad"
        ),

        // Runs the real programs under kills and faults, then audits the result: `make soak`.
        .executableTarget(
            name: "TillSoak",
            dependencies: [
                "TillThreads", "TillBilling", "TillCrypto", "TillHTTP", "TillAppStore", "TillJSON", "TillAPI",
                "TillLedger", "TillSQL", "TillTestDatabases",
            ],
            path: "Benchmarks/TillSoak"
        ),

        // For tests and the soak: ledgers on SQLite and on a throw-away cluster of PostgreSQL.
        .target(
            name: "TillTestDatabases",
            dependencies: ["TillThreads", "TillSQL", "TillSQLite", "TillPostgres", "TillLedger", "CTillPostgres"],
            path: "Tests/TillTestDatabases"
        ),

        .testTarget(name: "TidyTests"),
        .testTarget(name: "TillCryptoTests", dependencies: ["TillCrypto"]),
        .testTarget(name: "TillHTTPTests", dependencies: ["TillThreads", "TillHTTP"]),
        .testTarget(
            name: "TillAppStoreTests",
            dependencies: ["TillThreads", "TillAppStore", "TillJSON", "TillCrypto", "TillBilling", "CTillOpenSSL"]
        ),
        .testTarget(
            name: "TillLedgerTests",
            dependencies: [
                "TillThreads", "TillLedger", "TillSQL", "TillSQLite", "TillBilling", "TillAppStore", "TillJSON",
                "TillCrypto", "TillEmulator", "CTillSQLite", "TillPostgres", "TillTestDatabases", "TillCompression",
            ]
        ),
        .testTarget(name: "TillSQLiteTests", dependencies: ["TillSQLite", "TillSQL", "TillSimulation"]),
        .testTarget(
            name: "TillPostgresTests",
            dependencies: ["TillThreads", "TillPostgres", "TillSQL", "TillTestDatabases"]),
        .testTarget(
            name: "TillServerTests",
            dependencies: [
                "TillThreads", "TillServer", "TillDashboard", "TillSQL", "TillLedger", "TillSQLite", "TillHTTP",
                "TillAPI", "TillBilling", "TillCrypto", "TillAppStore", "TillJSON", "TillEmulator", "TillPages",
                "TillTestDatabases",
            ]
        ),
        // Servers on one PostgreSQL database, statement by statement.
        .testTarget(
            name: "InterleavingTests",
            dependencies: [
                "TillThreads", "TillServer", "TillLedger", "TillSQL", "TillPostgres", "TillHTTP", "TillBilling",
                "TillAppStore", "TillJSON", "TillCrypto", "TillEmulator", "TillTestDatabases",
            ]
        ),
        .testTarget(
            name: "TillEmulatorTests",
            dependencies: [
                "TillThreads", "TillEmulator", "TillAppStore", "TillJSON", "TillCrypto", "TillHTTP", "TillBilling",
                "TillPages", "TillSQLite", "TillSQL",
            ]
        ),
        // The kit's connections to StoreKit, over the emulated App Store.
        .testTarget(
            name: "TillClientEmulatorTests",
            dependencies: [
                "TillThreads", "TillClient", "TillBilling", "TillEmulator", "TillHTTP", "TillCrypto", "StoreKit",
            ]
        ),
        .testTarget(
            name: "StoreKitTests",
            dependencies: [
                "TillThreads", "StoreKit", "TillEmulator", "TillHTTP", "TillCrypto", "TillAppStore", "TillJSON",
                "TillBilling", "TillSQL", "TillSQLite",
            ]
        ),
        .testTarget(
            name: "TillCommandTests",
            dependencies: [
                "TillThreads", "till", "TillAppStore", "TillJSON", "TillCrypto", "TillBilling", "TillHTTP",
                "TillServer", "TillSQL", "TillLedger", "TillSQLite", "TillEmulator", "CTillSQLite", "CTillProgram",
                "TillAPI",
            ]
        ),
        .testTarget(
            name: "SoakTests",
            dependencies: ["TillSoak", "TillBilling", "TillJSON", "TillSQL", "TillLedger", "TillTestDatabases"]
        ),
        // Checks the fuzzers' properties on the seed inputs; `make fuzz` checks them on generated inputs.
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "TillBilling", "TillCrypto", "TillAppStore", "TillJSON", "TillAPI", "TillHTTP", "TillLedger",
                "TillServer",
            ],
            path: "Fuzz",
            exclude: [
                "README.md", "README.zh-CN.md", "Targets", "authority", "corpus", "dictionaries", "regressions",
            ]
        ),
        .testTarget(
            name: "JourneyTests",
            dependencies: [
                "TillThreads", "TillServer", "TillEmulator", "TillClient", "TillSQLite", "TillHTTP", "TillAPI",
                "TillBilling", "TillSQL", "TillLedger", "TillAppStore", "TillJSON", "TillCrypto", "TillSimulation",
                "till", "LearnPoints", "CloudPlans", "Game", "ExampleTerminal", "StoreKit", "TillTestDatabases",
            ]
        ),
    ]

    // Executables resolve all symbols at start and then make the symbol table read-only (full RELRO), so a memory error
    // cannot redirect a function pointer. Executables only: SwiftPM rejects unsafe flags in a package that an app
    // depends on, and apps depend on the libraries.
    for target in package.targets where target.type == .executable {
        let flags = ["-z", "relro", "-z", "now"].flatMap { ["-Xlinker", $0] }
        target.linkerSettings = [.unsafeFlags(flags)]
    }

    // The server has Swift's libraries in it, and LLVM's linker places the functions that run side by side: less CPU,
    // fewer pages (docs/decisions/0088). It moves sections, so each function gets its own in modules that no library
    // product needs. till-load measures the same code in its own process.
    for target in package.targets {
        switch target.name {
        case "TillCompression", "TillLedger", "TillPostgres", "TillDashboard", "TillServer", "TillSimulation", "till":
            let flags = ["-Xfrontend", "-function-sections"]
            target.swiftSettings = [.unsafeFlags(flags, .when(configuration: .release))]
        default: break
        }
        if ["till", "till-load"].contains(target.name) {
            let folder = Context.packageDirectory + "/Sources/till/Linking"
            let order = ["--symbol-ordering-file=\(folder)/functions.txt", "--no-warn-symbol-ordering"]
            let script = ["--script=\(folder)/helpers.ld"]
            // What Foundation's archives need, in Swift 6.3.
            let archives = [
                "-lCoreFoundation", "-l_CFURLSessionInterface", "-l_FoundationICU", "-l_FoundationCShims",
                "-l_FoundationCollections",
            ]
            let flags = ["-static-stdlib", "-use-ld=lld"] + archives + (order + script).flatMap { ["-Xlinker", $0] }
            target.linkerSettings?.append(.unsafeFlags(flags, .when(configuration: .release)))
        }
    }
#endif
