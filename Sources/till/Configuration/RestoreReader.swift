import TillBilling

/// `restore.policy` and `restore.movesPerYear`. What is left out is as in an empty file.
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
}
