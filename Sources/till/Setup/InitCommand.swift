import TillBilling
import TillCrypto
import TillJSON

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension Command {
    /// `till init`: a working configuration, a sample catalogue and new keys.
    static let initialize = Command(
        "init",
        summary: LocalizedText(
            en: "write a working configuration, a sample catalogue and keys (shown once)",
            zh: "写出可用的配置、示例商品目录和密钥（密钥只显示一次）"),
        discussion: LocalizedText(
            en: """
                Writes till.json, catalog.json, user-token.secret, erasure.key and seal.key. Nothing that exists is
                overwritten. The secret key and the operator token are stored as hashes and are shown only this time.
                The secret of user tokens and the keys of erasures and seals are stored in their files and are not
                shown.
                """,
            zh: """
                写出 till.json、catalog.json、user-token.secret、erasure.key 和 seal.key，不会覆盖已有的文件。
                后端密钥和运营令牌只保存哈希值，仅显示这一次。用户令牌的密钥以及抹除和封印用的密钥
                只保存在各自的文件中，不会显示。
                """),
        flags: [.sample],
        positionals: [
            Positional(
                "DIR", .optional,
                summary: LocalizedText(
                    en: "the directory to write to; created if missing (default: the current one)",
                    zh: "写入的目录，不存在时新建（默认当前目录）"))
        ]
    ) { call in
        let starter = InitialFiles(
            directory: call.positionals.first ?? ".", entropy: call.process.entropy,
            sample: call.text(.sample).flatMap(SampleShop.init(rawValue:)) ?? .learnPoints)
        try starter.write()
        if call.wantsJSON {
            call.console.print(starter.json)
        } else {
            call.console.print(starter.announcement(call.language))
        }
        return .done
    }
}

/// The files and keys that `till init` creates.
struct InitialFiles: Sendable {
    let directory: String
    let sample: SampleShop
    /// For a backend: `Authorization: Bearer sk_…`.
    let secretKey: String
    /// For the dashboard.
    let operatorToken: String
    /// Signs user tokens with HS256; its UTF-8 bytes are the key.
    let userTokenSecret: String
    /// Hashes the user ids of erased customers; its UTF-8 bytes are the key.
    let erasureKey: String
    /// Authenticates the seals of the ledger.
    let sealKey: String

    init(directory: String, entropy: (Int) -> [UInt8], sample: SampleShop = .learnPoints) {
        self.directory = directory
        self.sample = sample
        secretKey = KeyText(.secretKeys, entropy).text
        operatorToken = KeyText(.operators, entropy).text
        userTokenSecret = KeyText(.userTokens, entropy).text
        erasureKey = KeyText(.userTokens, entropy).text
        sealKey = KeyText(.userTokens, entropy).text
    }

    var configurationFile: String { resolve("till.json", from: directory) }
    var catalogFile: String { resolve("catalog.json", from: directory) }
    var secretFile: String { resolve("user-token.secret", from: directory) }
    var erasureKeyFile: String { resolve("erasure.key", from: directory) }
    var sealKeyFile: String { resolve("seal.key", from: directory) }
    private var files: [String] { [configurationFile, catalogFile, secretFile, erasureKeyFile, sealKeyFile] }

    /// Writes all files or none.
    func write() throws(CommandError) {
        let files: [(path: String, mode: mode_t, content: String)] = [
            (secretFile, 0o600, userTokenSecret + "\n"), (erasureKeyFile, 0o600, erasureKey + "\n"),
            (sealKeyFile, 0o600, sealKey + "\n"),
            (catalogFile, 0o644, sample.catalogText),
            (configurationFile, 0o600, configuration),
        ]
        let existing = files.map(\.path).filter(fileExists)
        guard existing.isEmpty else {
            throw CommandError(
                reasons: existing.sorted().map {
                    LocalizedText(
                        en: "\(shown($0)) already exists and is not overwritten", zh: "\(shown($0)) 已经存在，不会覆盖")
                })
        }
        var written: [String] = []
        do throws(FileError) {
            try createDirectory(directory, mode: 0o700)
            for file in files {
                try createFile(file.path, mode: file.mode, Array(file.content.utf8))
                written.append(file.path)
            }
        } catch {
            for path in written { unlink(path) }
            throw CommandError(error.sentence)
        }
    }

    private func hash(_ key: String) -> String { hexadecimal(Digest.sha256.hash(Array(key.utf8))) }

    private var configuration: String {
        """
        {
          "listen": "\(ListenAddress.standard)",
          "database": "sqlite:till.db",
          "catalog": "catalog.json",
          "apple": {
            "bundleId": "\(sample.bundleID)",
            "environments": ["Sandbox"]
          },
          "secretKeys": [
            { "id": "backend", "sha256": "\(hash(secretKey))" }
          ],
          "userTokens": [
            { "id": "app", "algorithm": "HS256", "secretFile": "user-token.secret" }
          ],
          "operators": [
            { "id": "operator", "sha256": "\(hash(operatorToken))" }
          ],
          "reviewUsers": [],
          "erasure": { "keyFile": "erasure.key", "list": "erasures.jsonl" },
          "seals": { "keyFile": "seal.key" }
        }

        """
    }

    /// The files and keys, for programs.
    var json: String {
        let value: JSONValue = [
            "files": .array(files.map { .string($0) }),
            "secretKey": .string(secretKey), "operatorToken": .string(operatorToken),
        ]
        return value.encoded(pretty: true)
    }

    func announcement(_ language: Language) -> String {
        let files = self.files.map { "  " + shown($0) }
        let text = LocalizedText(
            en: """
                Written:
                \(files.joined(separator: "\n"))

                Keys, shown only this time (they are stored as hashes):
                  secret key of your backend  \(secretKey)
                  operator token (dashboard)  \(operatorToken)
                The secret of user tokens (HS256) is in \(shown(secretFile)) and nowhere else.
                The keys of erasures and of seals are in \(shown(erasureKeyFile)) and \(shown(sealKeyFile)): keep
                copies of them apart from your backups.

                Put your app's bundle id into \(shown(configurationFile)), then start the server:
                  till serve --config \(shown(configurationFile))
                """,
            zh: """
                已写出：
                \(files.joined(separator: "\n"))

                密钥，只显示这一次（只保存哈希值）：
                  后端密钥             \(secretKey)
                  运营令牌             \(operatorToken)
                用户令牌的密钥 (HS256) 只在 \(shown(secretFile)) 里。
                抹除与封印用的密钥在 \(shown(erasureKeyFile)) 和 \(shown(sealKeyFile)) 里：
                请另存一份，不要与备份放在一起。

                把应用的 bundle id 写进 \(shown(configurationFile))，然后启动服务器：
                  till serve --config \(shown(configurationFile))
                """)
        return text(language)
    }
}
