import TillBilling
import TillJSON

/// Bodies and queries held to what a route declares of them.
extension RequestBody {
    /// - Throws: what is wrong with this one member; what it holds inside is not looked at.
    func check(_ member: ControlMember) throws(Problem) {
        let name = member.name
        guard let value = value(name) else {
            if member.isRequired {
                throw .badRequest("missing_member", "The member \"\(name)\" is missing.", "缺少成员 “\(name)”。")
            }
            return
        }
        switch member.kind {
        case .text(let limit): _ = try text(name, upTo: limit)
        case .integer(let range): _ = try integer(name, in: range)
        case .number:
            switch value {
            case .int, .double: break
            default: throw Self.wrong(name, "a number", "数字")
            }
        case .bool: _ = try bool(name)
        case .uuid: _ = try uniqueID(name)
        case .instant: _ = try instant(name)
        case .span: _ = try span(name)
        case .choice(let words):
            guard let text = value.string, words.contains(text) else {
                let all = words.map { "\"\($0)\"" }.joined(separator: ", ")
                throw Self.wrong(name, "one of \(all)", "以下之一：\(all)")
            }
        case .object, .map:
            guard value.object != nil else { throw Self.wrong(name, "an object", "对象") }
        case .list, .texts:
            guard value.array != nil else { throw Self.wrong(name, "a list", "列表") }
        }
    }

    /// A misspelt name would else be a question about something else, and of two values one would go unheard.
    static func check(query: [(name: String, value: String)], against members: [ControlMember]) throws(Problem) {
        try check(query.map(\.name), among: members.map(\.name))
        var given: [String: JSONValue] = [:]
        for item in query {
            guard !given.keys.contains(item.name) else {
                throw .badRequest(
                    "wrong_value", "\"\(item.name)\" is there twice.", "“\(item.name)” 出现了两次。")
            }
            given[item.name] = .string(item.value)
        }
        for member in members {
            guard let text = given[member.name]?.string else { continue }
            switch member.kind {
            case .integer, .number:
                if let number = Int64(text) {
                    given[member.name] = .int(number)
                } else if let number = Double(text), number.isFinite {
                    given[member.name] = .double(number)
                }
            case .bool where text == "true" || text == "false": given[member.name] = .bool(text == "true")
            case .text, .bool, .uuid, .instant, .span, .choice, .object, .list, .texts, .map: break
            }
        }
        let checked = try RequestBody(.object(given), knowing: members.map(\.name))
        for member in members { try checked.check(member) }
    }
}
