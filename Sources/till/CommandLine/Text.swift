import TillBilling

extension Language {
    /// What the locale variables ask for, in POSIX order: the first of them that isn't empty decides. English
    /// unless it begins with `zh`.
    init(environment: [String: String]) {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        self = locale?.lowercased().hasPrefix("zh") == true ? .chinese : .english
    }
}

extension Text {
    /// A name, number or path that reads the same in both languages.
    init(_ both: String) { self.init(en: both, zh: both) }

    func callAsFunction(_ language: Language) -> String { self[language] }
}

/// Text from outside as it may be shown: cut at 80 characters, control and invisible characters escaped, so that an
/// argument or a file can't write to somebody's terminal in our name.
func shown(_ outside: some StringProtocol) -> String {
    var result = ""
    for (count, scalar) in outside.unicodeScalars.enumerated() {
        guard count < 80 else { return result + "…" }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned:
            result += "\\u{" + String(scalar.value, radix: 16) + "}"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}
