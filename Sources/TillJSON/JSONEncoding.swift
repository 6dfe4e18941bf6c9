extension JSONValue {
    /// The JSON text. Members are sorted by key, so equal values have equal texts. The compact form has no blanks, the
    /// pretty form indents by two per level.
    ///
    /// A double that JSON cannot represent (infinite or not a number) is written as `null`.
    public func encoded(pretty: Bool = false) -> String {
        var output = ""
        write(to: &output, level: pretty ? 0 : nil)
        return output
    }

    /// - Parameter level: the depth to indent by; nil for the compact form.
    private func write(to output: inout String, level: Int?) {
        switch self {
        case .null: output += "null"
        case .bool(let truth): output += truth ? "true" : "false"
        case .int(let number): output += String(number)
        case .double(let number): output += number.isFinite ? number.description : "null"
        case .string(let text): Self.write(text, to: &output)
        case .array(let elements):
            Self.write("[", elements, "]", to: &output, level: level) { element, output, inner in
                element.write(to: &output, level: inner)
            }
        case .object(let members):
            let sorted = members.sorted { $0.key < $1.key }
            Self.write("{", sorted, "}", to: &output, level: level) { member, output, inner in
                Self.write(member.key, to: &output)
                output += level == nil ? ":" : ": "
                member.value.write(to: &output, level: inner)
            }
        }
    }

    private static func write<Item>(
        _ opening: String, _ items: [Item], _ closing: String, to output: inout String, level: Int?,
        each: (Item, inout String, Int?) -> Void
    ) {
        output += opening
        let inner = level.map { $0 + 1 }
        for (index, item) in items.enumerated() {
            if index > 0 { output += "," }
            if let inner { output += "\n" + String(repeating: "  ", count: inner) }
            each(item, &output, inner)
        }
        if let level, !items.isEmpty { output += "\n" + String(repeating: "  ", count: level) }
        output += closing
    }

    private static func write(_ text: String, to output: inout String) {
        output += "\""
        defer { output += "\"" }
        // Almost every string needs no escapes and is appended whole: scalar by scalar costs several times as much.
        guard !isPlain(text) else {
            output += text
            return
        }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": output += "\\\""
            case "\\": output += "\\\\"
            case "\n": output += "\\n"
            case "\r": output += "\\r"
            case "\t": output += "\\t"
            case _ where scalar.value < 0x20:
                output += scalar.value < 0x10 ? "\\u000" : "\\u00"
                output += String(scalar.value, radix: 16)
            default: output.unicodeScalars.append(scalar)
            }
        }
    }

    /// Uses bare pointers: the same loop over a collection costs a debug build twenty times as much.
    private static func isPlain(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { units in
            guard let start = units.baseAddress else { return true }
            var index = 0
            while index < units.count {
                let unit = start[index]
                if unit < 0x20 || unit == 0x22 || unit == 0x5C { return false }
                index += 1
            }
            return true
        }
    }
}
