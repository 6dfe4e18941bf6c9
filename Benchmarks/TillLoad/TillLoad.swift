import Foundation
import TillAppStore
import TillBilling
import TillHTTP

/// Makes load for a server and measures. See `make bench` and `make kill-test`, which call it.
@main
struct TillLoad {
    private static let usage = """
        usage: till-load make DIR COUNT         a configuration, a root, and COUNT paid orders with their proofs
               till-load open DIR URL           open all orders at a running server
               till-load verify DIR SECONDS     proofs verified a second by one thread, chain cached; prints a number
               till-load kill DIR TILL ROUNDS   kill the server TILL with signal 9 under load, ROUNDS times
        """

    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("till-load: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        switch (arguments.first, arguments.count) {
        case ("make", 3):
            guard let count = Int(arguments[2]), count > 0 else { throw LoadFault("COUNT: a positive number") }
            try LoadSet(arguments[1]).make(count: count)
        case ("open", 3): try await open(LoadSet(arguments[1]), url: arguments[2])
        case ("verify", 3): print(try verify(LoadSet(arguments[1]), seconds: Double(arguments[2]) ?? 3))
        case ("kill", 4): try await kill(LoadSet(arguments[1]), till: arguments[2], rounds: Int(arguments[3]) ?? 100)
        default: throw LoadFault("\n" + usage)
        }
    }

    private static func open(_ set: LoadSet, url: String) async throws {
        let count = try set.proofs().count
        let fetch = try Fetch()
        let api = ServerAPI(url: url, send: fetch.send)
        let failed = await withTaskGroup(of: Bool.self) { group in
            var next = 0
            var failed = 0
            func start() {
                let number = next
                next += 1
                group.addTask { await api.openOrder(number) == .done(status: 201, outcome: "") }
            }
            while next < min(64, count) { start() }
            while let isOpen = await group.next() {
                if !isOpen { failed += 1 }
                if next < count { start() }
            }
            return failed
        }
        fetch.stop()
        guard failed == 0 else { throw LoadFault("\(failed) of \(count) orders could not be opened") }
    }

    /// One thread, one verifier, every proof another transaction, the signer's chain seen before.
    private static func verify(_ set: LoadSet, seconds: Double) throws -> Int {
        let proofs = try set.proofs().prefix(20_000).map { Array($0.utf8) }
        var policy = TrustPolicy(bundleID: LoadSet.bundleID, environments: [.sandbox]) {
            Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        }
        policy.roots = [try set.root]
        let verifier = try SignedDataVerifier(policy: policy)
        _ = try verifier.transaction(proofs[0])
        let clock = ContinuousClock()
        let start = clock.now
        var verified = 0
        while clock.now - start < .seconds(seconds) {
            for proof in proofs.prefix(500) where try verifier.transaction(proof).quantity == 1 { verified += 1 }
        }
        let elapsed = (clock.now - start) / .seconds(1)
        return Int(Double(verified) / elapsed)
    }

    private static func kill(_ set: LoadSet, till: String, rounds: Int) async throws {
        let result = try await KillTest(set: set, till: till, rounds: rounds).run { round, result in
            print(
                "round \(round): \(result.answered) answered, \(result.inDoubt) in doubt, \(result.lost) lost,",
                "\(result.grantedTwice) granted twice, \(result.faults.count) faults")
        }
        print(
            "\(rounds) kills, \(result.answered) answered grants, \(result.inDoubt) in doubt:",
            "\(result.lost) lost, \(result.grantedTwice) granted twice")
        for fault in result.faults.prefix(20) { print(fault) }
        guard result.isGood else { exit(1) }
    }
}
