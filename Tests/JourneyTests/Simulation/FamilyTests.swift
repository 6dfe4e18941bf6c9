import Foundation
import Testing
import TillJSON

/// Worlds where several customers share an Apple Account; `make simulate` runs a thousand of them.
@Suite("Families in whole worlds", .serialized, .timeLimit(.minutes(5)))
struct FamilyTests {
    private func simulate(_ arguments: String...) async throws -> (code: Int32, answer: JSONValue) {
        let process = try TillProcess.start(["simulate", "--json", "--families"] + arguments)
        let answer = try await process.document()
        return (await process.end(), answer)
    }

    @Test("Of customers who share an Apple Account, the one who paid last has the right, and no other")
    func promise() async throws { try await promise(seeds: 1) }

    @Test("The same in twelve worlds", .slow)
    func promiseInManyWorlds() async throws { try await promise(seeds: 12) }

    private func promise(seeds: Int64) async throws {
        let (code, answer) = try await simulate("--seeds", "\(seeds)")
        #expect(code == 0, "\(answer.at("violations").encoded())")
        #expect((answer.at("rightsChecks").int ?? 0) > 80 * seeds)
        #expect(answer.at("lost").int == 0 && answer.at("misattributed").int == 0)
    }

    @Test("A world of families gives the same result each time", .slow)
    func determinism() async throws {
        let (_, once) = try await simulate("--seed", "2", "--seeds", "1")
        let (_, again) = try await simulate("--seed", "2", "--seeds", "1")
        #expect(once.at("digest") == again.at("digest"))
    }
}
