import TillAppStore
import TillBilling
import TillJSON

/// The source of a setting: a file, variable or flag, and the path inside it.
struct SettingLocation: Sendable, Hashable, CustomStringConvertible {
    /// `till.json`, `TILL_SECRET_KEYS`, `--listen`.
    let origin: String
    /// `apple.roots[1]`; empty for the whole value.
    let path: String

    init(origin: String, path: String = "") {
        self.origin = origin
        self.path = path
    }

    func key(_ name: String) -> SettingLocation {
        SettingLocation(origin: origin, path: path.isEmpty ? shown(name) : path + "." + shown(name))
    }

    func index(_ index: Int) -> SettingLocation { SettingLocation(origin: origin, path: path + "[\(index)]") }

    var description: String { path.isEmpty ? shown(origin) : "\(shown(origin)): \(path)" }
}

/// One value of the configuration, and its source.
struct Setting: Sendable {
    let value: JSONValue
    let place: SettingLocation
    /// The directory of its relative paths: the file's own, or the working directory.
    let base: String
}

/// A problem of the configuration.
struct ConfigurationIssue: Sendable, Hashable {
    let place: SettingLocation
    let text: LocalizedText

    var sentence: LocalizedText { LocalizedText(en: "\(place): \(text.en)", zh: "\(place)：\(text.zh)") }
}

/// Reads typed values from settings and collects all problems, so that they are reported at once.
struct SettingReader {
    private(set) var problems: [ConfigurationIssue] = []
    /// Files that contain a secret; the configuration file is one of them if it contains a secret in plain text.
    private(set) var secretFiles: Set<String> = []

    /// The most problems that are reported.
    private static let maximumIssues = 50

    mutating func noteSecret(in file: String) { secretFiles.insert(file) }

    mutating func complain(_ place: SettingLocation, _ text: LocalizedText) {
        if problems.count < Self.maximumIssues { problems.append(ConfigurationIssue(place: place, text: text)) }
    }

