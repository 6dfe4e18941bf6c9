import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

@Suite("Each fault alone, over a socket", .serialized)
struct FaultSocketTests {
    private static func open(_ body: (FaultyWorld, String) async throws -> Void) async throws {
        try await FaultyWorld.open(pause: { try? await Task.sleep(for: .milliseconds($0)) }) { world in
            let listener = try Listener(
                bodyLimit: world.emulator.router.bodyLimit(method:path:), handler: world.emulator.respond(to:))
            do {
                try await body(world, "http://127.0.0.1:\(listener.port)")
            } catch {
                await listener.stop(grace: 0)
                throw error
            }
            await listener.stop(grace: 5)
        }
    }

    /// curl's result: status, exit code and content type.
    private static func curl(_ url: String, body: JSONValue? = nil) throws -> String {
        var arguments = [
            "curl", "-s", "-o", "/dev/null", "--max-time", "20", "--noproxy", "*", "-w",
            "%{http_code} %{exitcode} %{content_type}",
        ]
        if let body { arguments += ["-d", body.encoded()] }
        return try run(arguments + [url]).output
    }

    @Test(
        "curl sees what callers in process see",
        .enabled(if: (try? run(["curl", "--version"]).status) == 0, "there is no curl"))
    func curl() async throws {
        try await Self.open { world, base in
            let wanted = FaultyWorld.purchase()
            let pages: Set<String> = ["200 0 text/html; charset=UTF-8", "502 0 text/html; charset=UTF-8"]
            let json = "application/json"
            let expected: [(fault: String, purchase: Set<String>, history: Set<String>, bought: Int64)] = [
                ("dropBefore", ["000 52 "], ["000 52 "], 0), ("dropAfter", ["000 52 "], ["000 52 "], 1),
                ("delay", ["200 0 \(json)"], ["401 0 ", "404 0 application/problem+json"], 1),
                ("duplicate", ["200 0 \(json)"], ["401 0 ", "404 0 application/problem+json"], 2),
                ("reorder", ["200 0 \(json)"], ["401 0 ", "404 0 application/problem+json"], 1),
                ("rateLimit", ["429 0 application/problem+json"], ["429 0 \(json)"], 0),
                (
                    "error5xx", ["500 0 application/problem+json", "503 0 application/problem+json"],
                    ["500 0 \(json)", "503 0 "], 0
                ),
                ("html", pages, pages, 0),
            ]
            var total: Int64 = 0
            for (fault, purchase, history, bought) in expected {
                let set = try Self.put(base, [fault: 1, "delayFrom": 1, "delayTo": 5, "reorderWithin": 5])
                #expect(set == 200)
                let seen = try Self.curl(base + "/emulator/purchases", body: wanted)
                #expect(purchase.contains(seen), "\(fault): \(seen)")
                let asked = try Self.curl(base + "/inApps/v2/history/1")
                #expect(history.contains(asked), "\(fault): \(asked)")
                total += bought
                #expect(await world.total() == total, "\(fault)")
                #expect(try Self.curl(base + "/emulator/root.cer") == "200 0 application/pkix-cert")
            }
            #expect(try Self.put(base, ["endpoints": ["verifyReceipt": ["internalStatus": 1]]]) == 200)
            let answer = try run([
                "curl", "-s", "--max-time", "20", "--noproxy", "*", "-d", "{\"receipt-data\":\"AA==\"}",
                base + "/production/verifyReceipt",
            ]).output
            let status = try #require(try JSONValue(decoding: answer)["status"]?.int)
            #expect(status == 21005 || status == 21009 || (21100...21199).contains(status))
        }
    }

    private static func put(_ base: String, _ rates: JSONValue) throws -> Int? {
        let output = try run([
            "curl", "-s", "-o", "/dev/null", "--max-time", "20", "--noproxy", "*", "-X", "PUT", "-w", "%{http_code}",
            "-d", rates.encoded(), base + "/emulator/faults",
        ]).output
        return Int(output)
    }

    @Test("Stopping does not wait for delayed requests: they are answered at once")
    func stops() async throws {
        try await FaultyWorld.open(pause: { try? await Task.sleep(for: .milliseconds($0)) }) { world in
            let listener = try Listener(
                bodyLimit: world.emulator.router.bodyLimit(method:path:), handler: world.emulator.respond(to:))
            let fetch = try Fetch()
            let limit: JSONValue = .int(FaultRates.longestWait)
            try await world.change(["delay": 1, "delayFrom": limit, "delayTo": limit])
            let url = "http://127.0.0.1:\(listener.port)/emulator/purchases"
            let body = Array(FaultyWorld.purchase().encoded().utf8)
            let buying = Task { try await fetch.send(url, HTTPRequest(method: .post, path: "", body: body)).status }
            while world.waited.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
            let start = ContinuousClock.now
            world.emulator.endFaults()
            await listener.stop(grace: 20)
            #expect(ContinuousClock.now - start < .seconds(10))
            #expect(try await buying.value == 200)
            fetch.stop()
        }
    }

    @Test("With drops, delays and reordering, every concurrent request gets an answer or a closed connection")
    func crowd() async throws {
        try await Self.open { world, base in
            let fetch = try Fetch()
            try await world.change([
                "seed": 3, "drop": 0.2, "delay": 0.5, "reorder": 0.3, "delayTo": 20, "delayFrom": 1,
                "reorderWithin": 100, "error5xx": 0.1,
            ])
            let body = Array(FaultyWorld.purchase().encoded().utf8)
            let ends = await withTaskGroup(of: String.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        do throws(HTTPError) {
                            let request = HTTPRequest(method: .post, path: "", body: body)
                            return String(try await fetch.send(base + "/emulator/purchases", request).status)
                        } catch {
                            return error.kind.rawValue
                        }
                    }
                }
                return await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
            }
            fetch.stop()
            #expect(ends.values.reduce(0, +) == 100)
            #expect(Set(ends.keys).isSubset(of: ["200", "500", "503", "connectionLost"]), "\(ends)")
            #expect(ends["200", default: 0] > 40, "\(ends)")
        }
    }
}
