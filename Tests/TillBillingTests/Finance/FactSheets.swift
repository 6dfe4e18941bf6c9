import Foundation
import TillBilling

/// Apple's tables, in a folder beside the repository that may be absent.
enum FactSheets {
    static func location(_ name: String) -> URL {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 1...5 { folder.deleteLastPathComponent() }
        return folder.appendingPathComponent("shared/facts/\(name)")
    }

    static func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: location(name).path) }

    /// Its lines without the first, split into cells.
    static func rows(_ name: String) throws -> [[String]] {
        try String(contentsOf: location(name), encoding: .utf8).split(whereSeparator: \.isNewline).dropFirst().map {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
    }
}

func civilDay(_ text: String) -> CivilDate { CivilDate(iso8601: text) ?? CivilDate(daysSinceEpoch: 0) }

/// `6 CNY`, `0.99 USD`.
func tag(_ text: String) -> Money {
    let parts = text.split(separator: " ")
    let currency = Currency(parts.count == 2 ? String(parts[1]) : "")
    return Money(decimal: parts.first ?? "", currency: currency) ?? Money(amount: -1, currency: currency)
}
