import TillAppStore
import TillBilling
import TillJSON

/// A store's products read from a file: in Till's own form (`PUT /emulator/products`), or as Xcode's StoreKit
/// configuration file (`.storekit`, versions 1 to 5).
public struct ProductFile: Sendable {
    public internal(set) var products: [StoreProduct]
    /// The storefront of the file's customer, ISO 3166-1 alpha-3; nil if the file has none.
    public internal(set) var storefront: String?
    /// Nil if the file has none.
    public internal(set) var pace: RenewalPace?
    /// The members that the emulator ignores: `settings._askToBuyEnabled`. List items share one entry:
    /// `products[].internalID`.
    public internal(set) var ignored: [String]

    /// Why a file can't be used.
    public struct FormatError: Error, Sendable, Hashable {
        /// A stable code.
        public let code: String
        /// Names the member by its path.
        public let sentence: LocalizedText
    }

    /// Larger files are refused, in bytes.
    public static let byteLimit = 4 << 20

    /// - Parameter bytes: the file, JSON.
    public init(_ bytes: [UInt8]) throws(FormatError) {
        if let mistake = JSONMistake(in: bytes) { throw FormatError(code: "not_json", sentence: mistake.sentence) }
        do {
            try self.init(reading: bytes)
        } catch {
            throw FormatError(code: error.code, sentence: LocalizedText(en: error.english, zh: error.chinese))
        }
    }

    init(reading bytes: [UInt8]) throws(ControlError) {
        guard bytes.count <= Self.byteLimit,
            let value = try? JSONValue(decoding: bytes.isEmpty ? Array("{}".utf8) : bytes)
        else {
            throw .notJSON(bytes)
        }
        guard case .object(let members) = value else {
            throw .badRequest("not_an_object", "Expected a JSON object.", "这里需要一个 JSON 对象。")
        }
        if StoreKitFile.isRecognised(by: Set(members.keys)) {
            self = try StoreKitFile(FileMember(value)).content()
        } else {
            self.init(products: try ProductText.products(FileMember(value)))
        }
        try ProductRules.check(products)
    }

    init(products: [StoreProduct], storefront: String? = nil, pace: RenewalPace? = nil, ignored: [String] = []) {
        self.products = products
        self.storefront = storefront
        self.pace = pace
        self.ignored = ignored
    }
}

/// A value in a product file and its path: `subscriptionGroups[0].subscriptions[2].displayPrice`.
struct FileMember {
    let value: JSONValue
    /// Empty for the whole file.
    let path: String

    init(_ value: JSONValue, path: String = "") {
        self.value = value
        self.path = path
    }

    /// The member with this name; nil if it is missing or `null`.
    func member(_ name: String) throws(ControlError) -> FileMember? {
        guard case .object(let members) = value else { throw wrong("an object", "一个对象") }
        guard let value = members[name], !value.isNull else { return .none }
        return FileMember(value, path: place(name))
    }

    func required(_ name: String) throws(ControlError) -> FileMember {
        if let member = try member(name) { return member }
        throw .badRequest("missing_member", "\"\(place(name))\" is missing.", "缺少成员 “\(place(name))”。")
    }

    /// The items of a list; empty if the member is missing.
    func list(_ name: String, upTo limit: Int) throws(ControlError) -> [FileMember] {
        try member(name)?.items(upTo: limit) ?? []
    }

    func items(upTo limit: Int) throws(ControlError) -> [FileMember] {
        guard case .array(let items) = value, items.count <= limit else {
            throw wrong("a list of at most \(limit)", "不超过 \(limit) 项的列表")
        }
        return items.enumerated().map { FileMember($1, path: "\(path)[\($0)]") }
    }

    /// Names and values of an object with arbitrary member names, sorted by name.
    func members(upTo limit: Int) throws(ControlError) -> [(name: String, member: FileMember)] {
        guard case .object(let members) = value, members.count <= limit else {
            throw wrong("an object of at most \(limit) members", "不超过 \(limit) 个成员的对象")
        }
        return members.sorted { $0.key < $1.key }.map { ($0.key, FileMember($0.value, path: place($0.key))) }
    }

    /// A text of 1 to `limit` characters.
    func text(_ name: String, upTo limit: Int) throws(ControlError) -> String? { try member(name)?.text(upTo: limit) }

    func text(upTo limit: Int) throws(ControlError) -> String {
        // Counted in scalars, because one character may consist of any number of them.
        guard case .string(let text) = value, (1...limit).contains(text.unicodeScalars.count) else {
            throw wrong("a text of 1 to \(limit) characters", "1 到 \(limit) 个字符的文本")
        }
        return text
    }

    /// A text that customers read, of at most `limit` characters; it may be empty.
    func copy(_ name: String, upTo limit: Int) throws(ControlError) -> String {
        let member = try required(name)
        return member.value == "" ? "" : try member.text(upTo: limit)
    }

    func integer(_ name: String, in range: ClosedRange<Int64>) throws(ControlError) -> Int64? {
        guard let member = try member(name) else { return nil }
        guard case .int(let number) = member.value, range.contains(number) else {
            throw member.wrong(
                "a whole number from \(range.lowerBound) to \(range.upperBound)",
                "\(range.lowerBound) 到 \(range.upperBound) 的整数")
        }
        return number
    }

    func bool(_ name: String) throws(ControlError) -> Bool? {
        guard let member = try member(name) else { return nil }
        guard case .bool(let truth) = member.value else { throw member.wrong("true or false", "true 或 false") }
        return truth
    }

    func choice<Choice>(_ name: String, of choices: [(text: String, value: Choice)]) throws(ControlError) -> Choice? {
        guard let member = try member(name) else { return nil }
        if case .string(let text) = member.value, let found = choices.first(where: { $0.text == text }) {
            return found.value
        }
        let all = choices.map { "\"\($0.text)\"" }.joined(separator: ", ")
        throw member.wrong("one of \(all)", "以下之一：\(all)")
    }

    func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, of type: Choice.Type
    ) throws(ControlError) -> Choice? where Choice.RawValue == String {
        try choice(name, of: Choice.allCases.map { ($0.rawValue, $0) })
    }

    /// Refuses members with other names.
    func knows(_ names: [String]) throws(ControlError) {
        guard case .object(let members) = value else { throw wrong("an object", "一个对象") }
        for name in members.keys.sorted() where !names.contains(name) {
            let nearest = nearestName(to: String(name.prefix(60)), among: names)
            let known = names.joined(separator: ", ")
            throw .badRequest(
                "unknown_member",
                "The member \"\(place(name))\" is unknown"
                    + (nearest.map { "; did you mean \"\($0)\"?" } ?? ". Known members: \(known)."),
                "未知成员 “\(place(name))”" + (nearest.map { "，是否想写 “\($0)”？" } ?? "。可用的有：\(known)。"))
        }
    }

    func wrong(_ english: String, _ chinese: String) -> ControlError {
        path.isEmpty
            ? .badRequest("wrong_value", "The file must be \(english).", "文件必须是\(chinese)。")
            : RequestBody.wrong(path, english, chinese)
    }

    func place(_ name: String) -> String {
        let short = Self.legible(name)
        return path.isEmpty ? short : "\(path).\(short)"
    }

    /// A text from outside, made safe for a message: shortened, and without characters that control a terminal.
    static func legible(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars.prefix(60) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned:
                result.unicodeScalars.append("\u{FFFD}")
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
