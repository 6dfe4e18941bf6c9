import Testing

enum EffectRules {
    /// A file that implements an effect, or a folder of threads that the simulation leaves out.
    struct Exception: Sendable {
        let path: String
        let effects: Set<Effect>
        let reason: String
    }

    static let exceptions: [Exception] = [
        Exception(
            path: "Sources/TillCrypto/RandomBytes.swift", effects: [.entropy],
            reason: "the entropy that composition roots pass in"),
        Exception(
            path: "Sources/TillThreads/Locked.swift", effects: [.clock],
            reason: "a condition variable's deadline is a time of the system's clock"),
        Exception(
            path: "Sources/TillThreads/SystemThread.swift", effects: [.thread],
            reason: "waiting for a disk or a socket on Swift's few threads would stop every other request"),
        Exception(
            path: "Sources/TillPostgres/MonotonicClock.swift", effects: [.clock],
            reason: "when a lost database is asked again"),
        Exception(
            path: "Sources/TillHTTP/DaemonSupervisor.swift", effects: [.clock],
            reason: "deadlines of real sockets, on a thread of its own"),
        Exception(
            path: "Sources/TillHTTP/Listener.swift", effects: [.clock],
            reason: "waits a moment for real connections to drain"),
        Exception(
            path: "Sources/TillHTTP/ListenerConfiguration.swift", effects: [.entropy],
            reason: "numbers the refusals of the border, before any handler is asked"),
        Exception(
            path: "Sources/TillHTTP/ListenerCore.swift", effects: [.task],
            reason: "one task for each request: libmicrohttpd's threads know nothing of tasks"),
        Exception(
            path: "Sources/TillHTTP/ListeningSocket.swift", effects: [.network],
            reason: "makes the socket that libmicrohttpd listens on"),
        Exception(
            path: "Sources/TillClient/Transport/URLSessionTransport.swift", effects: [.network, .clock],
            reason: "the HTTP send that an app passes in, with its time limit"),
        Exception(
            path: "Sources/TillClient/State/CacheFile.swift", effects: [.system],
            reason: "the files of the cached products and entitlements, passed in as values"),
        Exception(
            path: "Sources/TillClient/OrderJournal/PreferencesDisk.swift", effects: [.system],
            reason: "the identity of a guest on an Apple TV, passed in as a disk"),
        Exception(
            path: "Sources/TillClient/State/TillStoreModel.swift", effects: [.task],
            reason: "SwiftUI's model of the store, on the main actor of Apple's platforms"),
        Exception(
            path: "Sources/TillClient/StoreKit/SystemSheets.swift", effects: [.task],
            reason: "Apple's sheets, which are shown on the main actor"),
        Exception(
            path: "Sources/TillClient/Store/NetworkReturns.swift", effects: [.thread],
            reason: "the system's path monitor calls back on a queue; passed in as an effect"),
        Exception(
            path: "Sources/TillClient/Store/AppEffects.swift", effects: [.clock, .entropy, .task, .system],
            reason: "the client kit's composition for apps: real time, randomness, tasks and files"),
        Exception(
            path: "Sources/TillClient/Store/DeviceLanguage.swift", effects: [.system],
            reason: "which language the device speaks, a default that apps can set"),
        Exception(
            path: "Sources/StoreKit/Device/ProcessDevice.swift", effects: [.clock, .task, .system],
            reason: "the phone of a process: its environment, its real effects, and the one file on its disk"),
        Exception(
            path: "Sources/StoreKit/Original/SKError.swift", effects: [.system],
            reason: "an error is told in the language of the user's environment"),
        Exception(
            path: "Sources/TillSimulation/CrashableDisk/VFSRegistration.swift", effects: [.clock],
            reason: "SQLite's own wait for a lock, asked of its file system"),
        Exception(
            path: "Sources/TillSimulation/Scheduler/SimulatedProcess.swift", effects: [.task],
            reason: "the one place where a simulated program's work becomes a task"),
        Exception(
            path: "Sources/TillSimulation/Phone/PhoneHost.swift", effects: [.system],
            reason: "a phone's receipt is the one file that lies on a real disk"),
        Exception(
            path: "Sources/TillSimulation/Simulation.swift", effects: [.system],
            reason: "the folder of those files, made and removed"),
        Exception(
            path: "Sources/TillSimulation/SimulationWorker.swift", effects: [.system, .thread],
            reason: "the process around the worlds: its thread, its stdin, its folder"),
    ]

    static func findings(in source: SwiftSource, exceptions: [Exception] = exceptions) -> [Finding] {
        guard source.isSource, let target = source.target, PackageLayout.modules[target]?.effectsArePassedIn ?? true
        else {
            return []
        }
        let allowed = exceptions.first { $0.path == source.path }?.effects ?? []
        let found = Effect.all(in: source)
        var findings = found.filter { !allowed.contains($0.effect) }.map {
            Finding(source.path, $0.line, "\($0.text) reaches the world (\($0.effect)): pass it in")
        }
        for effect in allowed.subtracting(found.map(\.effect)) {
            findings.append(Finding(source.path, 0, "no longer needs its exception for \(effect)"))
        }
        return findings
    }

