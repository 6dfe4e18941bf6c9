/// The languages of Till. Both have the same content.
public enum Language: String, Hashable, Sendable, Codable, CaseIterable {
    case english = "en"
    case chinese = "zh"

    /// The preferred language in an HTTP `Accept-Language` value or a `LANG` variable; English if neither language is
    /// requested.
    public init(preference: String) {
        var best: (quality: Double, language: Language)?
        for item in preference.split(separator: ",").prefix(16) {
            let parts = item.split(separator: ";")
            guard let tag = parts.first?.drop(while: { $0 == " " }) else { continue }
            var quality = 1.0
            for parameter in parts.dropFirst() {
                let trimmed = parameter.drop { $0 == " " }
                if trimmed.hasPrefix("q=") { quality = Double(trimmed.dropFirst(2)) ?? 0 }
            }
            let primary = tag.prefix { $0 != "-" && $0 != "_" && $0 != "." && $0 != " " }.lowercased()
            guard let language = Language(rawValue: primary), quality > best?.quality ?? 0 else { continue }
            best = (quality, language)
        }
        self = best?.language ?? .english
    }
}

/// One sentence or name in both languages.
public struct LocalizedText: Hashable, Sendable, Codable {
    public let en: String
    public let zh: String

    public init(en: String, zh: String) {
        self.en = en
        self.zh = zh
    }

    public subscript(language: Language) -> String {
        switch language {
        case .english: en
        case .chinese: zh
        }
    }
}
