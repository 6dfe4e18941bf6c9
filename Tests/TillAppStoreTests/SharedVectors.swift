import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillJSON

/// Real proofs beside the repository (`../shared/vectors`); without them, the tests that use them are skipped.
enum SharedVectors {
    static let directory = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("shared/vectors")

    private static let manifest = directory.appendingPathComponent("MANIFEST.tsv")
    static let arePresent = FileManager.default.fileExists(atPath: manifest.path)
    static let absence: Comment = "../shared/vectors is not beside the repository"

    /// One row of the manifest.
    struct Row: Sendable, CustomTestStringConvertible {
        let id: String
        let file: String
        let kind: String
        let expect: String
        let policy: JSONValue
        let format: String

        var testDescription: String { id }
        var bytes: [UInt8] { SharedVectors.bytes(file) }

        /// The manifest's policy, as `till verify` would get it.
        var inspectionPolicy: InspectionPolicy {
            var inspection = InspectionPolicy { testNow }
            inspection.roots = policy["roots"]?.array?.compactMap { $0.string.map(SharedVectors.bytes) }
            inspection.bundleID = policy["bundleId"]?.string
            inspection.appAppleID = policy["appAppleId"]?.int
            inspection.environment = policy["environment"]?.string
            inspection.at = policy["at"]?.int
            inspection.isStrict = policy["strict"]?.bool ?? false
            inspection.device = policy["deviceGuidHex"]?.string.map(bytesOfHexadecimal)
            inspection.requiresIntermediateMarker = policy["intermediateOid"]?.bool ?? true
            return inspection
        }

        func inspect() -> ProofInspection {
            guard format == "chain-json", let json = try? JSONValue(decoding: bytes) else {
                return ProofInspection.inspect(bytes, policy: inspectionPolicy)
            }
            return ProofInspection.chain(
                x5c: json["x5c"]?.array?.compactMap(\.string) ?? [], root: json["root"]?.string ?? "",
                at: json["effectiveDate"]?.int ?? 0, isStrict: policy["strict"]?.bool ?? false)
        }
    }

    static let rows: [Row] = {
        guard let text = try? String(contentsOf: manifest, encoding: .utf8) else { return [] }
        let lines = text.split(separator: "\n").map { $0.split(separator: "\t", omittingEmptySubsequences: false) }
        guard let header = lines.first?.map(String.init) else { return [] }
        return lines.dropFirst().map { cells in
            let row = Dictionary(uniqueKeysWithValues: zip(header, cells.map(String.init)))
            return Row(
                id: row["id"] ?? "", file: row["file"] ?? "", kind: row["kind"] ?? "", expect: row["expect"] ?? "",
                policy: (try? JSONValue(decoding: row["policy"] ?? "{}")) ?? [:], format: row["format"] ?? "")
        }
    }()

    /// The rows that are proofs or chains, not bare payloads, certificates or answers.
    static let proofs = rows.filter { ["jws", "p7-der", "p7-b64", "oldstyle-b64", "chain-json"].contains($0.format) }

    static func row(_ id: String) throws -> Row { try #require(rows.first { $0.id == id }) }

    static func bytes(_ file: String) -> [UInt8] {
        (try? Data(contentsOf: directory.appendingPathComponent(file))).map(Array.init) ?? []
    }
}

/// A day after every shared proof, on which Apple's signer of 2025 is valid and those of 2021 are not.
let testNow = Instant(seconds: 1_764_547_200)

func bytesOfHexadecimal(_ text: String) -> [UInt8] {
    let digits = Array(text)
    return stride(from: 0, to: digits.count - 1, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
}
