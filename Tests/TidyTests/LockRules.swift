import Testing

/// One mutex for modules that never ship in apps, and one for those that do (docs/decisions/0059).
enum LockRules {
    /// The files that wrap the locks of the C library and of Foundation.
    static let houses: Set<String> = ["Sources/TillThreads/Locked.swift", "Sources/TillClient/Store/Guarded.swift"]

    private static let locks = [
        "NSLock", "NSRecursiveLock", "NSCondition", "NSConditionLock", "pthread_mutex_t", "pthread_mutex_init",
        "pthread_mutex_lock", "pthread_cond_t", "pthread_cond_wait", "pthread_rwlock_t", "pthread_spinlock_t",
        "os_unfair_lock", "OSAllocatedUnfairLock", "Mutex", "CRYPTO_THREAD_lock_new", "DispatchSemaphore",
    ].map(Needle.init)

    static func findings(in source: SwiftSource) -> [Finding] {
        guard source.isSource, !houses.contains(source.path) else { return [] }
        return Needle.places(of: locks, in: source.tokens).map { needle, index in
            Finding(
                source.path, source.tokens[index].line,
                "\(needle.text): threads take turns with TillThreads' Locked, in the client kit with Guarded")
        }
    }
}

/// The ledger's writes declare what they change (docs/decisions/0061).
enum WriteRules {
    private static let modules = [
        "Sources/TillLedger/", "Sources/TillServer/", "Sources/TillDashboard/", "Sources/till/",
    ]
    private static let undeclared = ["database.write {", "database.write({"].map(Needle.init)

    static func findings(in source: SwiftSource) -> [Finding] {
        guard modules.contains(where: source.path.hasPrefix) else { return [] }
        return Needle.places(of: undeclared, in: source.tokens).map { _, index in
            Finding(
                source.path, source.tokens[index].line,
                "a write of the ledger declares its keys: database.write(locking: […]) { … }")
        }
    }
}

@Suite("Locks")
struct LockTests {
    @Test("Every write of the ledger declares its keys")
    func writes() {
        expectNone(Checkout.current.sources.flatMap(WriteRules.findings(in:)))
        for text in ["try await server.database.write { $0 }", "try await ledger.database.write({ $0 })"] {
            #expect(!WriteRules.findings(in: SwiftSource(path: "Sources/TillServer/A.swift", text: text)).isEmpty)
        }
        let declared = "try await database.write(locking: [.order(id)]) { $0 }"
        #expect(WriteRules.findings(in: SwiftSource(path: "Sources/TillServer/A.swift", text: declared)).isEmpty)
    }

    @Test("Threads synchronize with one type, and with one other type in modules that ship in apps")
    func locks() {
        expectNone(Checkout.current.sources.flatMap(LockRules.findings(in:)))
    }

    @Test(
        "Another lock is found",
        arguments: [
            "private let lock = NSLock()", "let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)",
            "let state = Mutex(0)", "let state = Synchronization.Mutex<Int>(0)", "CRYPTO_THREAD_lock_new()",
            "pthread_cond_wait(condition, mutex)", "var lock = os_unfair_lock()",
        ])
    func findsSample(_ text: String) {
        for path in ["Sources/TillHTTP/A.swift", "Sources/TillClient/A.swift", "Sources/StoreKit/A.swift"] {
            #expect(LockRules.findings(in: SwiftSource(path: path, text: text)).isEmpty == false, "\(path): \(text)")
        }
    }

    @Test("The two types themselves, their users and texts about locks are accepted")
    func leavesOthers() {
        for path in LockRules.houses {
            #expect(LockRules.findings(in: SwiftSource(path: path, text: "let lock = NSLock()")).isEmpty)
        }
        let text = "let state = Locked(0)  // no NSLock\nlet name = \"pthread_mutex_t\"\nstate.withLock { $0 += 1 }"
        #expect(LockRules.findings(in: SwiftSource(path: "Sources/TillHTTP/A.swift", text: text)).isEmpty)
    }
}
