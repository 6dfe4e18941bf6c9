import Foundation
import Testing
import TillAppStore
import TillBilling
import TillLedger

@testable import till

@Suite("docs/operations about the doctor") struct DoctorPageTests {
    private static let pages: [(name: String, language: Language)] = [
        ("operations.md", .english), ("operations.zh-CN.md", .chinese),
    ]

    /// The rows of the tables whose first column is a name in code, by section.
    private func rows(_ page: String, of section: Int) throws -> [(name: String, cells: [String])] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("docs/\(page)"), encoding: .utf8)
        let doctor = try #require(
            text.components(separatedBy: "\n## ").first { $0.hasPrefix("Doctor\n") || $0.hasPrefix("诊断\n") })
        let parts: [String] = doctor.components(separatedBy: "\n### ")
        return parts[section + 1].split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
            let cells: [String] = line.split(separator: "|").map {
                String($0).trimmingCharacters(in: CharacterSet.whitespaces)
            }
            return (cells[0].replacing("`", with: ""), cells)
        }
    }

    @Test("Both pages have one row for each check, in the order of the code, with its limits")
    func checks() throws {
        for (page, _) in Self.pages {
            let rows = try rows(page, of: 0)
            #expect(rows.map(\.name) == DoctorCheck.Name.allCases.map(\.rawValue))
            #expect(rows.allSatisfy { $0.cells.count == 5 && !$0.cells.contains("") })
            func row(_ name: DoctorCheck.Name) -> String {
                rows.first { $0.name == name.rawValue }?.cells.joined(separator: " ") ?? ""
            }
            let limits: [(DoctorCheck.Name, [String])] = [
                (.certificates, ["\(ConfigurationChecks.certificateDays)"]),
                (.clock, ["\(AppleChecks.clockWarning / 1_000) s", "\(AppleChecks.clockError / 1_000) s"]),
                (.proxy, ["\(ServerChecks.certificateDays)"]), (.webhooks, ["\(ServerChecks.certificateDays)"]),
                (
                    .disk,
                    [
                        "\(Doctor.diskWarning / 1_000_000_000) GB", "\(Doctor.diskError / 1_000_000) MB",
                        "\(Doctor.diskDaysWarning)", "\(Doctor.diskDaysError)", "\(Doctor.inodesError)",
                    ]
                ),
                (.integrity, ["\(IntegrityCheck.mostBytesByDefault >> 20) MB"]),
                (.sharedTokens, ["\(Doctor.appleAccountsOfOneCustomer)", "500,000"]),
                (.refusedProofs, ["\(Doctor.refusedProofsWarning)"]),
            ]
            for (name, parts) in limits {
                for part in parts { #expect(row(name).contains(part), "\(page): \(name.rawValue) says \(part)") }
            }
            #expect(Doctor.mostTransactionsByDefault == 500_000)
        }
    }

    @Test("Both pages state the limits of every queue, as alerts use them")
    func queues() throws {
        for (page, _) in Self.pages {
            let rows = try rows(page, of: 1).map(\.cells)
            let expected = PendingWork.Queue.allCases.map { queue in
                [
                    "`\(queue.rawValue)`", shortDuration(seconds: queue.limits.warning),
                    shortDuration(seconds: queue.limits.error),
                ]
            }
            #expect(rows == expected)
        }
    }

    @Test("Both pages state the rules of the ledger in the words of the program")
    func rules() throws {
        for (page, language) in Self.pages {
            let rows = try rows(page, of: 2).map(\.cells)
            #expect(rows == AuditRule.allCases.map { ["`\($0.rawValue)`", $0.sentence[language]] })
        }
    }
}
