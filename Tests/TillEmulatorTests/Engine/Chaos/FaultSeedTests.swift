import Testing
import TillBilling
import TillHTTP
import TillJSON
import TillThreads

@testable import TillEmulator

@Suite("Seeds determine the faults")
struct FaultSeedTests {
    /// The outcome of each request, as one letter each.
    private static func fates(
        _ world: DisturbedWorld, _ path: String = "/inApps/v2/history/1", count: Int = 60
    ) async -> String {
        var fates = ""
        for _ in 0..<count {
            let answer = await world.ask(.get, path)
            let isPage = answer.response.headers["Content-Type"]?.hasPrefix("text/html") == true
            fates +=
                answer.isHangUp
                ? "-" : isPage ? "h" : answer.status == 429 ? "r" : answer.status >= 500 ? "5" : "."
        }
        return fates
    }

    private static let storm: [String: JSONValue] = [
        "drop": 0.2, "delay": 0.2, "duplicate": 0.2, "reorder": 0.2, "error5xx": 0.2, "html": 0.2, "rateLimit": 0.2,
    ]

    private static func storm(seed: Int64) -> JSONValue {
        .object(storm.merging(["seed": .int(seed)]) { _, new in new })
    }

    @Test("The same seed gives the same sequence, in another store too; another seed gives another")
    func repeats() async throws {
        let seen = Locked<[String]>([])
        for _ in 0..<2 {
            try await DisturbedWorld.open { world in
                for seed: Int64 in [1, 1, 2] {
                    try await world.turn(Self.storm(seed: seed))
                    let fates = await Self.fates(world)
                    seen.withLock { $0.append(fates) }
                }
            }
        }
        let fates: [String] = seen.withLock { $0 }
        #expect(Set(fates).count == 2)
        #expect(fates[0] == fates[1] && fates[0] == fates[3] && fates[2] == fates[5])
        #expect(Set(fates[0]).count >= 4, "\(fates[0])")
    }

    @Test("The faults of an endpoint are independent of other endpoints and of their fault rates")
    func independent() async throws {
        try await DisturbedWorld.open { world in
            try await world.turn(Self.storm(seed: 9))
            let alone = await Self.fates(world)
            try await world.turn(Self.storm(seed: 9))
            var among = ""
            for _ in 0..<60 {
                _ = await world.ask(.get, "/inApps/v1/transactions/1")
                among += await Self.fates(world, count: 1)
                _ = await world.buy()
            }
            #expect(among == alone)
            var others = Self.storm
            others["seed"] = 9
            others["endpoints"] = ["purchases": ["drop": 1], "finish": ["html": 1]]
            try await world.turn(.object(others))
            #expect(await Self.fates(world) == alone)
            try await world.turn(Self.storm(seed: 9))
            #expect(await Self.fates(world, "/inApps/v1/subscriptions/1") != alone)
        }
    }

    @Test("Changing one fault rate does not change which requests the other faults affect")
    func dialsAreIndependent() {
        func dice(_ number: Int64) -> Dice { Dice(seed: 4, start: 0, stream: "history", number: number) }
        func struck(_ dials: Dials, _ dial: Dial) -> [Int64] {
            (1...500).filter { Chaos.Fate(endpoint: .history, dials: dials, dice: dice($0)).strikes(dial) }
        }
        let html = struck(Dials([.html: 0.3]), .html)
        #expect(html == struck(Dials([.html: 0.3, .rateLimit: 0.9]), .html))
        // A higher probability affects the requests of a lower one, and more.
        #expect(Set(html).isStrictSubset(of: struck(Dials([.html: 0.6]), .html)))
        #expect(html != struck(Dials([.rateLimit: 0.3]), .rateLimit))
    }

    @Test("Every fault has its probability, and neighbouring requests are independent", arguments: [0.1, 0.5, 0.9])
    func probabilities(_ chance: Double) {
        let count = 20_000
        let bound = 4 * (Double(count) * chance * (1 - chance)).squareRoot()
        for (index, dial) in Dial.allCases.enumerated() {
            let dials = Dials([dial: chance])
            var (struck, pairs, last) = (0, 0, false)
            for number in 1...count {
                let dice = Dice(seed: 77, start: Int64(index % 3), stream: "history", number: Int64(number))
                let strikes = Chaos.Fate(endpoint: .history, dials: dials, dice: dice).strikes(dial)
                if strikes { struck += 1 }
                if strikes, last { pairs += 1 }
                last = strikes
            }
            #expect(abs(Double(struck) - Double(count) * chance) < bound, "\(dial): \(struck)")
            #expect(abs(Double(pairs) - Double(count) * chance * chance) < 2 * bound, "\(dial): \(pairs) pairs")
        }
    }

    @Test("Random numbers are uniform: sixteen boxes, chi-squared; integers stay in any given range")
    func even() {
        var boxes = [Int](repeating: 0, count: 16)
        for number in 1...16_000 {
            let dice = Dice(seed: 123, start: 0, stream: "finish", number: Int64(number))
            boxes[Int(dice.roll("delay") * 16)] += 1
        }
        let chi = boxes.map { Double(($0 - 1_000) * ($0 - 1_000)) / 1_000 }.reduce(0, +)
        // 15 degrees of freedom: 37.7 is exceeded once in a thousand seeds.
        #expect(chi < 37.7, "\(chi)")
        let dice = Dice(seed: .min, start: .max, stream: "", number: .min)
        for range: ClosedRange<Int64> in [0...0, -5...5, .min ... .max, 0 ... .max, .max ... .max] {
            #expect(range.contains(dice.number("x", in: range)))
        }
    }

    @Test("A known seed affects the same requests in every release: the random numbers are part of the format")
    func known() {
        let dice = (1...5).map { Dice(seed: 42, start: 0, stream: "history", number: $0) }
        #expect(dice.map { Int($0.roll("html") * 1_000_000) } == [300_724, 152_181, 693_407, 644_088, 796_543])
    }
}
