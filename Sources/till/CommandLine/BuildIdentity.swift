import CTillProgram
import TillJSON

/// Which commit and which build this program is. `scripts/package` names them; a plain `swift build` names neither
/// (docs/decisions/0079).
struct BuildIdentity: Sendable {
    static let current = BuildIdentity(
        commit: String(cString: till_build_commit()), build: String(cString: till_build_version()))

    /// 40 hexadecimal digits; nil in a development build.
    let commit: String?
    /// The package's version; nil in a development build.
    let build: String?

    init(commit: String, build: String) {
        self.commit = commit.isEmpty ? nil : commit
        self.build = build.isEmpty ? nil : build
    }

    /// What the log, the metrics and the doctor call this program. Two packages of one version differ in it.
    var name: String { build ?? Program.version }

    /// The line of `till --version`.
    var text: String {
        guard let commit, let build else { return "till \(Program.version) (development build)" }
        return "till \(Program.version) (commit \(commit.prefix(12)), build \(build))"
    }

    var json: JSONValue {
        [
            "version": .string(Program.version), "commit": commit.map { .string($0) } ?? .null,
            "build": build.map { .string($0) } ?? .null,
        ]
    }
}
