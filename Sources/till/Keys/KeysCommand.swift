import TillBilling
import TillServer

extension Flag {
    static let keyList = Flag(
        "list", .choice(KeyUses.Kind.allCases.map(\.rawValue)),
        summary: LocalizedText(
            en: "which keys: of backends (default for add), of user tokens, of operators",
            zh: "哪一类密钥：后端（add 的默认值）、用户令牌、运营人员"))
    static let keyExpiry = Flag(
        "expires", .text("TIME|DURATION"),
        summary: LocalizedText(
            en: "when the key ends: 2027-01-01T00:00:00Z, or after 12h, 90d (default: never; retire: at once)",
            zh: "密钥的到期时间：2027-01-01T00:00:00Z，或 12h、90d 之后（默认永不到期；retire 默认立即）"))
    static let keyStart = Flag(
        "not-before", .text("TIME|DURATION"),
        summary: LocalizedText(en: "when the key begins to be accepted (default: at once)", zh: "密钥的生效时间（默认立即）"))
}

extension Command {
    /// `till keys`: the keys of the configuration file.
    static let keys = Command(
        "keys",
        summary: LocalizedText(en: "add, list and retire keys in the configuration", zh: "在配置中添加、列出和停用密钥"),
        discussion: LocalizedText(
            en: """
                till keys add ID: makes a key, writes its hash into the file and prints the key, once. With --list
                userTokens it makes an HS256 secret in a file of its own beside the configuration.
                till keys list: the keys with their expiry, their state and, beside a running server, their last use,
                which is saved at most once an hour and at every reload.
                till keys retire ID: removes the key, or with --expires gives it an end.
                The rest of the file keeps its bytes. The server takes the change over with till reload: add the new
                key, reload, let your backend use it, see the old key's last use stand still, retire it, reload.
                """,
            zh: """
                till keys add ID：生成一个密钥，把它的哈希值写入文件，密钥本身只打印一次。
                加 --list userTokens 时，生成 HS256 密钥，存放在配置旁边的单独文件中。
                till keys list：列出密钥的到期时间和状态；服务器正在运行时还有最近使用时间，
                它每小时最多保存一次，每次重新载入时也会保存。
                till keys retire ID：删除密钥；加 --expires 则为它设定到期时间。
                文件的其余部分一个字节都不变。服务器用 till reload 采用更改：添加新密钥，重新载入，让后端改用新密钥，
                确认旧密钥不再有使用记录，停用旧密钥，再重新载入。
                """),
        flags: [.config, .keyList, .keyExpiry, .keyStart, .database],
        positionals: [
            Positional("ACTION", summary: LocalizedText(en: "add, list or retire", zh: "add、list 或 retire")),
            Positional("ID", .optional, summary: LocalizedText(en: "the key's id", zh: "密钥的 id")),
        ]
    ) { call in
        guard let named = call.text(.config) else {
            throw UsageError(LocalizedText(en: "--config is missing", zh: "缺少 --config"), command: "keys")
        }
        let file = try ConfigurationFile(named)
        switch (call.positionals[0], call.positionals.dropFirst().first) {
        case ("list", nil): try KeyList(file, call).print()
        case ("add", let id?): try NewKey(id, call).add(to: file, call)
        case ("retire", let id?): try RetiredKey(id, call).retire(in: file, call)
        case ("add", nil), ("retire", nil):
            throw UsageError(LocalizedText(en: "ID is missing", zh: "缺少 ID"), command: "keys")
        case let (action, _):
            throw UsageError(
                LocalizedText(en: "the action must be add, list or retire", zh: "操作应为 add、list 或 retire"),
                suggestion: nearestName(to: action, among: ["add", "list", "retire"]), command: "keys")
        }
        return .done
    }
}

extension Invocation {
    /// A time, or a duration from now: `90d`, `12h`, `30m`, `60s`.
    ///
    /// - Throws: `UsageError` for any other text, or a time that is not ahead.
    func moment(ahead flag: Flag, command: String) throws -> Instant? {
        guard let text = text(flag) else { return nil }
        let now = process.clock()
        let found = Self.seconds(text).map { now.adding(seconds: $0) } ?? Instant(rfc3339: text)
        guard let found, found > now else {
            throw UsageError(
                LocalizedText(
                    en: "--\(flag.name) must be a future time like 2027-01-01T00:00:00Z or a duration like 12h or 90d, "
                        + "not \"\(shown(text))\"",
                    zh: "--\(flag.name) 应为将来的时刻（如 2027-01-01T00:00:00Z）或时长（如 12h、90d），实际为“\(shown(text))”"),
                command: command)
        }
        return found
    }

    private static func seconds(_ text: String) -> Int64? {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()), count > 0,
            count <= 36_500 * 86_400 / unit
        else { return nil }
        return count * unit
    }

    /// - Throws: `CommandError` if the list comes from the environment, where the file's list has no effect.
    func requireFile(for list: KeyUses.Kind) throws {
        guard let key = ConfigurationKey(rawValue: list.rawValue),
            let variable = [key.variable, key.variable + "_FILE"].first(where: { process.environment[$0] != nil })
        else { return }
        throw CommandError(
            LocalizedText(
                en: "\(list.rawValue) come from \(variable), which wins over the file; change them there",
                zh: "\(list.rawValue) 来自 \(variable)，它优先于文件；请在那里更改"))
    }

    var keyList: KeyUses.Kind? { text(.keyList).flatMap(KeyUses.Kind.init(rawValue:)) }

    func sayReload() {
        say(
            LocalizedText(
                en: "A running server takes the change over with till reload.", zh: "正在运行的服务器用 till reload 采用此更改。"))
    }
}
