import TillBilling

extension Language {
    /// The language of the locale variables, in POSIX order: the first non-empty one decides. English unless it starts
    /// with `zh`.
    init(environment: [String: String]) {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        self = locale?.lowercased().hasPrefix("zh") == true ? .chinese : .english
    }
}

extension LocalizedText {
    /// A name, number or path that is the same in both languages.
    init(_ both: String) { self.init(en: both, zh: both) }

    func callAsFunction(_ language: Language) -> String { self[language] }

    func text(_ language: Language) -> String { self[language] }
}

/// External text made safe for display: cut at 80 characters, with control and invisible characters escaped, so that an
/// argument or a file can't send commands to the terminal.
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
