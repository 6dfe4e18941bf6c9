import TillLedger
import TillSQL
import TillSimulation

/// Which program each replacement installs: first the one that ships, then releases that expand, fill and contract.
struct UpgradePlan {
    struct Step {
        let version: UpgradedServer.Version
        /// What is new with it.
        var news: String?
        /// Programs to be refused afterwards, with what the refusal says.
        var refused: [(UpgradedServer.Version, phrase: String)] = []
    }

    private let copies: [String]
    private let nextCopies: [String]
    private let replacements: Int
    private var installed = 0
    private(set) var stage: UpgradeTestSchema?
    var handOvers: [Int] = []
    var refusals = 0

    init(_ set: LoadSet, till: String, next: String?, replacements: Int) throws {
        func copy(_ program: String, _ name: String) throws -> String {
            try UpgradedServer.copy(program, to: set.directory.appendingPathComponent(name).path)
        }
        copies = try [copy(till, "release-a"), copy(till, "release-b")]
        nextCopies = try next.map { try [copy($0, "next-a"), copy($0, "next-b")] } ?? []
        self.replacements = replacements
    }

    var isExpanded: Bool { stage != nil }
    /// The schema of the ledger now.
    var schema: DatabaseSchema { stage?.schema ?? .ledger }

    mutating func release() -> UpgradedServer.Version {
        installed += 1
        return UpgradedServer.Version(program: copies[installed % 2])
    }

    private mutating func program(of schema: UpgradeTestSchema) -> UpgradedServer.Version {
        installed += 1
        return UpgradedServer.Version(program: nextCopies[installed % 2], schema: schema.rawValue)
    }

    /// Whether the replacement waits for the backfill, so that some are left for the last release.
    func mustFinishBackfill(before number: Int) -> Bool { stage == .expand && number == replacements * 8 / 10 }

    mutating func step(_ number: Int, isFilled: Bool) -> Step {
        guard !nextCopies.isEmpty, number > replacements * 3 / 10 else { return Step(version: release()) }
        switch stage {
        case nil:
            stage = .expand
            return Step(
                version: program(of: .expand), news: "a release that expands and fills",
                refused: [(program(of: .contract), "is not finished"), (release(), "upgrade the program")])
        case .expand where isFilled && number > replacements * 6 / 10:
            stage = .contract
            return Step(
                version: program(of: .contract), news: "a release that contracts",
                refused: [(program(of: .expand), "upgrade the program")])
        case .expand: return Step(version: program(of: .expand))
        case .contract: return Step(version: program(of: .contract))
        }
    }
}
