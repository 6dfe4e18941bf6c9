import TillJSON

/// The part of JSON Schema that Till's own document uses. It also reports members that a schema doesn't name, because
/// everything that is sent must be described.
struct SchemaCheck {
    let document: JSONValue

    /// The mismatches, each with its place.
    func problems(_ value: JSONValue, _ schema: JSONValue, at place: String = "$") -> [String] {
        if let reference = schema["$ref"]?.string { return problems(value, resolve(reference), at: place) }
        if let choices = schema["anyOf"]?.array {
            let tries = choices.map { problems(value, $0, at: place) }
            return tries.contains { $0.isEmpty } ? [] : tries.first ?? []
        }
        var found: [String] = []
        if let choices = schema["oneOf"]?.array {
            let fitting = choices.count { choice in
                let isForbidden = choice["not"].map { missing(value, $0["required"]).isEmpty } ?? false
                return missing(value, choice["required"]).isEmpty && !isForbidden
            }
            if fitting != 1 { found.append("\(place): fits \(fitting) of \(choices.count)") }
        }
        if let type = schema["type"] {
            let types = type.array?.compactMap(\.string) ?? [type.string ?? ""]
            guard types.contains(where: { isOf($0, value) }) else {
                return ["\(place): no \(types): \(value.encoded())"]
            }
        }
        if let words = schema["enum"]?.array, !words.contains(value) { found.append("\(place): \(value) isn't listed") }
        if let number = value.number {
            if let minimum = schema["minimum"]?.number, number < minimum { found.append("\(place): below \(minimum)") }
            if let maximum = schema["maximum"]?.number, number > maximum { found.append("\(place): above \(maximum)") }
        }
        if let maximum = schema["maxLength"]?.int, let text = value.string, text.count > maximum {
            found.append("\(place): longer than \(maximum)")
        }
        found += missing(value, schema["required"]).map { "\(place).\($0): missing" }
        if let items = schema["items"] {
            for (index, element) in (value.array ?? []).enumerated() {
                found += problems(element, items, at: "\(place)[\(index)]")
            }
        }
        if schema["properties"] != nil || schema["additionalProperties"] != nil {
            for (name, member) in value.object ?? [:] {
                if let known = schema["properties"]?[name] ?? schema["additionalProperties"] {
                    found += problems(member, known, at: "\(place).\(name)")
                } else {
                    found.append("\(place).\(name): not described")
                }
            }
        }
        return found
    }

    func resolve(_ reference: String) -> JSONValue {
        reference.split(separator: "/").dropFirst().reduce(document) { $0[String($1)] ?? .null }
    }

    private func missing(_ value: JSONValue, _ required: JSONValue?) -> [String] {
        guard let members = value.object else { return [] }
        return (required?.array ?? []).compactMap(\.string).filter { members[$0] == nil }
    }

    private func isOf(_ type: String, _ value: JSONValue) -> Bool {
        switch (type, value) {
        case ("object", .object), ("array", .array), ("string", .string), ("boolean", .bool), ("null", .null),
            ("integer", .int), ("number", .int), ("number", .double):
            true
        default: false
        }
    }
}
