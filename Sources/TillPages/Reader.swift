import TillBilling

/// Says everything in the reader's language.
public struct Reader: Sendable {
    public let language: Language

    public init(language: Language) { self.language = language }

    public func callAsFunction(_ english: String, _ chinese: String) -> String {
        switch language {
        case .english: english
        case .chinese: chinese
        }
    }

    public func callAsFunction(_ text: Text) -> String { text[language] }
}
