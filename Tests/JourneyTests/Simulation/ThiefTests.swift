import Foundation
import Testing
import TillJSON

/// Worlds of thieves; `make simulate` runs two thousand of them.
@Suite("Thieves in whole worlds", .serialized, .timeLimit(.minutes(5)))
struct ThiefTests {
    private func simulate(_ arguments: String...) async throws -> (code: Int32, answer: JSONValue) {
        let process = try TillProcess.start(["simulate", "--json", "--thieves"] + arguments)
        let answer = try await process.document()
        return (await process.end(), answer)
    }

    private static let kinds = [
        "squatter", "twin", "receipt_thief", "borrowed_device", "guest_merger", "short_lived_token",
        "replay_across_users", "false_claimant", "hostile_restorer", "flooder",
    ]

    @Test("Ten kinds of thieves get nothing that others paid, and no customer waits because of one")
    func promise() async throws { try await promise(seeds: 2, thefts: 1) }

    @Test("The same in eight worlds", .slow)
    func promiseInManyWorlds() async throws { try await promise(seeds: 8, thefts: 9) }

    private func promise(seeds: Int, thefts: Int64) async throws {
        let (code, answer) = try await simulate("--seeds", "\(seeds)")
        #expect(code == 0, "\(answer.at("violations").encoded())")
        for kind in Self.kinds { #expect((answer.at("thefts").at(kind).int ?? 0) >= thefts, "\(kind)") }
        for name in ["lost", "granted_twice", "misattributed", "forged_granted", "stolen", "delayed_by_thief"] {
            #expect(answer.at(name).int == 0)
        }
    }

    @Test("A world of thieves gives the same result each time, and leaving out one thief removes only that one", .slow)
    func determinism() async throws {
        let (_, once) = try await simulate("--seed", "2", "--seeds", "1")
        let (_, again) = try await simulate("--seed", "2", "--seeds", "1")
        #expect(once.at("digest") == again.at("digest"))
        #expect(once.at("thefts") == again.at("thefts"))
        let (_, fewer) = try await simulate("--seed", "2", "--seeds", "1", "--without", "flooder,squatter")
        #expect(fewer.at("thefts").at("flooder").int == nil)
        #expect((fewer.at("thefts").at("twin").int ?? 0) > 0)
    }
}
