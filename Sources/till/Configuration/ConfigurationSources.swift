import TillBilling
import TillJSON

/// Collects every setting from its sources. Flags override the environment, which overrides the file.
struct ConfigurationSources {
    var reader = SettingReader()
    private(set) var settings: [ConfigurationKey: Setting] = [:]
    /// Whether the file is a JSON object, or no file is given.
    private(set) var fileIsReadable = true
    private let file: String?

    static let maximumFileBytes = 1 << 20

    init(file: String?, environment: [String: String], flags: [ConfigurationKey: String]) {
        self.file = file
        if let file { takeFile(file) }
        takeEnvironment(environment)
        for (key, text) in flags {
            let value: JSONValue = key.form == .truth ? .bool(text == "true") : .string(text)
            settings[key] = Setting(
                value: value, place: SettingLocation(origin: "--" + (key.flagName ?? key.name)), base: ".")
        }
    }

    /// The name of a missing setting: its path in the file, or its variable without a file.
    func place(ofMissing key: ConfigurationKey) -> SettingLocation {
        file.map { SettingLocation(origin: $0, path: key.rawValue) } ?? SettingLocation(origin: key.variable)
    }

    private mutating func takeFile(_ file: String) {
        let place = SettingLocation(origin: file)
        fileIsReadable = false
        guard let value = reader.jsonFile(file, place: place, most: Self.maximumFileBytes) else { return }
        let root = Setting(value: value, place: place, base: directory(of: file))
        guard let members = reader.object(root, names: ConfigurationKey.topLevelNames) else { return }
        fileIsReadable = true
        for key in ConfigurationKey.allCases where key.section == nil { settings[key] = members[key.name] }
        for section in ConfigurationKey.sections {
            let names = ConfigurationKey.names(in: section)
            let members = members[section].flatMap { reader.object($0, names: names) } ?? [:]
            for key in ConfigurationKey.allCases where key.section == section { settings[key] = members[key.name] }
        }
    }

    private mutating func takeEnvironment(_ environment: [String: String]) {
        var known: [String] = []
        for key in ConfigurationKey.allCases {
            known.append(key.variable)
            let place = SettingLocation(origin: key.variable)
            var text = environment[key.variable]
            if key.isSecret {
                let name = key.variable + "_FILE"
                known.append(name)
                if let file = environment[name] {
                    if text != nil {
                        reader.complain(
                            place,
                            LocalizedText(
                                en: "can't be combined with \(name); set only one", zh: "不能与 \(name) 同时设置；只能设置一个"))
                    }
                    reader.noteSecret(in: file)
                    text = reader.file(file, place: SettingLocation(origin: name), most: Self.maximumFileBytes)
                        .map { String(decoding: $0, as: UTF8.self) }
                    if text == nil { continue }
                }
            }
            guard let text else { continue }
            guard let value = value(of: text, key.form, place) else { continue }
            settings[key] = Setting(value: value, place: place, base: ".")
        }
        refuseSlips(in: environment, known: known)
    }

    private mutating func value(of text: String, _ form: ConfigurationKey.VariableForm, _ place: SettingLocation)
        -> JSONValue?
    {
        switch form {
        case .text: return .string(text)
        case .number:
            if let number = Int64(text) { return .int(number) }
            reader.complain(
                place,
                LocalizedText(en: "must be a whole number, found \"\(shown(text))\"", zh: "应为整数，实际为“\(shown(text))”"))
            return nil
        case .truth:
            if let truth = ["true": true, "false": false][text] { return .bool(truth) }
            reader.complain(
                place,
                LocalizedText(
                    en: "must be true or false, found \"\(shown(text))\"", zh: "应为 true 或 false，实际为“\(shown(text))”"))
            return nil
        case .list:
            let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(trimmed)
            return .array(parts.map { .string($0) })
        case .json: return reader.json(Array(text.utf8), place: place)
        }
    }

    /// A variable with a name similar to a known one is refused as a typing error. Other unknown variables are ignored:
    /// an orchestrator that runs a service called "till" sets variables such as `TILL_PORT_8787_TCP` itself.
    private mutating func refuseSlips(in environment: [String: String], known: [String]) {
        let names = known.map { String($0.dropFirst(5)) }
        for name in environment.keys.sorted() where name.hasPrefix("TILL_") && !known.contains(name) {
            guard let near = nearestName(to: String(name.dropFirst(5)), among: names) else { continue }
            reader.complain(
                SettingLocation(origin: name),
                LocalizedText(
                    en: "there is no such variable. Did you mean TILL_\(near)?",
                    zh: "没有这个变量。是否想写 TILL_\(near)？"))
        }
    }
}

private func trimmed(_ part: Substring) -> String {
    var part = part
    while part.first == " " { part.removeFirst() }
    while part.last == " " { part.removeLast() }
    return String(part)
}