    /// The members of an object; members not in `names` are problems.
    mutating func object(_ setting: Setting, names: [String]) -> [String: Setting]? {
        guard case .object(let members) = setting.value else { return wrongType(setting, .object) }
        var found: [String: Setting] = [:]
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            let place = setting.place.key(name)
            guard names.contains(name) else {
                complain(place, Self.unknownKey(name, names))
                continue
            }
            found[name] = Setting(value: value, place: place, base: setting.base)
        }
        return found
    }

    mutating func list(_ setting: Setting, most: Int = 1_000) -> [Setting]? {
        guard case .array(let values) = setting.value else { return wrongType(setting, .array) }
        guard values.count <= most else {
            complain(setting.place, LocalizedText(en: "has more than \(most) entries", zh: "超过 \(most) 项"))
            return nil
        }
        return values.enumerated().map { index, value in
            Setting(value: value, place: setting.place.index(index), base: setting.base)
        }
    }

    /// A text of 1 to `most` bytes.
    mutating func text(_ setting: Setting, most: Int = 1_000) -> String? {
        guard case .string(let text) = setting.value else { return wrongType(setting, .text) }
        guard (1...most).contains(text.utf8.count) else {
            complain(
                setting.place,
                LocalizedText(
                    en: "must be 1 to \(most) bytes long, is \(text.utf8.count)",
                    zh: "长度应在 1 到 \(most) 字节之间，现在是 \(text.utf8.count)"))
            return nil
        }
        return text
    }

    /// An identifier that is compared with values sent by callers.
    mutating func identifier(_ setting: Setting, most: Int = 1_000) -> String? {
        guard let text = text(setting, most: most) else { return nil }
        guard let scalar = text.firstForbiddenScalar else { return text }
        complain(
            setting.place,
            LocalizedText(
                en:
                    "must not contain \(scalar.codePoint): no control characters, line separators or direction marks",
                zh: "不能含有 \(scalar.codePoint)：不允许控制字符、行分隔符和文字方向标记"))
        return nil
    }

    /// A whole number above zero.
    mutating func positiveInteger(_ setting: Setting) -> Int64? {
        guard let number = setting.value.int else { return wrongType(setting, .number) }
        guard number > 0 else {
            complain(setting.place, LocalizedText(en: "must be above zero, is \(number)", zh: "应大于零，现在是 \(number)"))
            return nil
        }
        return number
    }

    mutating func boolean(_ setting: Setting) -> Bool? {
        guard case .bool(let truth) = setting.value else { return wrongType(setting, .truth) }
        return truth
    }

    /// One of a few words.
    mutating func choice<Choice: RawRepresentable & CaseIterable>(_ setting: Setting, of type: Choice.Type) -> Choice?
    where Choice.RawValue == String {
        guard let text = text(setting) else { return nil }
        if let choice = Choice(rawValue: text) { return choice }
        let names = Choice.allCases.map(\.rawValue)
        let near = nearestName(to: text, among: names)
        let known = names.joined(separator: ", ")
        complain(
            setting.place,
            LocalizedText(
                en: "must be one of \(known), found \"\(shown(text))\"" + (near.map { ". Did you mean \($0)?" } ?? ""),
                zh: "应为 \(known) 之一，实际为“\(shown(text))”" + (near.map { "。是否想写 \($0)？" } ?? "")))
        return nil
    }

    /// A required member.
    mutating func required(_ name: String, of members: [String: Setting], in place: SettingLocation) -> Setting? {
        if let setting = members[name] { return setting }
        complain(place.key(name), LocalizedText(en: "is missing", zh: "缺少这一项"))
        return nil
    }

    static func unknownKey(_ name: String, _ names: [String]) -> LocalizedText {
        let listed = names.filter { $0 != "$schema" }.joined(separator: ", ")
        if let near = nearestName(to: name, among: names) {
            return LocalizedText(en: "there is no such key. Did you mean \(near)?", zh: "没有这个键。是否想写 \(near)？")
        }
        return LocalizedText(en: "there is no such key; known: \(listed)", zh: "没有这个键；可用的有：\(listed)")
    }

    // MARK: Wrong types

    enum Wanted {
        case object, array, text, number, truth, textOrObject

        var text: LocalizedText {
            switch self {
            case .object: LocalizedText(en: "an object", zh: "一个对象")
            case .array: LocalizedText(en: "a list", zh: "一个列表")
            case .text: LocalizedText(en: "text", zh: "文字")
            case .number: LocalizedText(en: "a whole number", zh: "一个整数")
            case .truth: LocalizedText(en: "true or false", zh: " true 或 false")
            case .textOrObject: LocalizedText(en: "a path or an object", zh: "一个路径或对象")
            }
        }
    }

    mutating func wrongType<Value>(_ setting: Setting, _ wanted: Wanted) -> Value? {
        let found = Self.describe(setting.value)
        complain(
            setting.place,
            LocalizedText(en: "must be \(wanted.text.en), found \(found.en)", zh: "应为\(wanted.text.zh)，实际为\(found.zh)"))
        return nil
    }

    /// The kind of a value, and the value itself if it is short and can't be a secret.
    private static func describe(_ value: JSONValue) -> LocalizedText {
        switch value {
        case .null: LocalizedText(en: "null", zh: " null")
        case .bool(let flag): LocalizedText(en: "\(flag)", zh: " \(flag)")
        case .int: LocalizedText(en: "a number", zh: "一个数")
        case .double: LocalizedText(en: "a number with a fraction", zh: "一个小数")
        case .string: LocalizedText(en: "text", zh: "文字")
        case .array: LocalizedText(en: "a list", zh: "一个列表")
        case .object: LocalizedText(en: "an object", zh: "一个对象")
        }
    }
}

// MARK: Files and JSON

extension SettingReader {
    mutating func file(_ path: String, place: SettingLocation, most: Int) -> [UInt8]? {
        do {
            return try readFile(path, limit: most)
        } catch {
            complain(place, place.origin == path ? error.reason : error.sentence)
            return nil
        }
    }

    mutating func jsonFile(_ path: String, place: SettingLocation, most: Int) -> JSONValue? {
        file(path, place: place, most: most).flatMap { json($0, place: place) }
    }

    mutating func json(_ content: [UInt8], place: SettingLocation) -> JSONValue? {
        if let mistake = JSONMistake(in: content) { complain(place, mistake.sentence) }
        return try? JSONValue(decoding: content)
    }
}
