import TillAPI
import TillBilling
import TillJSON
import TillLedger
import TillSQL
import TillServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Flag {
    fileprivate static let forfeit = Flag(
        "forfeit", .text("KIND=POINTS"), repeatable: true,
        summary: LocalizedText(
            en: "the points in the wallet, which the person loses: points=60", zh: "钱包中将作废的点数，如 points=60"))
    fileprivate static let force = Flag(
        "force",
        summary: LocalizedText(
            en: "erase although a subscription still runs, which only the person can cancel",
            zh: "即使订阅仍在继续也抹除；订阅只有本人能取消"))
    fileprivate static let replay = Flag(
        "replay", .text("FILE"),
        summary: LocalizedText(
            en: "erase again everyone on this list, after a backup was restored", zh: "恢复备份后，把清单上的人再次抹除"))
}

extension Command {
    /// `till erase`: takes a person out of the ledger.
    static let erase = Command(
        "erase",
        summary: LocalizedText(
            en: "erase a person from the ledger; the books stay valid", zh: "从账本中抹除某人；账目保持有效"),
        discussion: LocalizedText(
            en: """
                Removes what names the person, or replaces it by a hash under the key in "erasure"; money, grants and
                evidence stay under a pseudonym (docs/personal-data.md). It can't be undone. First delete the user in
                your backend: a user token that is still valid makes a new, empty customer.
                If a server uses the ledger, the command calls it over HTTP with --key-file.
                --replay FILE erases everyone on a list of erasures (erasure.list) again, in a ledger that was restored
                from an older backup. --json prints {"pseudonym", "erasedAt", "guests"}, or with --replay
                {"lines", "erased", "unchanged", "unknown", "unreadable"}.
                """,
            zh: """
                删除能指明本人的数据，或以 "erasure" 中的密钥计算的哈希值代替；款项、发放与依据以化名保留
                （docs/personal-data.zh-CN.md）。此操作不可撤销。请先在后端删除该用户：
                仍然有效的用户令牌会产生一位新的、没有任何购买的客户。
                账本正由服务器使用时，通过 HTTP 请求该服务器（需要 --key-file）。
                --replay FILE 在从较旧备份恢复的账本中，把抹除清单（erasure.list）上的人再次抹除。
                --json 输出 {"pseudonym", "erasedAt", "guests"}；加 --replay 时输出
                {"lines", "erased", "unchanged", "unknown", "unreadable"}。
                """),
        flags: [.config, .database, .listen, .user, .forfeit, .force, .keyFile, .replay]
    ) { call in
        let configuration = try Configuration.load(for: call)
        guard let erasure = configuration.erasure else { throw CommandError(Refusal.noErasureKey.sentence) }
        if let list = call.text(.replay) {
            return try await Replay(configuration, erasure, call).run(list)
        }
        let user = try call.namedUser("erase")
        let body = EraseBody(forfeit: try call.forfeited, endsAccess: call.isSet(.force))
        let reply: ErasureReply
        if let own = try await OwnLedger(configuration, call, for: "till erase") {
            reply = try await own.use { server in
                let done = try await server.ledger.erase(
                    ErasureRequest(
                        user: user, forfeit: body.forfeit ?? [:], endsAccess: body.endsAccess ?? false, actor: "till"))
                return ErasureReply(pseudonym: done.erasure.pseudonym, erasedAt: done.erasure.at, guests: done.guests)
            }
        } else {
            let client = try ServerClient(configuration, call)
            defer { client.stop() }
            reply = try await client.ask(
                ErasureReply.self, .post, Paths.erasure(of: user), [UInt8](try JSONEncoder().encode(body)))
        }
        if call.wantsJSON {
            try call.print(reply)
        } else {
            call.say(
                LocalizedText(
                    en: "erased; the books name the customer \(reply.pseudonym) "
                        + "(guests erased with it: \(reply.guests))",
                    zh: "已抹除；账目中以 \(reply.pseudonym) 代替该客户（一并抹除的游客：\(reply.guests)）"))
        }
        return .done
    }
}

extension Invocation {
    /// `--forfeit points=60`; nil without any.
    fileprivate var forfeited: [String: Int64]? {
        get throws {
            let texts = texts(.forfeit)
            guard !texts.isEmpty else { return nil }
            var points: [String: Int64] = [:]
            for text in texts {
                guard let sign = text.lastIndex(of: "="), let amount = Int64(text[text.index(after: sign)...]) else {
                    throw UsageError(
                        LocalizedText(
                            en: "--forfeit must be KIND=POINTS, like points=60, not \"\(shown(text))\"",
                            zh: "--forfeit 应为“种类=点数”，如 points=60，实际为“\(shown(text))”"),
                        command: "erase")
                }
                points[String(text[..<sign])] = amount
            }
            return points
        }
    }
}

/// `till erase --replay`.
private struct Replay {
    private let configuration: Configuration
    private let erasure: ErasureSettings
    private let call: Invocation

    init(_ configuration: Configuration, _ erasure: ErasureSettings, _ call: Invocation) {
        self.configuration = configuration
        self.erasure = erasure
        self.call = call
    }

    private static let isInUse = CommandError(
        LocalizedText(
            en: "a server uses the ledger: stop it first, so that it serves only after the erasures",
            zh: "账本正由服务器使用：请先停止服务器，等清单上的人全部抹除之后再启动"))

    func run(_ list: String) async throws -> ExitCode {
        guard fileExists(list) else {
            throw CommandError(
                LocalizedText(en: "\(shown(list)): there is no such file", zh: "\(shown(list))：文件不存在"))
        }
        let lines: [String]
        do throws(FileError) {
            lines = try ErasureListFile(path: list).lines()
        } catch {
            throw CommandError(error.sentence)
        }
        guard let own = try await OwnLedger(configuration, call, for: "till erase") else { throw Self.isInUse }
        let (key, location) = (erasure.key, configuration.database)
        let result = try await own.use { server in
            guard try await server.database.read({ try location.countServers($0) }) == 0 else { throw Self.isInUse }
            let erasures = Erasures(server.database, key: key, sealKey: server.configuration.sealKey)
            return try await erasures.replay(lines, at: call.process.clock())
        }
        if call.wantsJSON {
            call.console.print(
                JSONValue.object([
                    "lines": .int(result.lines), "erased": .int(result.erased), "unchanged": .int(result.unchanged),
                    "unknown": .int(result.unknown), "unreadable": .int(result.unreadable),
                ]).encoded())
        } else {
            call.say(
                LocalizedText(
                    en: "\(result.lines) erasures on the list: \(result.erased) customers erased again, "
                        + "\(result.unchanged) erased before, \(result.unknown) not in this ledger",
                    zh: "清单上有 \(result.lines) 次抹除：再次抹除 \(result.erased) 位客户，"
                        + "\(result.unchanged) 位此前已抹除，\(result.unknown) 位不在此账本中"))
        }
        if result.unreadable > 0 {
            call.warn(
                LocalizedText(
                    en: "\(result.unreadable) lines of \(shown(list)) can't be read; compare them with another copy",
                    zh: "\(shown(list)) 中有 \(result.unreadable) 行无法读取；请与另一份副本核对"))
        }
        return .done
    }
}
