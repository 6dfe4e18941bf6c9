import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

@Suite("The hostile corpus: thousands of bad proofs made from good ones")
struct HostileCorpusTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// `TILL_CORPUS_SCALE=10` makes ten times as many random cases; `TILL_CORPUS_SEED` makes different ones.
    private static let corpus = HostileCorpus(
        seed: environment["TILL_CORPUS_SEED"].flatMap { UInt64($0) } ?? 20_260_101,
        scale: environment["TILL_CORPUS_SCALE"].flatMap { Int($0) } ?? 1)

    @Test("Every good proof of the corpus is accepted unchanged")
    func goodProofs() throws {
        let corpusVerifier = try CorpusVerifier(Self.corpus)
        #expect(Self.corpus.good.count == 9)
        for proof in Self.corpus.good.values {
            let outcome = CorpusVerifier.outcome(proof.bytes, as: proof.kind, try corpusVerifier.cold())
            if case .refused(let verdict) = outcome { Issue.record("\(proof.id) is refused: \(verdict)") }
            #expect(ProofInspection.inspect(proof.bytes, policy: corpusVerifier.inspectionPolicy).isOK, "\(proof.id)")
        }
    }

    @Test("There are five thousand distinct bad proofs, and each family has its promised number")
    func counts() {
        let cases = Self.corpus.cases
        #expect(Set(cases.map(\.sha256)).count == cases.count)
        let counts = Dictionary(grouping: cases, by: \.family).mapValues(\.count)
        for family in HostileFamily.allCases {
            #expect(counts[family, default: 0] >= family.leastCount, "\(family.rawValue)")
        }
        #expect(cases.filter(\.family.isRefused).count >= 5_000)
        let table = HostileFamily.allCases.map { "\($0.rawValue) \(counts[$0, default: 0])" }
        print("hostile corpus, \(cases.count) cases: \(table.joined(separator: ", "))")
    }

    @Test("No entry accepts a bad proof, and each is refused for its reason: one in eleven of them")
    func someVerdicts() async throws { try await checkVerdicts(everyNth: 11) }

    @Test("No entry accepts a bad proof, and each is refused for its reason: all of them", .slow)
    func verdicts() async throws { try await checkVerdicts(everyNth: 1) }

    /// The corpus is ordered by family, so any regular sample contains some of each.
    private func checkVerdicts(everyNth step: Int) async throws {
        let corpus = Self.corpus
        let corpusVerifier = try CorpusVerifier(corpus)
        let verifier = try corpusVerifier.cold()
        let good = corpus.good.mapValues { CorpusVerifier.outcome($0.bytes, as: $0.kind, verifier) }
        // Two at a time, for two cores; each half collects its own findings.
        let complaints = try await withThrowingTaskGroup(of: [String].self) { group in
            for half in 0..<2 {
                group.addTask {
                    try stride(from: half * step, to: corpus.cases.count, by: 2 * step).flatMap { index in
                        let hostile = corpus.cases[index]
                        return try corpusVerifier.complaints(
                            about: hostile, good: good[hostile.base.id] ?? .refused(.ok)
                        ).map {
                            "\(hostile.family.rawValue), \(hostile.base.id), \(hostile.harm): \($0)"
                        }
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(complaints.isEmpty, "\(complaints.count) of \(corpus.cases.count)")
        for complaint in complaints.prefix(60) { Issue.record("\(complaint.prefix(600))") }
    }

    @Test("One seed makes one corpus, and another seed another")
    func determinism() {
        let again = HostileCorpus(seed: Self.corpus.seed, scale: Self.corpus.scale)
        #expect(again.cases.map(\.sha256) == Self.corpus.cases.map(\.sha256))
        #expect(CorpusAuthority("corpus 1").leaf.der != Self.corpus.authority.leaf.der)
    }

    @Test("The corpus can be written to a folder (TILL_WRITE_CORPUS), for other verifiers")
    func written() throws {
        let folder =
            Self.environment["TILL_WRITE_CORPUS"].map { URL(fileURLWithPath: $0) }
            ?? FileManager.default.temporaryDirectory.appendingPathComponent("till-corpus-\(UUID().uuidString)")
        defer { if Self.environment["TILL_WRITE_CORPUS"] == nil { try? FileManager.default.removeItem(at: folder) } }
        let isWhole = Self.environment["TILL_WRITE_CORPUS"] != nil
        let cases = isWhole ? Self.corpus.cases : Array(Self.corpus.cases.prefix(20))
        try CorpusFolder(folder).write(Self.corpus, cases)
        let manifest = try String(contentsOf: folder.appendingPathComponent("manifest.jsonl"), encoding: .utf8)
        let lines = manifest.split(separator: "\n")
        #expect(lines.count == cases.count + Self.corpus.good.count)
        let last = try JSONValue(decoding: try #require(lines.last))
        let file = try Data(contentsOf: folder.appendingPathComponent(last["file"]?.string ?? ""))
        #expect(Array(file) == cases.last?.bytes)
    }
}

/// The corpus as files: every proof under its number, the roots, and a manifest with one JSON object per line.
struct CorpusFolder {
    let folder: URL

    init(_ folder: URL) throws {
        self.folder = folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    func write(_ corpus: HostileCorpus, _ cases: [HostileCase]) throws {
        let corpusVerifier = try CorpusVerifier(corpus)
        try write(corpus.authority.root.der, "root-ec.der")
        try write(corpus.authority.receiptRoot.der, "root-rsa.der")
        var manifest = ""
        for proof in corpus.good.values.sorted(by: { $0.id < $1.id }) {
            let outcome = CorpusVerifier.outcome(proof.bytes, as: proof.kind, corpusVerifier.warm)
            try add("good-\(proof.id)", "good", proof, "nothing", proof.bytes, outcome, corpusVerifier, to: &manifest)
        }
        for (index, hostile) in cases.enumerated() {
            let id = String(format: "%05d", index)
            let outcome = CorpusVerifier.outcome(hostile.bytes, as: hostile.kind, corpusVerifier.warm)
            try add(
                id, hostile.family.rawValue, hostile.base, hostile.harm, hostile.bytes, outcome, corpusVerifier,
                to: &manifest)
        }
        try write(Array(manifest.utf8), "manifest.jsonl")
    }

    private func add(
        _ id: String, _ family: String, _ base: GoodProof, _ harm: String, _ bytes: [UInt8], _ outcome: Outcome,
        _ corpusVerifier: CorpusVerifier, to manifest: inout String
    ) throws {
        try write(bytes, "\(id).proof")
        let verdict = if case .refused(let verdict) = outcome { verdict.rawValue } else { "ok" }
        let line: JSONValue = [
            "id": .string(id), "file": .string("\(id).proof"), "family": .string(family), "base": .string(base.id),
            "kind": .string(base.kind.rawValue), "harm": .string(harm), "verdict": .string(verdict),
            "inspection": .string(ProofInspection.inspect(bytes, policy: corpusVerifier.inspectionPolicy).verdict),
            "sha256": .string(Hexadecimal.text(Digest.sha256.hash(bytes))),
        ]
        manifest += line.encoded() + "\n"
    }

    private func write(_ bytes: [UInt8], _ name: String) throws {
        try Data(bytes).write(to: folder.appendingPathComponent(name))
    }
}
