import Glibc
import Testing
import TillSQL
import TillSimulation

@testable import TillSQLite

/// Runs a shop on a `CrashableDisk`, cuts the power, starts again and compares the file with the answers.
final class ShopUnderPowerCuts {
    let disk: CrashableDisk
    private let options: SQLiteDatabase.Options
    private var random: SplitMix
    private var nextID: Int64 = 1

    private(set) var acknowledged: Set<Int64> = []
    /// Requests answered with a fault that excludes a commit, or with the body's own refusal.
    private var denied: Set<Int64> = []
    private var violations: [String] = []
    private(set) var faults: [DatabaseError.Kind: Int] = [:]
    private(set) var cuts: Set<CrashableDisk.PowerCut> = []

    static let migrations: [Migration] =
        Ledger.migrations + [
            ["CREATE TABLE wallet (id INTEGER PRIMARY KEY, points INTEGER NOT NULL) STRICT;"],
            ["INSERT INTO wallet (id, points) VALUES (1, 0);"],
        ]

    init(seed: UInt64, _ change: (inout SQLiteDatabase.Options) -> Void = { _ in }) {
        disk = CrashableDisk(seed: seed)
        random = SplitMix(state: seed &* 77)
        let disk = disk
        options = Ledger.options {
            $0.schema.migrations = Self.migrations
            $0.threads = .inline
            $0.vfs = disk.vfs
            change(&$0)
        }
    }

    /// One life: open, serve until the power fails, start again, check. Returns every violation found so far.
    /// - Parameter conditions: how the disk behaves in this life, except during the check.
    func live(
        operations: Int, _ conditions: (inout CrashableDisk.Conditions) -> Void = { _ in }
    ) async -> [String] {
        // The inline database never suspends: without this, one of the tests' shared threads would be held for long.
        await Task.yield()
        conditions(&disk.conditions)
        disk.cutPower(afterOperations: random.below(operations))
        if let database = try? open() {
            while disk.hasPower { serveOneBatch(database) }
            await database.close()
        }
        if let cut = disk.lastCut { cuts.insert(cut) }
        disk.conditions = CrashableDisk.Conditions()
        disk.restart()
        await check()
        return violations
    }

    private func open() throws(DatabaseError) -> SQLiteDatabase {
        try SQLiteDatabase.open(path: "ledger.db", role: .server, options: options)
    }

    private func serveOneBatch(_ database: SQLiteDatabase) {
        let ids = (0..<1 + random.below(6)).map { _ in
            defer { nextID += 1 }
            return nextID
        }
        let bodies = ids.map { id in
            let proof = [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: random.below(6_000))
            let isRefused = random.below(5) == 0
            return { @Sendable (connection: any Connection) throws -> Void in
                try Ledger.grant(id, points: id, proof: proof, in: connection)
                try connection.execute("UPDATE wallet SET points = points + ? WHERE id = 1", [.integer(id)])
                if isRefused { throw Refused(reason: "\(id)") }
            }
        }
        for (id, result) in zip(ids, database.together(bodies)) {
            switch result {
            case .success: acknowledged.insert(id)
            case .failure(let error as DatabaseError):
                faults[error.kind, default: 0] += 1
                if !error.mayHaveCommitted { denied.insert(id) }
            case .failure: denied.insert(id)
            }
        }
    }

    private func check() async {
        do {
            let database = try open()
            let contents = try await database.read { try Contents(in: $0) }
            await database.close()
            violations += contents.violations
            let lost = acknowledged.subtracting(contents.granted)
            if !lost.isEmpty { violations.append("acknowledged and lost: \(lost.sorted())") }
            let undead = denied.intersection(contents.granted)
            if !undead.isEmpty { violations.append("refused and there: \(undead.sorted())") }
            // Outcomes in doubt are known now, and must stay so.
            acknowledged.formUnion(contents.granted)
        } catch {
            violations.append("cannot be opened or read: \(error)")
        }
    }

    /// Every byte of a proof is its order's number. It is compared with itself one byte further on, because a loop over
    /// the bytes takes most of a debug build's time.
    private static func isWhole(_ proof: [UInt8], of id: Int64) -> Bool {
        guard let first = proof.first else { return true }
        guard first == UInt8(truncatingIfNeeded: id) else { return false }
        return proof.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return true }
            return memcmp(start, start + 1, bytes.count - 1) == 0
        }
    }

    /// Everything in the file, and its contradictions.
    private struct Contents: Sendable {
        let granted: Set<Int64>
        private(set) var violations: [String] = []

        init(in connection: any Connection) throws {
            granted = Set(try Ledger.granted(in: connection))
            let orders = try connection.query("SELECT id, proof FROM orders", []) {
                ($0.integer("id"), $0.blob("proof"))
            }
            if Set(orders.map(\.0)) != granted { violations.append("half a write") }
            for (id, proof) in orders where !ShopUnderPowerCuts.isWhole(proof, of: id) {
                violations.append("the proof of \(id) is damaged")
            }
            let points = try connection.first("SELECT points FROM wallet", []) { $0.integer("points") } ?? -1
            if points != granted.reduce(0, +) { violations.append("points \(points) of \(granted.reduce(0, +))") }
            let verdict = try connection.query("PRAGMA integrity_check", []) { $0.text("integrity_check") }
            if verdict != ["ok"] { violations.append("integrity: \(verdict.prefix(3))") }
            let orphans = try connection.query("PRAGMA foreign_key_check", []) { $0.text("foreign_key_check") }
            if !orphans.isEmpty { violations.append("foreign keys: \(orphans)") }
        }
    }
}

