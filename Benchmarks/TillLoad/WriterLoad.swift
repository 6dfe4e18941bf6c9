import Foundation
import TillBilling
import TillCrypto
import TillHTTP
import TillLedger
import TillSQL
import TillSQLite
import TillServer
import TillThreads

/// What a grant costs the ledger's one writer: purchases that are verified beforehand, processed in this process.
struct WriterLoad {
    let set: LoadSet
    let grants: Int

    /// As many purchases wait for a commit as connections of `make bench` post them.
    private static let concurrent = 64

    /// Microseconds of the writer's processor time for a grant, grants in a commit, and microseconds of the whole
    /// process for a grant.
    func line() async throws -> String {
        let issuer = try LoadIssuer()
        try FileManager.default.createDirectory(at: set.directory, withIntermediateDirectories: true)
        let clock = WriterClock()
        var options = SQLiteDatabase.Options(.ledger)
        options.commitWatch = CommitWatch(began: { clock.began() }, ended: { bodies, _ in clock.ended(bodies) })
        let database = try SQLiteDatabase.open(path: set.ledger, role: .server, options: options)
        var configuration = CountedPurchase.configuration(root: issuer.root)
        configuration.limits.key = .init(perSecond: 1_000_000, burst: 1_000_000)
        let server = try Server(
            configuration: configuration, database: database, clock: CountedPurchase.now, entropy: RandomBytes.make)
        let router = server.router
        try await eachOf(grants) { number in
            let opened = await router.respond(to: CountedPurchase.openOrder(number, of: number))
            guard opened.status == 201 else { throw LoadError("the order was answered \(opened.status)") }
        }
        var purchases: [VerifiedPurchase] = []
        for number in 0..<grants { purchases.append(try await server.ledger.intake.verify(issuer.proof(number))) }
        let (verified, intake) = (purchases, server.ledger.intake)
        clock.reset()
        let before = try Self.processorTime(CLOCK_PROCESS_CPUTIME_ID)
        try await eachOf(grants) { number in
            let origin = PurchaseOrigin(source: .app, caller: .backend(keyID: "load", naming: nil))
            let outcome = try await intake.accept(verified[number], from: origin, savesFirst: true)
            guard case .processed(.granted) = outcome else { throw LoadError("a purchase was not granted") }
        }
        let all = try Self.processorTime(CLOCK_PROCESS_CPUTIME_ID) - before
        let figures = clock.figures
        await database.close()
        return String(
            format: "%.1f %.1f %.1f", figures.seconds / Double(grants) * 1e6,
            Double(figures.bodies) / Double(figures.commits), all / Double(grants) * 1e6)
    }

    private func eachOf(_ count: Int, _ work: @escaping @Sendable (Int) async throws -> Void) async throws {
        let next = Locked(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.concurrent {
                group.addTask {
                    while true {
                        let number = next.withLock { next in
                            next += 1
                            return next - 1
                        }
                        guard number < count else { return }
                        try await work(number)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    fileprivate static func processorTime(_ clock: clockid_t) throws -> Double {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { throw LoadError("no clock of processor time") }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Adds up the writer's own processor time, on the writer's thread.
private final class WriterClock: Sendable {
    struct Figures {
        var seconds = 0.0
        var commits = 0
        var bodies = 0
        var start = 0.0
    }

    private let state = Locked(Figures())

    var figures: Figures { state.withLock { $0 } }

    func reset() { state.withLock { $0 = Figures() } }

    func began() {
        let now = (try? WriterLoad.processorTime(CLOCK_THREAD_CPUTIME_ID)) ?? 0
        state.withLock { $0.start = now }
    }

    func ended(_ bodies: Int) {
        let now = (try? WriterLoad.processorTime(CLOCK_THREAD_CPUTIME_ID)) ?? 0
        state.withLock { figures in
            figures.seconds += now - figures.start
            figures.commits += 1
            figures.bodies += bodies
        }
    }
}