    /// Exceptions whose files no longer exist.
    static func gone(_ exceptions: [Exception], paths: [String]) -> [Finding] {
        exceptions.filter { !paths.contains($0.path) }.map {
            Finding($0.path, 0, "is gone: its exception from the rule on effects goes with it")
        }
    }
}

@Suite("Effects")
struct EffectTests {
    @Test("No module that the simulation runs reaches the outside world by itself")
    func effects() {
        expectNone(Checkout.current.sources.flatMap { EffectRules.findings(in: $0) })
    }

    @Test("Every exception has a reason, and its file exists and needs it")
    func exceptions() {
        let paths = EffectRules.exceptions.map(\.path)
        #expect(Set(paths).count == paths.count)
        #expect(EffectRules.exceptions.allSatisfy { $0.reason.split(separator: " ").count >= 4 && !$0.effects.isEmpty })
        expectNone(EffectRules.gone(EffectRules.exceptions, paths: Checkout.current.paths))
    }

    @Test(
        "Code that reaches the outside world is found",
        arguments: [
            "let a = Date()", "let a = Date.now", "let a = Foundation.Date()", "let a = UUID()",
            "let a = Int.random(in: 0..<3)",
            "let a = b.randomElement()", "let a = b.shuffled()", "b.shuffle()",
            "try await Task.sleep(for: .seconds(1))",
            "Task { await a() }", "Task<Void, Never> { await a() }", "Task(priority: .low) { }", "Task.detached { }",
            "let a = Task.init { }", "DispatchQueue.global().async { }", "Thread.sleep(forTimeInterval: 1)",
            "var a = SystemRandomNumberGenerator()", "let a = ProcessInfo.processInfo", "FileManager.default.remove(a)",
            "let a = \"\\(UUID())\"", "clock_gettime(CLOCK_REALTIME, &a)", "let a = URLSession(configuration: b)",
            "@MainActor func a() {}", "ContinuousClock().now", "exit(1)",
        ])
    func findsSample(_ text: String) {
        let source = SwiftSource(path: "Sources/TillServer/A.swift", text: text)
        #expect(!EffectRules.findings(in: source, exceptions: []).isEmpty)
    }

    @Test(
        "Code that only looks like an effect is accepted",
        arguments: [
            "let a = CivilDate()", "let a: Date", "let a = Date(timeIntervalSince1970: 0)",
            "group.addTask { await a() }",
            "let a = Int.random(in: 0..<3, using: &generator)", "b.shuffled(using: &generator)",
            "var a: Task<Void, Never>?",
            "// Date() is banned", "let a = \"Task { Date() }\"", "let a = UUID(uuidString: b)", "withTaskGroup { }",
            "func a() -> Task<Void, Never> {", "let a = b.random(\n    in: 0..<f(3),\n    using: &generator)",
            "let a = threadCount", "case exited",
        ])
    func leavesOthers(_ text: String) {
        let source = SwiftSource(path: "Sources/TillServer/A.swift", text: text)
        #expect(EffectRules.findings(in: source, exceptions: []).isEmpty)
    }

    @Test("An exception covers only its file and its effects, and is found when it is obsolete")
    func exceptionsAreNarrow() {
        let path = "Sources/TillHTTP/Listener.swift"
        let exceptions = [EffectRules.Exception(path: path, effects: [.task], reason: "one task per request")]
        func findings(_ path: String, _ text: String) -> Int {
            EffectRules.findings(in: SwiftSource(path: path, text: text), exceptions: exceptions).count
        }
        #expect(findings(path, "Task { }") == 0)
        #expect(findings(path, "Task { Date() }") == 1)
        #expect(findings("Sources/TillHTTP/Other.swift", "Task { }") == 1)
        #expect(findings(path, "let a = 1") == 1)
        #expect(EffectRules.gone(exceptions, paths: ["Sources/TillHTTP/Other.swift"]).count == 1)
        #expect(EffectRules.gone(exceptions, paths: [path]).isEmpty)
    }

    @Test("The command line and the tests may reach the outside world")
    func compositionRoots() {
        let text = "let a = Date()"
        #expect(EffectRules.findings(in: SwiftSource(path: "Sources/till/A.swift", text: text)).isEmpty)
        #expect(EffectRules.findings(in: SwiftSource(path: "Tests/JourneyTests/A.swift", text: text)).isEmpty)
        #expect(EffectRules.findings(in: SwiftSource(path: "Sources/TillNew/A.swift", text: text)).count == 1)
    }
}
