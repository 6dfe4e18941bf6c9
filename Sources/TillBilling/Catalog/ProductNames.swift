/// The names of a product, by language: `{"en": "60 points", "zh-Hant": "60 學點"}`. At least one; any language that
/// IETF's BCP 47 has a tag for.
public struct ProductNames: Hashable, Sendable {
    /// By language tag, as the catalogue gives them.
    public let all: [String: String]

    public init(_ all: [String: String]) { self.all = all }

    public init(_ text: LocalizedText) { self.init(["en": text.en, "zh": text.zh]) }

    /// The English name, or the one that is shown in its place.
    public var en: String { name(in: "en") }
    /// The Chinese name, or the one that is shown in its place.
    public var zh: String { name(in: "zh") }
    /// Both languages of Till's own sentences.
    public var bilingual: LocalizedText { LocalizedText(en: en, zh: zh) }

    public subscript(language: Language) -> String { name(in: language.rawValue) }

    /// The name for the value of an HTTP `Accept-Language` header.
    public func name(preferring preference: String) -> String {
        for tag in LanguageRange.ranked(preference) {
            if let name = match(tag) { return name }
        }
        return fallback
    }

    /// The name in a language; English if there is none, or else the first by language tag.
    public func name(in tag: String) -> String { match(tag.lowercased()) ?? fallback }

    /// The look-up of RFC 4647 §3.4: `zh-hant-tw`, `zh-hant`, `zh`; then any other form of the language.
    private func match(_ wanted: String) -> String? {
        let sorted = all.sorted { $0.key < $1.key }
        var tag = wanted[...]
        while !tag.isEmpty {
            if let found = sorted.first(where: { $0.key.lowercased() == tag }) { return found.value }
            tag = tag.lastIndex(of: "-").map { tag[..<$0] } ?? ""
        }
        let primary = LanguageRange.primary(wanted)
        return sorted.first { LanguageRange.primary($0.key.lowercased()) == primary }?.value
    }

    private var fallback: String { match("en") ?? all.min { $0.key < $1.key }?.value ?? "" }

    /// The language tags that are none: letters and digits in parts of 1 to 8, the first of letters.
    public var malformedTags: [String] { all.keys.filter { !LanguageRange.isTag($0) }.sorted() }
}

extension ProductNames: Codable {
    private struct Tag: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(_ tag: String) { stringValue = tag }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Tag.self)
        var all: [String: String] = [:]
        for tag in container.allKeys { all[tag.stringValue] = try container.decode(String.self, forKey: tag) }
        self.init(all)
    }

    /// All names, and always `en` and `zh`: apps of earlier versions read both.
    public var written: [String: String] {
        guard all["en"] == nil || all["zh"] == nil else { return all }
        return all.merging(["en": en, "zh": zh]) { given, _ in given }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Tag.self)
        for (tag, name) in written.sorted(by: { $0.key < $1.key }) { try container.encode(name, forKey: Tag(tag)) }
    }
}

/// The ranges of an `Accept-Language` header (RFC 9110 §12.5.4).
private enum LanguageRange {
    /// In lower case, the most wanted first; without `*` and without those of quality 0.
    static func ranked(_ header: String) -> [String] {
        let ranges = header.split(separator: ",").prefix(16).enumerated().compactMap {
            (place, item) -> (quality: Double, place: Int, tag: String)? in
            let parts = item.split(separator: ";")
            let tag = String((parts.first ?? "").filter { $0 != " " }).lowercased()
            var quality = 1.0
            for parameter in parts.dropFirst() {
                let trimmed = parameter.filter { $0 != " " }
                if trimmed.hasPrefix("q=") { quality = Double(trimmed.dropFirst(2)) ?? 0 }
            }
            return isTag(tag) && quality > 0 ? (quality, place, tag) : nil
        }
        return ranges.sorted { ($1.quality, $0.place) < ($0.quality, $1.place) }.map(\.tag)
    }

    static func primary(_ tag: String) -> Substring { tag.prefix { $0 != "-" } }

    static func isTag(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard let first = parts.first, text.utf8.count <= 35, first.utf8.count >= 2, first.utf8.allSatisfy(isLetter)
        else { return false }
        return parts.allSatisfy { part in
            (1...8).contains(part.utf8.count)
                && part.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) }
        }
    }

    private static func isLetter(_ unit: UInt8) -> Bool { (0x61...0x7A).contains(unit | 0x20) }
}
