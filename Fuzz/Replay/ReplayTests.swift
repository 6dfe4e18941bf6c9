import Foundation
import Testing
import TillAppStore

@Suite("What the fuzzers begin with, and what they once found")
struct ReplayTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    private static func inputs(_ kind: String, _ target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        let place = folder.appendingPathComponent("\(kind)/\(target.rawValue)")
        guard FileManager.default.fileExists(atPath: place.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: place.path).sorted().map { name in
            (name, [UInt8](try Data(contentsOf: place.appendingPathComponent(name))))
        }
    }

    @Test("Every seed and every input that once broke a property keeps all of them", arguments: FuzzTarget.allCases)
    func replay(_ target: FuzzTarget) throws {
        let bench = try FuzzBench(folder: Self.folder)
        let seeds = try Self.inputs("corpus", target)
        #expect(seeds.count > 3)
        for input in try seeds + Self.inputs("regressions", target) {
            #expect(throws: Never.self, "\(target.rawValue)/\(input.name)") { try target.check(input.bytes, bench) }
        }
    }

    @Test("Cut short, doubled and with one bit turned, the seeds keep every property", arguments: FuzzTarget.allCases)
    func mutations(_ target: FuzzTarget) throws {
        let bench = try FuzzBench(folder: Self.folder)
        for seed in try Self.inputs("corpus", target) {
            let count = seed.bytes.count
            var variants = [
                Array(seed.bytes.prefix(count / 2)), Array(seed.bytes.dropFirst()), seed.bytes + seed.bytes,
            ]
            for place in stride(from: 0, to: count, by: max(1, count / 8)) {
                var bytes = seed.bytes
                bytes[place] ^= 1 << UInt8(place % 8)
                variants.append(bytes)
            }
            for bytes in variants {
                #expect(throws: Never.self, "\(target.rawValue)/\(seed.name): \(Base64Text.of(bytes))") {
                    try target.check(bytes, bench)
                }
            }
        }
    }

    /// Without accepted proofs, the properties of accepted proofs would never be checked.
    @Test("The seeds' proofs are accepted under their own roots, and so are payloads that are signed here")
    func accepted() throws {
        let bench = try FuzzBench(folder: Self.folder)
        let receipts = try Self.inputs("corpus", .receipt).filter { $0.name.hasPrefix("receipt-") }
        let policy = FuzzBench.inspection(bench.seedRoots)
        #expect(receipts.count >= 7)
        for receipt in receipts {
            #expect(ProofInspection.inspect(receipt.bytes, policy: policy).isOK, "\(receipt.name)")
        }
        let tokens = try Self.inputs("corpus", .token)
        #expect(tokens.count { $0.name.hasPrefix("token-") } == 4)
        for token in tokens where token.name.hasPrefix("token-") {
            #expect(ProofInspection.inspect(token.bytes, policy: policy).isOK, "\(token.name)")
        }
        for payload in [SamplePayloads.transaction, SamplePayloads.revoked, SamplePayloads.renewal] {
            #expect(TokenExpectation(Array(payload.utf8), bench.verifier).kind != nil)
        }
        #expect(bench.signed.count == 6, "two contents of receipts and four tokens")
    }

    @Test("The tree that receipts are altered as writes what it read, whichever element is put in its own place")
    func trees() throws {
        for input in try Self.inputs("corpus", .receipt) where input.name.hasPrefix("content") {
            let tree = try #require(ASN1Tree.all(in: input.bytes[...]).first)
            #expect(tree.count > 10)
            if !input.name.hasSuffix("pieces") { #expect(tree.bytes == input.bytes) }
            for index in 0..<tree.count {
                #expect(tree.changing(index) { [$0] }.flatMap(\.bytes) == tree.bytes)
                #expect(tree.changing(index) { _ in [tree.element(index)] }.flatMap(\.bytes) == tree.bytes)
            }
            #expect(tree.changing(3) { _ in [] }.flatMap(\.bytes).count < tree.bytes.count)
        }
    }

    @Test("A property that does not hold is noticed")
    func broken() {
        #expect(throws: PropertyError.self) { try hold(false, "two and two are five") }
        #expect(throws: PropertyError.self) { try held(nil as Int?, "something is there") }
    }

    private enum Base64Text {
        static func of(_ bytes: [UInt8]) -> String { Data(bytes.prefix(6_000)).base64EncodedString() }
    }
}
