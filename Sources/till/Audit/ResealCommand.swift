import TillBilling
import TillJSON
import TillLedger
import TillSQL

extension Flag {
    fileprivate static let newKeyFile = Flag(
        "new-key-file", .text("FILE"),
        summary: LocalizedText(
            en: "the new key of seals: a file with at least \(SealKey.minimumLength) random bytes, mode 0600",
            zh: "封印的新密钥：内含至少 \(SealKey.minimumLength) 字节随机内容的文件，权限 0600"))
}

extension Command {
    /// `till reseal`: changes the key of the seals.
    static let reseal = Command(
        "reseal",
        summary: LocalizedText(
            en: "change the key of the seals: make every seal again under a new key",
            zh: "更换封印的密钥：用新密钥重新生成每个封印"),
        discussion: LocalizedText(
            en: """
                Stop the server first. The command audits the ledger under the key of the configuration, and makes
                every seal again under the new key, in one commit. It refuses a ledger whose seals do not match. Then
                set seals.keyFile to the new file, and start the server.
                A checkpoint from before does not match afterwards: it prints the new one. Repeated, it changes nothing.
                --json prints {"seals", "isChanged", "checkpoint"}.
                """,
            zh: """
                请先停止服务器。命令用配置中的密钥审计账本，再在一次提交中用新密钥重新生成每个封印；
                封印不符的账本会被拒绝。之后请把 seals.keyFile 设为新文件，再启动服务器。
                此前的检查点之后不再相符：命令会输出新的检查点。重复执行不会再改动。
                --json 输出 {"seals", "isChanged", "checkpoint"}。
                """),
        flags: Configuration.flags + [.newKeyFile]
    ) { call in
        let configuration = try Configuration.load(for: call)
        guard let old = configuration.sealKey else {
            throw CommandError(
                LocalizedText(
                    en: "the configuration has no key of seals, so the ledger is not sealed; set seals.keyFile to the "
                        + "new key, and start the server",
                    zh: "配置中没有封印的密钥，因此账本没有封印；请把 seals.keyFile 设为新密钥，再启动服务器"))
        }
        return try await Resealing(configuration, call, from: old, to: try newKey(call)).run()
    }

    private static func newKey(_ call: Invocation) throws -> SealKey {
        guard let file = call.text(.newKeyFile) else {
            throw CommandError(
                LocalizedText(
                    en:
                        "--new-key-file is missing; make a key with "
                        + "(umask 077; head -c 32 /dev/urandom | base64 > FILE)",
                    zh: "缺少 --new-key-file；可用 (umask 077; head -c 32 /dev/urandom | base64 > FILE) 生成密钥"))
        }
        var content: [UInt8]
        do throws(FileError) {
            content = try readFile(file, limit: 4_096)
        } catch {
            throw CommandError(error.sentence)
        }
        while content.last == 0x0A || content.last == 0x0D { content.removeLast() }
        guard let key = SealKey(String(decoding: content, as: UTF8.self)) else {
            throw CommandError(
                LocalizedText(
                    en: "\(shown(file)) must hold at least \(SealKey.minimumLength) bytes, and holds \(content.count)",
                    zh: "\(shown(file)) 应至少有 \(SealKey.minimumLength) 字节，现有 \(content.count) 字节"))
        }
        return key
    }
}

/// One `till reseal`.
private struct Resealing {
    private let location: LedgerLocation
    private let call: Invocation
    private let (old, new): (SealKey, SealKey)

    init(_ configuration: Configuration, _ call: Invocation, from old: SealKey, to new: SealKey) {
        location = configuration.database
        self.call = call
        (self.old, self.new) = (old, new)
    }

    func run() async throws -> ExitCode {
        do {
            let database = try location.labelled("till reseal").open(as: .server, .ledger).database
            do {
                let code = try await reseal(database)
                await database.close()
                return code
            } catch {
                await database.close()
                throw error
            }
        } catch let error as DatabaseError {
            if error.kind == .inUse { throw served }
            throw location.failure(error)
        }
    }

    private var served: CommandError {
        CommandError(
            LocalizedText(
                en: "a server holds this ledger and seals it under the old key; stop every server, then repeat",
                zh: "有服务器正在使用此账本，并用旧密钥封印；请停止所有服务器后再试"))
    }

    private func reseal(_ database: any Database) async throws -> ExitCode {
        guard let identity = try await database.read({ try LedgerIdentityTable($0).find() }) else {
            throw CommandError(
                LocalizedText(
                    en: "no server has used this ledger yet, so nothing is sealed", zh: "尚无服务器使用过此账本，因此没有封印"))
        }
        let outcome = try await SealKeyRotation(from: old, to: new, ledger: identity.id).run(
            on: database, at: call.process.clock())
        let checkpoint = try await database.read { try Checkpoint.now(of: identity, $0) }
        switch outcome {
        case .rotated(let seals):
            say(seals, true, checkpoint)
            return .done
        case .unchanged:
            say(0, false, checkpoint)
            return .done
        case .refused(let violations):
            for violation in violations { call.say(violation.text) }
            throw CommandError(
                LocalizedText(
                    en: "the seals do not match under the key of the configuration, and nothing was changed; rows "
                        + "without a seal are sealed when the server starts, and docs/seals.md says what to do about "
                        + "the others",
                    zh: "在配置的密钥下封印不符，未作任何改动；没有封印的行会在服务器启动时封印，其余的处理方法见 docs/seals.zh-CN.md"))
        case .served: throw served
        }
    }

    private func say(_ seals: Int64, _ isChanged: Bool, _ checkpoint: Checkpoint) {
        if call.wantsJSON {
            let document: JSONValue = [
                "seals": .int(seals), "isChanged": .bool(isChanged), "checkpoint": .object(checkpoint.members),
            ]
            call.console.print(document.encoded(pretty: true))
            return
        }
        call.say(
            isChanged
                ? LocalizedText(
                    en: "\(seals) seals are under the new key. Set seals.keyFile to it, then start the server. The new "
                        + "checkpoint, to keep outside:",
                    zh: "\(seals) 个封印已改用新密钥。请把 seals.keyFile 设为新密钥，再启动服务器。请把新的检查点保存到别处：")
                : LocalizedText(
                    en: "The seals are under the new key already. The checkpoint:", zh: "封印已在新密钥之下。检查点："))
        call.console.print(JSONValue.object(checkpoint.members).encoded(pretty: true))
    }
}
