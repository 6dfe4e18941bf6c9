import Foundation
import TillJSON
import TillThreads

/// Debits of one customer, sent to several servers on one database at once. Among them are repetitions, sent while the
/// first request may still be under way at another server, and purchases of the same customer.
struct HotAccount {
    let set: LoadSet
    /// Debits a second; 0 for as many as are answered.
    let rate: Int
    let debits: Int
    let ports: [UInt16]

    private static let user = LoadSet.user(0)
    private static let threadsEach = 16
    /// Of so many requests one repeats the debit before it, and one is a purchase.
    private static let period = 50

    fileprivate enum Request {
        case debit(Int)
        case purchase(Int)
    }

    fileprivate struct Answers {
        /// Answers with 201 by the debit's number.
        var new: [UInt8]
        /// Seconds from the start to each such answer, in the order of the answers.
        var times: [Double] = []
        var milliseconds: [Double] = []
        var granted = 0
        var failed = 0
    }

    func line() throws -> String {
        let run = String(UInt64(Date().timeIntervalSince1970 * 1_000), radix: 36)
        let client = RawClient(port: ports[0])
        let requests = Self.requests(debits)
        let proofs = try openOrders(requests, client)
        try check(client.send(post("bonuses", amount: debits, "hot-\(run)")), 201)
        let before = try balance(client)
        let answers = send(requests, proofs, run)
        let after = try balance(client)
        let difference = after - before + Int64(answers.times.count) - Int64(answers.granted) * LoadSet.pointsEach
        let latencies = answers.milliseconds.sorted()
        let times = answers.times
        guard let last = times.last, times.count >= 4 else { throw LoadError("no debit was answered") }
        let quarter = times.count / 4
        let growth = times[quarter - 1] / (last - times[times.count - quarter - 1])
        return String(
            format: "%.0f %.2f %.2f %.2f %d %d %d %lld", Double(times.count) / last, latencies[latencies.count / 2],
            latencies[latencies.count * 99 / 100], growth, times.count, answers.new.count { $0 > 1 }, answers.failed,
            difference)
    }

    private static func requests(_ debits: Int) -> [Request] {
        var requests: [Request] = []
        for number in 0..<debits {
            requests.append(.debit(number))
            if number % period == period / 2 { requests.append(.debit(number)) }
            if number % period == period - 1 { requests.append(.purchase(number / period)) }
        }
        return requests
    }

    /// Opens the orders of the purchases, all of this customer, and returns their proofs. An earlier run may have.
    private func openOrders(_ requests: [Request], _ client: RawClient) throws -> [Int: String] {
        var proofs: [Int: String] = [:]
        let all = try set.proofs(0..<set.proofCount())
        for case .purchase(let number) in requests where number < all.count {
            let (id, product) = (LoadSet.order(number), LoadSet.productID)
            let order = #"{"id":"\#(id)","userId":"\#(Self.user)","productId":"\#(product)"}"#
            let opened = client.send(RawClient.request("/v1/orders", body: Array(order.utf8), key: LoadSet.secretKey))
            if opened != 200 { try check(opened, 201) }
            proofs[number] = all[number]
        }
        return proofs
    }

    private func check(_ status: Int, _ wanted: Int) throws {
        guard status == wanted else { throw LoadError("the preparation was answered \(status)") }
    }

    private func post(_ kind: String, amount: Int, _ reference: String) -> [UInt8] {
        RawClient.request(
            "/v1/users/\(Self.user)/wallet/\(kind)",
            body: Array(#"{"currency":"points","amount":\#(amount),"reference":"\#(reference)"}"#.utf8),
            key: LoadSet.secretKey)
    }

    private func balance(_ client: RawClient) throws -> Int64 {
        try check(client.send(RawClient.get("/v1/users/\(Self.user)/wallet", key: LoadSet.secretKey)), 200)
        guard let points = try JSONValue(decoding: client.body)["balances"]?["points"]?.int else {
            throw LoadError("the wallet has no points")
        }
        return points
    }

    private func send(_ requests: [Request], _ proofs: [Int: String], _ run: String) -> Answers {
        let next = Locked(0)
        let state = Locked(Answers(new: [UInt8](repeating: 0, count: debits)))
        let clock = ContinuousClock()
        let start = clock.now
        onThreads(Self.threadsEach * ports.count) { thread in
            let client = RawClient(port: ports[thread % ports.count])
            while true {
                let place = next.withLock { next in
                    next += 1
                    return next - 1
                }
                guard place < requests.count else { return }
                var due = clock.now
                if rate > 0 {
                    due = start + .nanoseconds(place * 1_000_000_000 / rate * debits / requests.count)
                    wait(until: due, clock)
                }
                guard let bytes = bytes(of: requests[place], proofs, run) else { continue }
                let status = client.send(bytes)
                let now = clock.now
                state.withLock { state in
                    state.note(
                        requests[place], status, client.body, seconds: (now - start) / .seconds(1),
                        milliseconds: (now - due) / .milliseconds(1))
                }
            }
        }
        return state.withLock { $0 }
    }

    private func bytes(of request: Request, _ proofs: [Int: String], _ run: String) -> [UInt8]? {
        switch request {
        case .debit(let number): return post("debits", amount: 1, "hot-\(run)-\(number)")
        case .purchase(let number):
            return proofs[number].map { proof in
                RawClient.request(
                    "/v1/transactions", body: Array(#"{"signedTransaction":"\#(proof)"}"#.utf8), key: LoadSet.secretKey)
            }
        }
    }
}

extension HotAccount.Answers {
    fileprivate mutating func note(
        _ request: HotAccount.Request, _ status: Int, _ body: [UInt8], seconds: Double, milliseconds: Double
    ) {
        switch (request, status) {
        case (.debit(let number), 201):
            new[number] += 1
            times.append(seconds)
            self.milliseconds.append(milliseconds)
        case (.debit, 200): self.milliseconds.append(milliseconds)
        case (.purchase, 200):
            // An earlier run may have posted it.
            if (try? JSONValue(decoding: body))?["outcome"]?.string == "granted" { granted += 1 }
        default: failed += 1
        }
    }
}
