import TillBilling
import TillJSON

/// The setting `database`: a text, or an object around it. No message contains the text, which may contain a password.
extension ConfigurationReader {
    mutating func readDatabase() -> LedgerLocation? {
        guard let setting = requiredSetting(.database) else { return nil }
        guard case .object = setting.value else { return readLocation(setting) }
        guard let members = reader.object(setting, names: ConfigurationKey.databaseNames),
            let url = reader.required("url", of: members, in: setting.place)
        else { return nil }
        switch readLocation(url) {
        case nil: return nil
        case .sqlite(let path):
            for (name, member) in members.sorted(by: { $0.key < $1.key }) where name != "url" {
                reader.complain(
                    member.place,
                    LocalizedText(en: "belongs to a database on PostgreSQL only", zh: "仅用于 PostgreSQL 数据库"))
            }
            return .sqlite(path: path)
        case .postgres(var location):
            if let file = members["passwordFile"], let path = reader.text(file, most: 4_096) {
                location.passwordFile = readPasswordFile(path, file)
            }
            if let state = members["statePath"], let path = reader.text(state, most: 4_096) {
                location.statePath = resolve(path, from: state.base)
            }
            location.connections = count("connections", in: members, 1...100)
            location.readers = count("readers", in: members, 1...100)
            location.statementMilliseconds = count("statementMilliseconds", in: members, 100...600_000)
            location.lockMilliseconds = count("lockMilliseconds", in: members, 10...600_000)
            return .postgres(location)
        }
    }

    private mutating func count(_ name: String, in members: [String: Setting], _ bounds: ClosedRange<Int64>) -> Int? {
        guard let setting = members[name], let number = reader.positiveInteger(setting) else { return nil }
        guard bounds.contains(number) else {
            reader.complain(
                setting.place,
                LocalizedText(
                    en: "must be \(bounds.lowerBound) to \(bounds.upperBound), is \(number)",
                    zh: "应在 \(bounds.lowerBound) 到 \(bounds.upperBound) 之间，现在是 \(number)"))
            return nil
        }
        return Int(number)
    }

    mutating func readLocation(_ setting: Setting) -> LedgerLocation? {
        guard let text = reader.text(setting, most: 4_096) else { return nil }
        guard PostgresAddress.isMeant(by: text) else { return readLedgerFile(text, setting) }
        do {
            let address = try PostgresAddress(text)
            if let path = address.passwordFile { _ = readPasswordFile(path, setting) }
            return .postgres(PostgresLocation(address))
        } catch {
            reader.complain(setting.place, error.sentence)
            return nil
        }
    }

    private mutating func readLedgerFile(_ text: String, _ setting: Setting) -> LedgerLocation? {
        let path = text.dropFirst("sqlite:".count)
        guard text.hasPrefix("sqlite:"), !path.isEmpty, !path.contains("\0") else {
            reader.complain(
                setting.place,
                LocalizedText(
                    en: "must be sqlite:PATH or postgres://USER@HOST/NAME",
                    zh: "应为 sqlite:路径 或 postgres://用户@主机/数据库名"))
            return nil
        }
        // SQLite uses this name for a database in memory, which is lost with the process.
        guard path != ":memory:" else {
            reader.complain(
                setting.place, LocalizedText(en: "the ledger must be a file, not in memory", zh: "账本必须是文件，不能放在内存里"))
            return nil
        }
        return .sqlite(path: resolve(String(path), from: setting.base))
    }

    /// Others must not read the file. libpq ignores one of its own format that they can read, and then says that no
    /// password was supplied.
    private mutating func readPasswordFile(_ path: String, _ setting: Setting) -> String? {
        let file = resolve(path, from: setting.base)
        guard reader.file(file, place: setting.place, most: 1 << 20) != nil else { return nil }
        guard !isOpenToOthers(file) else {
            reader.complain(
                setting.place,
                LocalizedText(
                    en: "the password file \(shown(file)) can be read by other users, so it is not used; "
                        + "run chmod 600 \(shown(file))",
                    zh: "密码文件 \(shown(file)) 可被其他用户读取，因此不会使用；请运行 chmod 600 \(shown(file))"))
            return nil
        }
        reader.noteSecret(in: file)
        return file
    }
}

extension LedgerLocation {
    /// The location that a flag names, as in the text of `database`.
    ///
    /// - Throws: `CommandError` with everything that is wrong.
    init(_ text: String, flag: String) throws {
        var reader = ConfigurationReader(ConfigurationSources(file: nil, environment: [:], flags: [:]))
        let place = SettingLocation(origin: "--" + flag)
        guard let location = reader.readLocation(Setting(value: .string(text), place: place, base: ".")) else {
            throw ConfigurationError(problems: reader.problems).failure
        }
        self = location
    }
}

extension ConfigurationKey {
    /// The keys of `database` as an object.
    static let databaseNames = [
        "url", "passwordFile", "statePath", "connections", "readers", "statementMilliseconds", "lockMilliseconds",
    ]
}

extension PostgresAddress.Fault {
    var sentence: LocalizedText {
        switch self {
        case .form:
            LocalizedText(
                en: "must be postgres://USER@HOST:PORT,HOST:PORT/NAME?PARAMETER=VALUE; write other characters as "
                    + "%XX, for example a socket's directory as %2Frun%2Fpostgresql",
                zh: "应为 postgres://用户@主机:端口,主机:端口/数据库名?参数=值；其他字符写成 %XX，"
                    + "例如套接字目录写成 %2Frun%2Fpostgresql")
        case .password:
            LocalizedText(
                en: "must not contain a password: write it into a file that only this user can read, and name that "
                    + "file in database.passwordFile (or libpq's own password file as ?passfile=/PATH)",
                zh: "不得含有密码：请把密码写入只有本用户可读的文件，并在 database.passwordFile 中指明该文件"
                    + "（或用 ?passfile=/路径 指明 libpq 的密码文件）")
        case .noDatabaseName:
            LocalizedText(
                en: "names no database: add its name after the host, postgres://USER@HOST/NAME",
                zh: "没有数据库名：请写在主机之后，postgres://用户@主机/数据库名")
        case .badPort:
            LocalizedText(en: "has a port that is not 1 to 65535", zh: "端口应在 1 到 65535 之间")
        case .unknownParameter(let name, let near):
            LocalizedText(
                en: "has the parameter \(shown(name)), which can't be set here"
                    + (near.map { ". Did you mean \($0)?" } ?? "; remove it"),
                zh: "含有此处不能设置的参数 \(shown(name))" + (near.map { "。是否想写 \($0)？" } ?? "；请删除"))
        case .repeatedParameter(let name):
            LocalizedText(en: "has the parameter \(name) twice; remove one", zh: "参数 \(name) 出现两次；请删除一个")
        case .badValue(let name, let allowed):
            LocalizedText(
                en: "the value of \(name) must be one of \(allowed)", zh: "\(name) 的值应为以下之一：\(allowed)")
        }
    }
}
