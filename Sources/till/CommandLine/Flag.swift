import TillBilling

/// One `--name` of a command.
struct Flag: Sendable {
    /// The value after the name.
    enum Value: Sendable {
        /// No value: the flag is set or not.
        case none
        /// Any text; the help shows `placeholder` for it.
        case text(_ placeholder: String)
        /// A decimal whole number in a range.
        case integer(_ placeholder: String, ClosedRange<Int64>)
        /// One of a few words.
        case choice([String])
    }

    /// Without the two dashes.
    let name: String
    let value: Value
    let isRepeatable: Bool
    let summary: LocalizedText

    init(_ name: String, _ value: Value = .none, repeatable: Bool = false, summary: LocalizedText) {
        self.name = name
        self.value = value
        self.isRepeatable = repeatable
        self.summary = summary
    }

    /// `--root CERT`, as the help shows it.
    var usage: String {
        switch value {
        case .none: "--\(name)"
        case .text(let placeholder), .integer(let placeholder, _): "--\(name) \(placeholder)"
        case .choice(let words): "--\(name) \(words.joined(separator: "|"))"
        }
    }
}

extension Flag {
    static let help = Flag("help", summary: LocalizedText(en: "show this help", zh: "显示帮助"))
    static let version = Flag("version", summary: LocalizedText(en: "show the version", zh: "显示版本"))
    static let json = Flag(
        "json",
        summary: LocalizedText(
            en: "print machine-readable JSON, and nothing else, on stdout", zh: "标准输出只打印供程序读取的 JSON"))
    static let lang = Flag(
        "lang", .choice(Language.allCases.map(\.rawValue)),
        summary: LocalizedText(
            en: "language of messages (default: from LC_ALL, LC_MESSAGES, LANG)",
            zh: "提示语言（默认取自 LC_ALL、LC_MESSAGES、LANG）"))

    /// The flags of every command.
    static let common: [Flag] = [.json, .lang, .help]
}

/// One argument of a command without a flag.
struct Positional: Sendable {
    enum Count: Sendable {
        case one
        case optional
        case any
    }

    /// In upper case, as the help shows it.
    let name: String
    let count: Count
    let summary: LocalizedText

    init(_ name: String, _ count: Count = .one, summary: LocalizedText) {
        self.name = name
        self.count = count
        self.summary = summary
    }

    var usage: String {
        switch count {
        case .one: name
        case .optional: "[\(name)]"
        case .any: "[\(name) …]"
        }
    }
}
