import TillJSON

/// The text of a JSON object whose lists are edited in place: everything beside the edited entry keeps its bytes, its
/// order and its layout.
struct JSONListText {
    private(set) var bytes: [UInt8]

    /// Nil unless the text is one JSON object.
    init?(_ bytes: [UInt8]) {
        guard case .object? = try? JSONValue(decoding: bytes) else { return nil }
        self.bytes = bytes
    }

    /// The values of an object or a list, with their names.
    private struct Item {
        /// The name's text with its quotes; empty in a list.
        let name: Range<Int>
        let value: Range<Int>
        /// The whole item: the name, if any, and the value.
        var all: Range<Int> { (name.isEmpty ? value.lowerBound : name.lowerBound)..<value.upperBound }
    }

    // MARK: Edits

    /// Adds an entry at the end of a list of the object; the list is made if it is missing.
    mutating func append(_ entry: String, to list: String) {
        let members = items(of: whole)
        guard let member = member(list, of: members) else {
            let layout = members.last.map { blank(before: $0.all.lowerBound) } ?? "\n  "
            let step = layout.contains("\n") ? layout + "  " : ""
            let end = layout.contains("\n") ? layout : ""
            let text = "\"\(list)\": [\(step)\(entry)\(end)]"
            if let last = members.last {
                insert(",\(layout.isEmpty ? " " : layout)\(text)", at: last.all.upperBound)
            } else {
                replace(whole, with: "{\(layout)\(text)\n}")
            }
            return
        }
        let entries = items(of: member.value)
        guard let last = entries.last else {
            let layout = blank(before: member.all.lowerBound)
            let isSpread = layout.contains("\n")
            replace(member.value, with: isSpread ? "[\(layout)  \(entry)\(layout)]" : "[\(entry)]")
            return
        }
        let layout = blank(before: last.all.lowerBound)
        insert(",\(layout.isEmpty ? " " : layout)\(entry)", at: last.all.upperBound)
    }

    /// Removes an entry of a list.
    mutating func remove(_ index: Int, of list: String) {
        guard let member = member(list, of: items(of: whole)) else { return }
        let entries = items(of: member.value)
        guard entries.indices.contains(index) else { return }
        if entries.count == 1 {
            replace(member.value, with: "[]")
        } else if index + 1 < entries.count {
            replace(entries[index].all.lowerBound..<entries[index + 1].all.lowerBound, with: "")
        } else {
            replace(entries[index - 1].all.upperBound..<entries[index].all.upperBound, with: "")
        }
    }

    /// Sets a member of an entry of a list to a text.
    mutating func set(_ name: String, to text: String, in index: Int, of list: String) {
        guard let member = member(list, of: items(of: whole)) else { return }
        let entries = items(of: member.value)
        guard entries.indices.contains(index) else { return }
        let members = items(of: entries[index].value)
        let value = JSONValue.string(text).encoded()
        if let known = self.member(name, of: members) {
            replace(known.value, with: value)
        } else if let last = members.last {
            let layout = blank(before: last.all.lowerBound)
            insert(",\(layout.isEmpty ? " " : layout)\"\(name)\": \(value)", at: last.all.upperBound)
        }
    }

    private mutating func insert(_ text: String, at index: Int) { replace(index..<index, with: text) }

    private mutating func replace(_ range: Range<Int>, with text: String) {
        bytes.replaceSubrange(range, with: Array(text.utf8))
    }

    // MARK: Reading

    /// The outermost object, without blanks around it.
    private var whole: Range<Int> {
        let start = afterBlank(0)
        return start..<end(ofValueAt: start)
    }

    private func member(_ name: String, of members: [Item]) -> Item? {
        members.first { (try? JSONValue(decoding: bytes[$0.name])) == .string(name) }
    }

    /// The items of the object or list at `range`; empty for any other value.
    private func items(of range: Range<Int>) -> [Item] {
        guard let first = bytes[range].first, Self.isOpening(first) else { return [] }
        let isObject = first == UInt8(ascii: "{")
        var found: [Item] = []
        var position = afterBlank(range.lowerBound + 1)
        while position < range.upperBound - 1 {
            var name = position..<position
            if isObject {
                name = position..<end(ofValueAt: position)
                // The colon.
                position = afterBlank(afterBlank(name.upperBound) + 1)
            }
            let value = position..<end(ofValueAt: position)
            found.append(Item(name: name, value: value))
            // The comma, or the closing bracket.
            position = afterBlank(afterBlank(value.upperBound) + 1)
        }
        return found
    }

    private func afterBlank(_ index: Int) -> Int {
        bytes[min(index, bytes.count)...].firstIndex { !Self.isBlank($0) } ?? bytes.count
    }

    /// The blanks directly before an index.
    private func blank(before index: Int) -> String {
        let start = bytes[..<index].lastIndex { !Self.isBlank($0) }.map { $0 + 1 } ?? 0
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    /// The text was parsed before, so brackets match and strings end.
    private func end(ofValueAt start: Int) -> Int {
        var depth = 0
        var position = start
        while position < bytes.count {
            let unit = bytes[position]
            if unit == UInt8(ascii: "\"") {
                position = end(ofStringAt: position)
            } else {
                if Self.isOpening(unit) { depth += 1 }
                if Self.isClosing(unit) || unit == UInt8(ascii: ",") || unit == UInt8(ascii: ":") || Self.isBlank(unit)
                {
                    // A number or a word ends before the next sign.
                    if depth == 0 { return position }
                    if Self.isClosing(unit) { depth -= 1 }
                }
                position += 1
            }
            let isWord = position < bytes.count && depth == 0 && !Self.isClosing(unit) && unit != UInt8(ascii: "\"")
            if depth == 0, !isWord { return position }
        }
        return bytes.count
    }

    private func end(ofStringAt start: Int) -> Int {
        var position = start + 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(position + 1, bytes.count)
    }

    private static func isBlank(_ unit: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(unit) }
    private static func isOpening(_ unit: UInt8) -> Bool { unit == UInt8(ascii: "{") || unit == UInt8(ascii: "[") }
    private static func isClosing(_ unit: UInt8) -> Bool { unit == UInt8(ascii: "}") || unit == UInt8(ascii: "]") }
}