extension SQLiteDatabase {
    /// Runs bodies in one commit, as the writer's thread does with queued bodies.
    func together<Value: Sendable>(
        _ bodies: [@Sendable (any Connection) throws -> Value]
    ) -> [Result<Value, any Error>] {
        let answers = Answers<Value>()
        writeTogether(
            bodies.enumerated().map { index, body in Body(body) { answers.results[index] = $0 } })
        return (0..<bodies.count).map { index in
            answers.results[index] ?? .failure(Refused(reason: "never answered"))
        }
    }

    /// Unchecked because the inline database runs everything on the caller's thread.
    private final class Answers<Value>: @unchecked Sendable {
        var results: [Int: Result<Value, any Error>] = [:]
    }
}

struct SplitMix {
    var state: UInt64

    mutating func below(_ limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return Int((value ^ value >> 31) % UInt64(limit))
    }
}

@Suite("Power cuts on the real driver")
struct PowerCutTests {
    @Test("In 240 seeds with four power cuts each, nothing acknowledged is lost and nothing refused is present")
    func powerCuts() async {
        var cuts: Set<CrashableDisk.PowerCut> = []
        var acknowledged = 0
        for seed in UInt64(0)..<240 {
            let shop = ShopUnderPowerCuts(seed: seed)
            for _ in 0..<4 {
                let violations = await shop.live(operations: 500)
                #expect(violations.isEmpty, "seed \(seed): \(violations)")
            }
            cuts.formUnion(shop.cuts)
            acknowledged += shop.acknowledged.count
        }
        // The cuts must have come at the critical places: in commits, in checkpoints, at the creation of the file.
        #expect(acknowledged > 10_000)
        for cut in [
            CrashableDisk.PowerCut(operation: .write, file: "ledger.db-wal"),
            .init(operation: .sync, file: "ledger.db-wal"),
            .init(operation: .write, file: "ledger.db"), .init(operation: .sync, file: "ledger.db"),
            .init(operation: .create, file: "ledger.db-wal"),
        ] {
            #expect(cuts.contains(cut), "no cut in \(cut)")
        }
    }

    @Test("The same in 200 seeds on a disk that also fails now and then, half of them without powersafe overwrite")
    func powerCutsAndFaults() async {
        var faults: [DatabaseError.Kind: Int] = [:]
        var acknowledged = 0
        for seed in UInt64(1_000)..<1_200 {
            let shop = ShopUnderPowerCuts(seed: seed)
            for _ in 0..<4 {
                let violations = await shop.live(operations: 500) {
                    $0.hasPowersafeOverwrite = seed % 2 == 0
                    $0.failureRates = [.read: 0.005, .write: 0.01, .sync: 0.05, .truncate: 0.05, .delete: 0.05]
                    $0.capacity = seed % 4 < 2 ? 400_000 : nil
                }
                #expect(violations.isEmpty, "seed \(seed): \(violations)")
            }
            faults.merge(shop.faults, uniquingKeysWith: +)
            acknowledged += shop.acknowledged.count
        }
        #expect(acknowledged > 3_000)
        #expect(faults[.inputOutput, default: 0] > 100)
        #expect(faults[.full, default: 0] > 100)
    }

    @Test("A seed repeats the same answers, the same cuts and the same lost bytes")
    func seedsRepeat() async {
        var runs: [[Set<Int64>]] = []
        var operations: [Int] = []
        for _ in 0..<2 {
            let shop = ShopUnderPowerCuts(seed: 42)
            var acknowledged: [Set<Int64>] = []
            for _ in 0..<5 {
                #expect(await shop.live(operations: 500).isEmpty)
                acknowledged.append(shop.acknowledged)
            }
            runs.append(acknowledged)
            operations.append(shop.disk.operations)
        }
        #expect(runs[0] == runs[1])
        #expect(runs[0].last?.isEmpty == false)
        #expect(operations[0] == operations[1])
    }

    @Test("The same test finds the losses of a planted synchronous=OFF")
    func plantedSynchronousOff() async {
        #expect(
            await violations {
                $0.synchronous = "OFF"
            } conditions: { _ in
            } > 0)
    }

    @Test("The same test finds the losses of a disk that ignores syncs")
    func plantedLyingSync() async {
        #expect(
            await violations { _ in
            } conditions: {
                $0.syncsLie = true
            } > 0)
    }

    private func violations(
        _ change: (inout SQLiteDatabase.Options) -> Void,
        conditions: (inout CrashableDisk.Conditions) -> Void
    ) async -> Int {
        var found = 0
        for seed in UInt64(0)..<20 {
            let shop = ShopUnderPowerCuts(seed: seed, change)
            if !(await shop.live(operations: 500, conditions)).isEmpty { found += 1 }
        }
        return found
    }
}
