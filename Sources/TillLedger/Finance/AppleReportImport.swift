import TillBilling
import TillCrypto
import TillSQL

/// The result of importing a financial report.
package enum AppleReportImport {
    case stored(AppleReportTable.Entry, isNew: Bool, remarks: [FinancialReportFile.Finding])
    /// Some lines could not be read. Nothing was stored.
    case unusable([FinancialReportFile.Finding])
}

extension Ledger {
    /// Bytes. A line has about 200 bytes.
    package static let appleReportLimit = 8 << 20

    /// Stores one of Apple's financial reports as its original tab-separated text, completely or not at all. Storing
    /// the same text again changes nothing.
    package func storeAppleReport(_ body: [UInt8], name: String, actor: String) async throws -> AppleReportImport {
        let file = FinancialReportFile(String(decoding: body, as: UTF8.self))
        guard file.isUsable, let start = file.lines.map(\.start).min(), let end = file.lines.map(\.end).max() else {
            return .unusable(file.findings)
        }
        let entry = AppleReportTable.Entry(
            digest: Digest.sha256.hash(body), name: name, importedAt: clock(), actor: actor, start: start,
            end: max(start, end), lines: file.lines.count)
        let (stored, isNew) = try await database.write(locking: [.ledger("apple reports")]) { connection in
            let table = AppleReportTable(connection)
            let isNew = try table.insertIfNew(entry, text: body)
            return (try table.find(digest: entry.digest) ?? entry, isNew)
        }
        return .stored(stored, isNew: isNew, remarks: file.findings)
    }
}
