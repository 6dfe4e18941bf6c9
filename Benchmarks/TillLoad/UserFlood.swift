import Foundation
import TillThreads

/// Posts the purchases of a hundred users at a fixed rate, in turns without other load and beside one more user who
/// floods the server with requests, on one server. Then the same with the limit for a user switched off. Ends by
/// itself.
struct UserFlood {
    let set: LoadSet
    let till: String
    /// Purchases per second of all users together; each user stays below the limit.
    let rate: Int
    let seconds: Int
    let rounds: Int

    /// Requests of the flood in a second, on so many connections: two hundred times what one user may send.
    static let floodPerSecond = 2_000
    static let connections = 16
    /// The number of a user who buys nothing.
    private static let flooder = "flooder"

    private struct Rounds {
        var quiet: [Double] = []
        var loud: [Double] = []
        var failed = 0
        var sent = 0
        var refused = 0

        var ratios: [Double] { zip(loud, quiet).map { $0 / $1 } }
    }

    /// Reports the p99 of a purchase in milliseconds without load and under the flood, the second as a multiple of the
    /// first, its lowest and highest multiple of a round, and the multiple without the limit (medians of the rounds);
    /// the flood's requests, how many of them were refused, and purchases with an answer other than 200.
    func line() async throws -> String {
        let each = rate * seconds * 2 * rounds
        let available = try set.proofCount()
        guard 2 * each <= available else { throw LoadError("\(2 * each) proofs are needed, there are \(available)") }
        guard rate <= 9 * LoadSet.users else { throw LoadError("RATE: at most \(9 * LoadSet.users)") }
        let limited = try await measure(0..<each, environment: [:])
        let off = ["TILL_LIMITS_USER_PER_SECOND": "1000000", "TILL_LIMITS_USER_BURST": "1000000"]
        let unlimited = try await measure(each..<(2 * each), environment: off)
        return String(
            format: "%.2f %.2f %.2f %.2f %.2f %.2f %d %d %d", Self.median(limited.quiet), Self.median(limited.loud),
            Self.median(limited.ratios), limited.ratios.min() ?? 0, limited.ratios.max() ?? 0,
            Self.median(unlimited.ratios), limited.sent, limited.refused, limited.failed)
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }

    private func measure(_ numbers: Range<Int>, environment: [String: String]) async throws -> Rounds {
        let database = FileManager.default.temporaryDirectory.appendingPathComponent("till-user-\(getpid()).db").path
        defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database + end) } }
        let server = try ServerProcess(till: till, set: set, database: database, environment: environment)
        do {
            let url = try server.listening()
            guard let port = url.split(separator: ":").last.flatMap({ UInt16($0) }) else {
                throw LoadError("no port in \(url)")
            }
            try await OrderLoad(set: set, url: url).open(numbers)
            let rounds = try measure(numbers, port)
            try server.stop()
            return rounds
        } catch {
            server.kill()
            throw error
        }
    }

    private func measure(_ numbers: Range<Int>, _ port: UInt16) throws -> Rounds {
        var result = Rounds()
        var start = numbers.lowerBound
        for _ in 0..<rounds {
            for isLoud in [false, true] {
                let flood = isLoud ? UserFloodThreads(port: port, requests: floodRequests()) : nil
                flood?.start()
                let taken = PacedRequests(port: port, perSecond: rate).send(
                    try purchases(start..<(start + rate * seconds)))
                flood?.stop()
                start += rate * seconds
                if isLoud { result.loud.append(taken.tail) } else { result.quiet.append(taken.tail) }
                result.failed += taken.failed
                result.sent += flood?.sent ?? 0
                result.refused += flood?.refused ?? 0
            }
        }
        return result
    }

    /// Each purchase is posted by its own user.
    private func purchases(_ numbers: Range<Int>) throws -> [[UInt8]] {
        let tokens = (0..<LoadSet.users).map { LoadSet.token(of: LoadSet.user($0)) }
        return try zip(numbers, set.proofs(numbers)).map { number, proof in
            RawClient.request(
                "/v1/transactions", body: Array(#"{"signedTransaction":"\#(proof)"}"#.utf8),
                key: tokens[number % LoadSet.users])
        }
    }

    /// What costs the server most without a purchase: an order, which is written, and two proofs, which are verified.
    private func floodRequests() -> [[UInt8]] {
        let token = LoadSet.token(of: Self.flooder)
        let order = Array(#"{"productId":"\#(LoadSet.productID)"}"#.utf8)
        let proofs = (try? set.proofs(0..<2)) ?? []
        return [RawClient.request("/v1/orders", body: order, key: token)]
            + proofs.map { proof in
                let altered = proof.dropLast(6) + "AAAAAA"
                return RawClient.request(
                    "/v1/transactions", body: Array(#"{"signedTransaction":"\#(altered)"}"#.utf8), key: token)
            }
    }
}

/// The flood, on its own threads, until it is stopped.
private final class UserFloodThreads: Sendable {
    private let port: UInt16
    private let requests: [[UInt8]]
    private let state = Locked((isOver: false, running: 0, sent: 0, refused: 0))

    init(port: UInt16, requests: [[UInt8]]) {
        self.port = port
        self.requests = requests
    }

    var sent: Int { state.withLock { $0.sent } }
    var refused: Int { state.withLock { $0.refused } }

    func start() {
        state.withLock { $0.running = UserFlood.connections }
        for number in 0..<UserFlood.connections {
            Thread.detachNewThread { [self] in
                let client = RawClient(port: port)
                let clock = ContinuousClock()
                let pause = Duration.nanoseconds(1_000_000_000 * UserFlood.connections / UserFlood.floodPerSecond)
                var (due, turn) = (clock.now, number)
                while !state.withLock({ $0.isOver }) {
                    wait(until: due, clock)
                    let status = client.send(requests[turn % requests.count])
                    turn += 1
                    due = max(due + pause, clock.now)
                    state.withLock { state in
                        state.sent += 1
                        if status == 429 { state.refused += 1 }
                    }
                }
                state.withLock { $0.running -= 1 }
            }
        }
    }

    /// Waits until the threads have ended.
    func stop() {
        state.withLock { $0.isOver = true }
        while state.withLock({ $0.running }) > 0 { usleep(10_000) }
    }
}
