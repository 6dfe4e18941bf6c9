import TillBilling
import TillJSON

@testable import TillEmulator

/// Compares an answer of the control API with its route's declaration: no undeclared member, all required members, and
/// every value of its declared type.
enum ControlAnswers {
    /// - Returns: the deviations, each with its path.
    static func check(_ json: JSONValue, against answer: ControlResponse) -> [String] {
        members(json, answer.members, at: answer.name)
    }

    private static func members(_ json: JSONValue, _ members: [ControlMember], at place: String) -> [String] {
        guard let object = json.object else { return ["\(place): no object: \(json.encoded().prefix(80))"] }
        // A declaration without members makes no statement about the content.
        guard !members.isEmpty else { return [] }
        let undeclared = object.keys.filter { name in !members.contains { $0.name == name } }.sorted()
        var problems = undeclared.map { "\(place).\($0): not declared" }
        for member in members {
            let here = "\(place).\(member.name)"
            // A null counts as absent.
            guard let value = object[member.name], value != JSONValue.null else {
                if member.isRequired { problems.append("\(here): missing") }
                continue
            }
            problems += kind(value, member.kind, at: here)
        }
        return problems
    }

    private static func kind(_ value: JSONValue, _ kind: ControlMember.Kind, at place: String) -> [String] {
        let fits: Bool
        switch kind {
        case .text(let limit): fits = value.string.map { $0.utf8.count <= limit } ?? false
        case .integer(let range): fits = value.int.map(range.contains) ?? false
        case .number:
            switch value {
            case .int, .double: fits = true
            default: fits = false
            }
        case .bool: fits = value.bool != nil
        case .uuid: fits = value.string.flatMap { UniqueID($0) } != nil
        case .instant: fits = value.string.flatMap { Instant(rfc3339: $0) }.map { $0.rfc3339 == value.string } ?? false
        case .span: fits = value.string.flatMap { Span($0) } != nil
        case .choice(let words): fits = value.string.map(words.contains) ?? false
        case .texts: fits = value.array.map { $0.allSatisfy { $0.string != nil } } ?? false
        case .map: fits = value.object != nil
        case .object(let inner): return members(value, inner, at: place)
        case .list(let inner):
            guard let items = value.array else { return ["\(place): no list"] }
            return items.enumerated().flatMap { index, item in members(item, inner, at: "\(place)[\(index)]") }
        }
        return fits ? [] : ["\(place): no \(kind): \(value.encoded().prefix(80))"]
    }
}
