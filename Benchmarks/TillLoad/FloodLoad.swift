import Foundation
import TillThreads

/// Posts purchases at a fixed rate to a server of its own, once without other load and once under a flood of
/// unauthenticated requests: twelve connections that post bodies of 8 MiB, and 400 forged notifications a second. Then
/// measures the server's cost of a forged notification compared with a grant. Ends by itself.
struct FloodLoad {
    let set: LoadSet
    let till: String
    /// Purchases per second: about half of the server's capacity.
    let rate: Int
    let seconds: Int

    static let connections = 12
    static let bodyBytes = 8 << 20
    static let notificationsPerSecond = 400
    /// The number of threads that post notifications.
    private static let forgers = 8
    /// The number of requests of each kind whose cost is measured.
    private static let sample = 2_000

    /// Reports the milliseconds of a purchase (p50 and p99) without load and under the flood, the second as a multiple
    /// of the first; microseconds of processor time of a forged notification and of a grant; bytes written for each;
    /// bodies and notifications of the flood, and purchases with an answer other than 200.
    func line() async throws -> String {
        let count = 2 * rate * seconds + Self.sample
        let available = try set.proofCount()
        guard count <= available else { throw LoadError("\(count) proofs are needed, there are \(available)") }
        let database = FileManager.default.temporaryDirectory.appendingPathComponent("till-flood-\(getpid()).db").path
        defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database + end) } }
        let server = try ServerProcess(till: till, set: set, database: database)
        do {
            let url = try server.listening()
            guard let port = url.split(separator: ":").last.flatMap({ UInt16($0) }) else {
                throw LoadError("no port in \(url)")
            }
            try await OrderLoad(set: set, url: url).open(0..<count)
            let line = try measure(port, server.id)
            try server.stop()
            return line
        } catch {
            server.kill()
            throw error
        }
    }

    private func measure(_ port: UInt16, _ server: Int32) throws -> String {
        let purchases = rate * seconds
        let quiet = try buy(0..<purchases, port)
        let forged = try Forgeries(count: Self.sample)
        let flood = Flood(port: port, forged: forged)
        flood.start(connections: Self.connections, forgers: Self.forgers, perSecond: Self.notificationsPerSecond)
        let loud: PacedRequests.Latencies
        do {
            loud = try buy(purchases..<(2 * purchases), port)
        } catch {
            flood.stop()
            throw error
        }
        flood.stop()
        let first = 2 * purchases
        let grant = try cost(of: server) {
            try sendAll(requests(first..<(first + Self.sample)), to: port) { $0 == 200 }
        }
        let forgery = try cost(of: server) {
            try sendAll(forged.requests, to: port) { (400..<600).contains($0) }
        }
        return String(
            format: "%.2f %.2f %.2f %.2f %.2f %.0f %.0f %.0f %.0f %d %d %d", quiet.median, quiet.tail, loud.median,
            loud.tail, loud.tail / quiet.tail, forgery.microseconds, grant.microseconds, forgery.bytes, grant.bytes,
            flood.bodies, flood.notifications, quiet.failed + loud.failed)
    }

    private func requests(_ numbers: Range<Int>) throws -> [[UInt8]] {
        try set.proofs(numbers).map {
            RawClient.request(
                "/v1/transactions", body: Array(#"{"signedTransaction":"\#($0)"}"#.utf8), key: LoadSet.secretKey)
        }
    }

    // MARK: Purchases at a rate

    private func buy(_ numbers: Range<Int>, _ port: UInt16) throws -> PacedRequests.Latencies {
        PacedRequests(port: port, perSecond: rate).send(try requests(numbers))
    }

    // MARK: Cost at the server

    private struct Cost {
        let microseconds: Double
        let bytes: Double
    }

    private func cost(of server: Int32, _ work: () throws -> Void) throws -> Cost {
        let before = try ProcessFigures(of: server)
        try work()
        let after = try ProcessFigures(of: server)
        let count = Double(Self.sample)
        return Cost(
            microseconds: (after.processorSeconds - before.processorSeconds) * 1_000_000 / count,
            bytes: Double(after.bytesWritten - before.bytesWritten) / count)
    }
}

/// Notifications that match Apple's in form, but are signed under the forger's own roots: none of their chains was seen
/// before, and none leads to the server's root.
struct Forgeries {
    let requests: [[UInt8]]

    init(count: Int) throws {
        let forgers = try (0..<40).map { _ in try LoadIssuer() }
        requests = try (0..<count).map { number in
            let forger = forgers[number % forgers.count]
            let payload = try forger.notification(number, about: try forger.proof(number))
            return RawClient.request(
                "/v1/notifications/apple", body: Array(#"{"signedPayload":"\#(payload)"}"#.utf8))
        }
    }
}

/// The flood, on its own threads, until it is stopped.
private final class Flood: Sendable {
    private let port: UInt16
    private let forged: Forgeries
    private let state = Locked((isOver: false, running: 0, bodies: 0, notifications: 0))

    init(port: UInt16, forged: Forgeries) {
        self.port = port
        self.forged = forged
    }

    var bodies: Int { state.withLock { $0.bodies } }
    var notifications: Int { state.withLock { $0.notifications } }

    func start(connections: Int, forgers: Int, perSecond: Int) {
        let plus = [UInt8](repeating: UInt8(ascii: "+"), count: FloodLoad.bodyBytes - 100)
        let bodies = [
            RawClient.request("/postPay/ios", body: plus),
            RawClient.request("/verifyReceipt", body: plus),
            RawClient.request("/postPay/ios", body: Array("token=x&receipt-data=".utf8) + plus),
            RawClient.request("/verifyReceipt", body: Array(#"{"receipt-data":""#.utf8) + plus + Array(#""}"#.utf8)),
        ]
        for number in 0..<connections {
            // One body a second on each connection, or the next one as soon as the previous is answered.
            run(every: .seconds(1), offset: number) { client, turn in
                _ = client.send(bodies[(number + turn) % bodies.count])
                self.state.withLock { $0.bodies += 1 }
            }
        }
        for number in 0..<forgers {
            run(every: .nanoseconds(1_000_000_000 * forgers / perSecond), offset: number) { client, turn in
                _ = client.send(self.forged.requests[(number + turn * forgers) % self.forged.requests.count])
                self.state.withLock { $0.notifications += 1 }
            }
        }
    }

    /// Waits until the threads have ended.
    func stop() {
        state.withLock { $0.isOver = true }
        while state.withLock({ $0.running }) > 0 { usleep(10_000) }
    }

    private func run(every pause: Duration, offset: Int, _ turn: @escaping @Sendable (RawClient, Int) -> Void) {
        state.withLock { $0.running += 1 }
        Thread.detachNewThread { [self] in
            let client = RawClient(port: port)
            let clock = ContinuousClock()
            var due = clock.now + pause * offset / 12
            var number = 0
            while !state.withLock({ $0.isOver }) {
                wait(until: due, clock)
                turn(client, number)
                number += 1
                due = max(due + pause, clock.now)
            }
            state.withLock { $0.running -= 1 }
        }
    }
}
