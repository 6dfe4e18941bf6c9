import TillBilling

/// A piece of a page. Text is always escaped, names of elements and attributes are literals in the source, and links
/// exist only as `PageLink`: outside text cannot become markup in any page.
public struct HTML: Sendable, Hashable {
    public private(set) var markup: String

    fileprivate init(safe markup: String) { self.markup = markup }

    public static let empty = HTML(safe: "")

    /// Escaped text. Characters that would reorder or hide other characters are shown by their code points.
    public init(_ text: String) {
        var markup = ""
        Self.escape(text, into: &markup)
        self.markup = markup
    }

    public static func + (left: HTML, right: HTML) -> HTML { HTML(safe: left.markup + right.markup) }

    /// The whole document.
    public func document() -> [UInt8] { Array("<!DOCTYPE html>\n".utf8) + Array(markup.utf8) + [UInt8(ascii: "\n")] }

    fileprivate static func escape(_ text: String, into markup: inout String) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": markup += "&amp;"
            case "<": markup += "&lt;"
            case ">": markup += "&gt;"
            case "\"": markup += "&quot;"
            case "'": markup += "&#39;"
            case "\n": markup += "\n"
            case _ where scalar.isDeceptive:
                markup += "⟨U+"
                let digits = String(scalar.value, radix: 16, uppercase: true)
                markup += String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits + "⟩"
            default: markup.unicodeScalars.append(scalar)
            }
        }
    }
}

extension Unicode.Scalar {
    /// Controls, marks of writing direction and characters without width: in an id they make two values look alike, or
    /// one read backwards (Unicode TR 36 §2).
    fileprivate var isDeceptive: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

/// An attribute of an element. A value that is not a literal in the source enters only through the functions below;
/// browsers execute none of these attributes.
public struct Attribute: Sendable {
    fileprivate let name: StaticString
    fileprivate let value: String?

    private init(_ name: StaticString, text: String?) {
        self.name = name
        value = text
    }

    public init(_ name: StaticString, _ value: StaticString) { self.init(name, text: "\(value)") }

    public static func `class`(_ names: StaticString...) -> Attribute {
        Attribute("class", text: names.map { "\($0)" }.joined(separator: " "))
    }

    /// An attribute without a value.
    public static func flag(_ name: StaticString) -> Attribute { Attribute(name, text: nil) }
    public static func href(_ link: PageLink) -> Attribute { Attribute("href", text: link.text) }
    public static func action(_ link: PageLink) -> Attribute { Attribute("action", text: link.text) }
    public static func source(_ link: PageLink) -> Attribute { Attribute("src", text: link.text) }
    public static func value(_ text: String) -> Attribute { Attribute("value", text: text) }
    public static func label(_ text: String) -> Attribute { Attribute("aria-label", text: text) }
    public static func placeholder(_ text: String) -> Attribute { Attribute("placeholder", text: text) }
    public static func datetime(_ instant: Instant) -> Attribute { Attribute("datetime", text: instant.rfc3339) }
    public static func language(_ language: Language) -> Attribute {
        Attribute("lang", text: language == .chinese ? "zh-Hans" : "en")
    }
    public static func id(_ prefix: StaticString, _ id: UniqueID) -> Attribute {
        Attribute("id", text: "\(prefix)-\(id)")
    }
    /// A measure in a drawing, as an attribute: a content security policy that forbids styles allows these.
    public static func measure(_ name: StaticString, _ number: Int64) -> Attribute {
        Attribute(name, text: String(number))
    }
    /// An id that contains a number.
    public static func id(_ prefix: StaticString, _ number: Int64) -> Attribute {
        Attribute("id", text: "\(prefix)-\(number)")
    }
    /// The id of another element, as labels and descriptions refer to it.
    public static func reference(_ name: StaticString, _ prefix: StaticString, _ number: Int64) -> Attribute {
        Attribute(name, text: "\(prefix)-\(number)")
    }
    /// Data for our own script, which only compares it or shows it as text.
    public static func data(_ name: StaticString, _ text: String) -> Attribute { Attribute(name, text: text) }

    fileprivate func write(to markup: inout String) {
        markup += " \(name)"
        guard let value else { return }
        markup += "=\""
        HTML.escape(value, into: &markup)
        markup += "\""
    }
}

/// `<name attributes>content</name>`.
public func element(_ name: StaticString, _ attributes: Attribute..., @HTMLBuilder content: () -> HTML) -> HTML {
    var markup = "<\(name)"
    for attribute in attributes { attribute.write(to: &markup) }
    markup += ">"
    markup += content().markup
    markup += "</\(name)>"
    return HTML(safe: markup)
}

/// `<name attributes>`, for elements without content.
public func emptyElement(_ name: StaticString, _ attributes: [Attribute]) -> HTML {
    var markup = "<\(name)"
    for attribute in attributes { attribute.write(to: &markup) }
    markup += ">"
    return HTML(safe: markup)
}

public func emptyElement(_ name: StaticString, _ attributes: Attribute...) -> HTML { emptyElement(name, attributes) }

@resultBuilder
public enum HTMLBuilder {
    public static func buildExpression(_ html: HTML) -> HTML { html }
    public static func buildExpression(_ text: String) -> HTML { HTML(text) }
    public static func buildBlock(_ parts: HTML...) -> HTML { HTML(safe: parts.map(\.markup).joined()) }
    public static func buildArray(_ parts: [HTML]) -> HTML { HTML(safe: parts.map(\.markup).joined()) }
    public static func buildOptional(_ part: HTML?) -> HTML { part ?? .empty }
    public static func buildEither(first part: HTML) -> HTML { part }
    public static func buildEither(second part: HTML) -> HTML { part }
}
