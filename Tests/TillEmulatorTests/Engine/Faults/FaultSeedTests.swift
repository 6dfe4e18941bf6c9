import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillThreads

@testable import TillEmulator

@Suite("Seeds determine the faults")
struct FaultSeedTests {
    /// The outcome of each request, as one letter each.
    private static func requestFaults(
        _ world: FaultyWorld, _ path: String = "/inApps/v2/history/1", count: Int = 60
    ) async -> String {
        var requestFaults = ""
        for _ in 0..<count {
            let answer = await world.ask(.get, path)
            let isPage = answer.response.headers["Content-Type"]?.hasPrefix("text/html") == true
            requestFaults +=
                answer.isHangUp
                ? "-" : isPage ? "h" : answer.status == 429 ? "r" : answer.status >= 500 ? "5" : "."
        }
        return requestFaults
    }

    private static let combinedFaults: [String: JSONValue] = [
        "drop": 0.2, "delay": 0.2, "duplicate": 0.2, "reorder": 0.2, "error5xx": 0.2, "html": 0.2, "rateLimit": 0.2,
    ]

    private static func combinedFaults(seed: Int64) -> JSONValue {
        .object(combinedFaults.merging(["seed": .int(seed)]) { _, new in new })
    }

    @Test("The same seed gives the same sequence, in another store too; another seed gives another")
    func repeats() async throws {
        let seen = Locked<[String]>([])
        for _ in 0..<2 {
            try await FaultyWorld.open { world in
                for seed: Int64 in [1, 1, 2] {
                    try await world.change(Self.combinedFaults(seed: seed))
                    let requestFaults = await Self.requestFaults(world)
                    seen.withLock { $0.append(requestFaults) }
                }
            }
        }
        let requestFaults: [String] = seen.withLock { $0 }
        #expect(Set(requestFaults).count == 2)
        #expect(
            requestFaults[0] == requestFaults[1] && requestFaults[0] == requestFaults[3]
                && requestFaults[2] == requestFaults[5])
        #expect(Set(requestFaults[0]).count >= 4, "\(requestFaults[0])")
    }

    @Test("The faults of an endpoint are independent of other endpoints and of their fault rates")
    func independent() async throws {
        try await FaultyWorld.open { world in
            try await world.change(Self.combinedFaults(seed: 9))
            let alone = await Self.requestFaults(world)
            try await world.change(Self.combinedFaults(seed: 9))
            var among = ""
            for _ in 0..<60 {
                _ = await world.ask(.get, "/inApps/v1/transactions/1")
                among += await Self.requestFaults(world, count: 1)
                _ = await world.buy()
            }
            #expect(among == alone)
            var others = Self.combinedFaults
            others["seed"] = 9
            others["endpoints"] = ["purchases": ["drop": 1], "finish": ["html": 1]]
            try await world.change(.object(others))
            #expect(await Self.requestFaults(world) == alone)
            try await world.change(Self.combinedFaults(seed: 9))
            #expect(await Self.requestFaults(world, "/inApps/v1/subscriptions/1") != alone)
        }
    }

    @Test("Changing one fault rate does not change which requests the other faults affect")
    func ratesAreIndependent() {
        func random(_ number: Int64) -> SeededRandom {
            SeededRandom(seed: 4, start: 0, stream: "history", number: number)
        }
        func struck(_ rates: FaultRates, _ fault: StoreFault) -> [Int64] {
            (1...500).filter {
                FaultInjector.RequestFaults(endpoint: .history, rates: rates, random: random($0)).includes(fault)
            }
        }
        let html = struck(FaultRates([.html: 0.3]), .html)
        #expect(html == struck(FaultRates([.html: 0.3, .rateLimit: 0.9]), .html))
        // A higher probability affects the requests of a lower one, and more.
        #expect(Set(html).isStrictSubset(of: struck(FaultRates([.html: 0.6]), .html)))
        #expect(html != struck(FaultRates([.rateLimit: 0.3]), .rateLimit))
    }

    @Test("Every fault has its probability, and neighbouring requests are independent", arguments: [0.1, 0.5, 0.9])
    func probabilities(_ chance: Double) {
        let count = 20_000
        let bound = 4 * (Double(count) * chance * (1 - chance)).squareRoot()
        for (index, fault) in StoreFault.allCases.enumerated() {
            let rates = FaultRates([fault: chance])
            var (struck, pairs, last) = (0, 0, false)
            for number in 1...count {
                let random = SeededRandom(seed: 77, start: Int64(index % 3), stream: "history", number: Int64(number))
                let strikes = FaultInjector.RequestFaults(endpoint: .history, rates: rates, random: random).includes(
                    fault)
                if strikes { struck += 1 }
                if strikes, last { pairs += 1 }
                last = strikes
            }
            #expect(abs(Double(struck) - Double(count) * chance) < bound, "\(fault): \(struck)")
            #expect(abs(Double(pairs) - Double(count) * chance * chance) < 2 * bound, "\(fault): \(pairs) pairs")
        }
    }

    @Test("Random numbers are uniform: sixteen boxes, chi-squared; integers stay in any given range")
    func even() {
        var boxes = [Int](repeating: 0, count: 16)
        for number in 1...16_000 {
            let random = SeededRandom(seed: 123, start: 0, stream: "finish", number: Int64(number))
            boxes[Int(random.draw("delay") * 16)] += 1
        }
        let chi = boxes.map { Double(($0 - 1_000) * ($0 - 1_000)) / 1_000 }.reduce(0, +)
        // 15 degrees of freedom: 37.7 is exceeded once in a thousand seeds.
        #expect(chi < 37.7, "\(chi)")
        let random = SeededRandom(seed: .min, start: .max, stream: "", number: .min)
        for range: ClosedRange<Int64> in [0...0, -5...5, .min ... .max, 0 ... .max, .max ... .max] {
            #expect(range.contains(random.number("x", in: range)))
        }
    }

    @Test("A known seed affects the same requests in every release: the random numbers are part of the format")
    func known() {
        let random = (1...5).map { SeededRandom(seed: 42, start: 0, stream: "history", number: $0) }
        #expect(random.map { Int($0.draw("html") * 1_000_000) } == [300_724, 152_181, 693_407, 644_088, 796_543])
    }
}
