import TillBilling

/// Parses an argument list for a set of commands, without running them.
struct CommandLineParser: Sendable {
    let commands: [Command]

    /// The meaning of the arguments.
    enum Request: Sendable {
        case help(Command?)
        case version
        case run(Command)
    }

    struct Result: Sendable {
        var request: Request
        var wantsJSON = false
        var language: Language?
        var positionals: [String] = []
        var values: [String: [String]] = [:]
    }

    /// - Parameter arguments: without the program's own name.
    func parse(_ arguments: [String]) throws(UsageError) -> Result {
        var rest = arguments[...]
        var values: [String: [String]] = [:]
        var result = Result(request: .help(nil))
        let outer = Flag.common + [.version]
        while let argument = rest.first, argument.hasPrefix("-") {
            rest.removeFirst()
            if argument == "-h" || argument == "--help" { return finished(result, values) }
            try takeFlag(argument, from: outer, command: nil, rest: &rest, into: &values)
        }
        guard let name = rest.popFirst() else {
            guard values[Flag.version.name] != nil else {
                throw UsageError(LocalizedText(en: "no command given", zh: "缺少命令"))
            }
            result.request = .version
            return finished(result, values)
        }
        if name == "help" {
            if let about = rest.first { result.request = .help(try find(about)) }
            return finished(result, values)
        }
        let command = try find(name)
        result.request = .run(command)
        try takeArguments(of: command, rest: &rest, values: &values, result: &result)
        return finished(result, values)
    }

    /// The language requested in the arguments, even if they are invalid otherwise.
    static func language(in arguments: [String]) -> Language? {
        var found: Language?
        for (index, argument) in arguments.enumerated() {
            if argument == "--" { break }
            if argument == "--lang", index + 1 < arguments.count {
                found = Language(rawValue: arguments[index + 1]) ?? found
            } else if argument.hasPrefix("--lang=") {
                found = Language(rawValue: String(argument.dropFirst(7))) ?? found
            }
        }
        return found
    }

    private func find(_ name: String) throws(UsageError) -> Command {
        if let command = commands.first(where: { $0.name == name }) { return command }
        throw UsageError(
            LocalizedText(en: "there is no command \"\(shown(name))\"", zh: "没有命令“\(shown(name))”"),
            suggestion: nearestName(to: name, among: commands.map(\.name)).map { "till \($0)" })
    }

    private func finished(_ result: Result, _ values: [String: [String]]) -> Result {
        var result = result
        result.wantsJSON = values[Flag.json.name] != nil
        result.language = values[Flag.lang.name]?.last.flatMap(Language.init(rawValue:))
        result.values = values
        return result
    }

    private func takeArguments(
        of command: Command, rest: inout ArraySlice<String>, values: inout [String: [String]], result: inout Result
    ) throws(UsageError) {
        let flags = command.flags + Flag.common
        var onlyPositionals = false
        while let argument = rest.popFirst() {
            if onlyPositionals || argument == "-" || !argument.hasPrefix("-") {
                result.positionals.append(argument)
            } else if argument == "--" {
                onlyPositionals = true
            } else if argument == "--help" || argument == "-h" {
                result.request = .help(command)
                return
            } else {
                try takeFlag(argument, from: flags, command: command, rest: &rest, into: &values)
            }
        }
        let least = command.positionals.filter { $0.count == .one }.count
        let most = command.positionals.contains { $0.count == .any } ? Int.max : command.positionals.count
        if result.positionals.count < least {
            let missing = command.positionals[result.positionals.count].name
            throw UsageError(
                LocalizedText(en: "\(missing) is missing", zh: "缺少 \(missing)"), command: command.name)
        }
        if result.positionals.count > most {
            let extra = shown(result.positionals[most])
            throw UsageError(
                LocalizedText(en: "unexpected argument \"\(extra)\"", zh: "多余的参数“\(extra)”"), command: command.name)
        }
    }

    private func takeFlag(
        _ argument: String, from flags: [Flag], command: Command?, rest: inout ArraySlice<String>,
        into values: inout [String: [String]]
    ) throws(UsageError) {
        let name: String
        var attached: String?
        let body = argument.dropFirst(argument.hasPrefix("--") ? 2 : 1)
        if let equals = body.firstIndex(of: "=") {
            name = String(body[..<equals])
            attached = String(body[body.index(after: equals)...])
        } else {
            name = String(body)
        }
        guard argument.hasPrefix("--"), let flag = flags.first(where: { $0.name == name }) else {
            let known = nearestName(to: name, among: flags.map(\.name)).map { "--\($0)" }
            let written = shown(argument.prefix { $0 != "=" })
            throw UsageError(
                LocalizedText(en: "there is no flag \(written)", zh: "没有选项 \(written)"), suggestion: known,
                command: command?.name)
        }
        if case .none = flag.value {
            if attached != nil {
                throw UsageError(
                    LocalizedText(en: "--\(name) takes no value", zh: "--\(name) 不带值"), command: command?.name)
            }
            values[name] = []
            return
        }
        if attached == nil, let next = rest.first, !next.hasPrefix("--") { attached = rest.popFirst() }
        guard let value = attached, !value.isEmpty else {
            throw UsageError(
                LocalizedText(en: "--\(name) needs a value: \(flag.usage)", zh: "--\(name) 需要一个值：\(flag.usage)"),
                command: command?.name)
        }
        if !flag.isRepeatable, values[name] != nil {
            throw UsageError(
                LocalizedText(en: "--\(name) is given twice", zh: "--\(name) 重复"), command: command?.name)
        }
        try check(value, of: flag, command: command)
        values[name, default: []].append(value)
    }

    private func check(_ value: String, of flag: Flag, command: Command?) throws(UsageError) {
        switch flag.value {
        case .none, .text: return
        case .integer(_, let range):
            if let number = Int64(value), range.contains(number), !value.hasPrefix("+") { return }
            let bounds = Self.describe(range)
            throw UsageError(
                LocalizedText(
                    en: "--\(flag.name) must be a whole number\(bounds.en), not \"\(shown(value))\"",
                    zh: "--\(flag.name) 应为整数\(bounds.zh)，实际为“\(shown(value))”"),
                command: command?.name)
        case .choice(let words):
            if words.contains(value) { return }
            throw UsageError(
                LocalizedText(
                    en: "--\(flag.name) must be \(words.joined(separator: " or ")), not \"\(shown(value))\"",
                    zh: "--\(flag.name) 应为 \(words.joined(separator: " 或 "))，实际为“\(shown(value))”"),
                suggestion: nearestName(to: value, among: words), command: command?.name)
        }
    }

    private static func describe(_ range: ClosedRange<Int64>) -> LocalizedText {
        switch (range.lowerBound, range.upperBound) {
        case (.min, .max): LocalizedText("")
        case (let least, .max): LocalizedText(en: " of at least \(least)", zh: "（不小于 \(least)）")
        case (let least, let most): LocalizedText(en: " from \(least) to \(most)", zh: "（\(least) 到 \(most)）")
        }
    }
}
