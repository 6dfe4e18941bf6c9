import TillBilling

/// `restore.policy` and `restore.movesPerYear`, and the terms for receipts. What is left out is as in an empty file.
extension ConfigurationReader {
    mutating func readRestore() -> RestoreTerms {
        var terms = RestoreTerms()
        if let policy = setting(.restorePolicy).flatMap({ reader.word($0, of: RestorePolicy.self) }) {
            terms.policy = policy
        }
        guard let setting = setting(.restoreMovesPerYear), let moves = reader.positiveInteger(setting) else {
            return terms
        }
        if moves <= Self.mostMovesPerYear {
            terms.movesPerYear = Int(moves)
        } else {
            reader.complain(
                setting.place,
                Text(
                    en: "must be at most \(Self.mostMovesPerYear), is \(moves)",
                    zh: "最多 \(Self.mostMovesPerYear)，现在是 \(moves)"))
        }
        return terms
    }

    private static let mostMovesPerYear = 1_000

    /// `receipts.policy` and `receipts.holdHours`.
    mutating func readReceipts() -> ReceiptTerms {
        var terms = ReceiptTerms()
        if let policy = setting(.receiptPolicy).flatMap({ reader.word($0, of: ReceiptPolicy.self) }) {
            terms.policy = policy
        }
        guard let setting = setting(.holdHours), let hours = reader.positiveInteger(setting) else { return terms }
        if hours <= Self.mostHoldHours {
            terms.holdHours = hours
        } else {
            reader.complain(
                setting.place,
                Text(
                    en: "must be at most \(Self.mostHoldHours), is \(hours)",
                    zh: "最多 \(Self.mostHoldHours)，现在是 \(hours)"))
        }
        return terms
    }

    /// Thirty days.
    private static let mostHoldHours: Int64 = 720
}
