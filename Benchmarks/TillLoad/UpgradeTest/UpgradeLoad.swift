import Foundation
import TillThreads

/// Buyers at a steady rate, each on a thread of its own with plain sockets. They repeat no request: every request that
/// is not answered as it should counts as failed.
final class UpgradeLoad: Sendable {
    struct Tally: Sendable {
        /// Purchases whose grant was answered.
        var granted: [Int] = []
        var requests = 0
        /// Requests without the expected answer.
        var failures: [String] = []
        /// Seconds.
        var answerTimes: [Double] = []
        var next = 0
        var isOver = false
        var running = 0
    }

    /// Buyers that keep their connection, and buyers that open one for each request.
    private static let (keptAlive, fresh) = (8, 4)

    private let port: UInt16
    private let address: String
    private let issuer: LoadIssuer
    /// Seconds from one purchase of a buyer to its next.
    private let interval: Double
    private let tally: Locked<Tally>

    /// - Parameters:
    ///   - rate: purchases a second, of all buyers together; each is two requests.
    ///   - first: the number of the first purchase.
    init(port: UInt16, address: String = "127.0.0.1", issuer: LoadIssuer, rate: Int, first: Int = 0) {
        self.port = port
        self.address = address
        tally = Locked(Tally(next: first))
        self.issuer = issuer
        interval = Double(Self.keptAlive + Self.fresh) / Double(rate)
    }

    func start() throws {
        for buyer in 0..<(Self.keptAlive + Self.fresh) {
            tally.withLock { $0.running += 1 }
            guard SystemThread.detached({ [self] in run(buyer) }) else { throw LoadError("no thread") }
        }
    }

    /// Ends after the purchases in progress.
    func stop() async -> Tally {
        tally.withLock { $0.isOver = true }
        while tally.withLock({ $0.running }) > 0 { try? await Task.sleep(for: .milliseconds(10)) }
        return tally.withLock { $0 }
    }

    private func run(_ buyer: Int) {
        let isKeptAlive = buyer < Self.keptAlive
        var client = RawClient(port: port, address: address)
        var due = Date().timeIntervalSince1970 + interval * Double(buyer) / Double(Self.keptAlive + Self.fresh)
        while true {
            let pause = due - Date().timeIntervalSince1970
            if pause > 0 { usleep(UInt32(pause * 1_000_000)) }
            // A late purchase does not make the next ones faster.
            due = max(due, Date().timeIntervalSince1970 - interval) + interval
            let number = tally.withLock { tally -> Int? in
                guard !tally.isOver else { return nil }
                defer { tally.next += 1 }
                return tally.next
            }
            guard let number else { break }
            buy(number) { request in
                if !isKeptAlive { client = RawClient(port: port, address: address) }
                return send(request, over: client)
            }
        }
        tally.withLock { $0.running -= 1 }
    }

    private func buy(_ number: Int, _ send: ([UInt8]) -> (status: Int, body: [UInt8])) {
        guard let proof = try? issuer.proof(number) else { return fail("purchase \(number): no proof") }
        let (id, user, product) = (LoadSet.order(number), LoadSet.user(number), LoadSet.productID)
        let order = send(
            RawClient.request(
                "/v1/orders", body: Array(#"{"id":"\#(id)","userId":"\#(user)","productId":"\#(product)"}"#.utf8),
                key: LoadSet.secretKey))
        guard order.status == 201 else { return fail("purchase \(number): the order was answered \(order.status)") }
        let paid = send(
            RawClient.request(
                "/v1/transactions", body: Array(#"{"signedTransaction":"\#(proof)"}"#.utf8), key: LoadSet.secretKey))
        let answer = String(decoding: paid.body, as: UTF8.self)
        guard paid.status == 200, answer.contains(#""outcome":"granted""#) else {
            return fail("purchase \(number): the proof was answered \(paid.status) \(answer)")
        }
        tally.withLock { $0.granted.append(number) }
    }

    private func send(_ request: [UInt8], over client: RawClient) -> (status: Int, body: [UInt8]) {
        let began = ContinuousClock.now
        let status = client.send(request)
        let time = (ContinuousClock.now - began) / .seconds(1)
        tally.withLock { tally in
            tally.requests += 1
            tally.answerTimes.append(time)
        }
        return (status, client.body)
    }

    private func fail(_ what: String) { tally.withLock { $0.failures.append(what) } }
}
