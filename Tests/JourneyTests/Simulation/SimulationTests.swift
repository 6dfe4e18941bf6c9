import Foundation
import Testing
import TillJSON

/// A short selection of `make simulate`: whole worlds, each on one thread of its own process.
@Suite("Whole worlds from seeds", .serialized, .timeLimit(.minutes(5)))
struct SimulationTests {
    private func simulate(_ arguments: String...) async throws -> (code: Int32, answer: JSONValue) {
        try await simulate(arguments)
    }

    private func simulate(_ arguments: [String]) async throws -> (code: Int32, answer: JSONValue) {
        let process = try TillProcess.start(["simulate", "--json"] + arguments)
        let answer = try await process.document()
        return (await process.end(), answer)
    }

    @Test("Under every fault no paid purchase is lost, granted twice or given to another customer (DESIGN §4, 1–8)")
    func promise() async throws {
        let (code, answer) = try await simulate("--seeds", "6", "--purchases", "24")
        #expect(code == 0, "\(answer.at("violations").encoded())")
        #expect(answer.at("seeds").int == 6)
        #expect((answer.at("paid").int ?? 0) > 40)
        #expect((answer.at("audits").int ?? 0) > 6)
        #expect((answer.at("faults").object?.count ?? 0) > 10)
        for name in ["lost", "granted_twice", "misattributed", "forged_granted"] {
            #expect(answer.at(name).int == 0)
        }
    }

    @Test("A seed always gives the same result, whatever else runs beside it (DESIGN §5)")
    func determinism() async throws {
        let (_, alone) = try await simulate("--seed", "3", "--seeds", "2", "--purchases", "10", "--workers", "1")
        let (_, together) = try await simulate("--seed", "3", "--seeds", "2", "--purchases", "10", "--workers", "2")
        #expect(!alone.at("digest").text.isEmpty)
        #expect(alone.at("digest") == together.at("digest"))
        #expect(alone.at("steps") == together.at("steps"))
    }

    @Test("A stopped run continues where it was, and has the same result", .slow)
    func goesOn() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("till-worlds-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let path = file.path
        func lineCount() throws -> Int { try String(contentsOf: file, encoding: .utf8).split(separator: "\n").count }
        let plan = ["--purchases", "6", "--keep", path]
        let (_, half) = try await simulate(["--seeds", "2"] + plan)
        #expect(half.at("seeds").int == 2)
        // Killed in the middle of a line.
        let torn = try Data(contentsOf: file) + Data(#"{"milliseconds":9,"report":{"seed":"3","#.utf8)
        try torn.write(to: file)
        let (_, whole) = try await simulate(["--seeds", "4"] + plan)
        let (_, atOnce) = try await simulate(["--seeds", "4", "--purchases", "6"])
        for name in ["seeds", "purchases", "paid", "faults", "digest", "steps", "violations"] {
            #expect(whole.at(name) == atOnce.at(name), "\(name)")
        }
        #expect(try lineCount() == 6)

        let other = try TillProcess.start(
            ["simulate", "--seeds", "4", "--purchases", "7", "--keep", path, "--lang", "zh"])
        #expect(await other.finish().code == 1)
        #expect(other.complaints.contains("另一种计划"))
        #expect(try lineCount() == 6)
    }

    @Test("Release builds have the rules alone: no mistake can be planted, and the program contains no mistake's name")
    func ships() async throws {
        let process = try TillProcess.start(["simulate", "--seeds", "1", "--plant", "trusts_caller", "--lang", "en"])
        #expect(await process.finish().code == 2)
        #expect(process.complaints.contains("--plant"))
        let till = try Data(contentsOf: TillProcess.executable)
        for name in ["14PlantedMistakeO", "trusts_caller", "keepsRefundedPoints", "spends_held_points"] {
            #expect(till.range(of: Data(name.utf8)) == nil, "\(name)")
        }
        #expect(till.range(of: Data("finished_too_early".utf8)) != nil, "texts are found in it")
    }
}
