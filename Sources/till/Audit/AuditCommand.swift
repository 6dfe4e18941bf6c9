import TillAppStore
import TillBilling
import TillJSON
import TillLedger
import TillSQL

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Flag {
    fileprivate static let checkpoint = Flag(
        "checkpoint", .text("FILE"),
        summary: LocalizedText(
            en: "a checkpoint that was kept outside of the ledger: the ledger must contain it",
            zh: "保存在账本之外的检查点；账本必须包含它"))
    fileprivate static let proofs = Flag(
        "proofs", .none,
        summary: LocalizedText(
            en: "also verify every stored proof again, and compare it with its row",
            zh: "并重新验证每个已保存的凭证，与其行比较"))
}

extension Command {
    /// `till audit`: proves that the books are as the servers wrote them.
    static let audit = Command(
        "audit",
        summary: LocalizedText(
            en: "prove that the books are as the servers wrote them, by their seals, sums and rules",
            zh: "凭封印、合计与规则，证明账目与服务器写入时一致"),
        discussion: LocalizedText(
            en: """
                Computes every seal again, with the key in "seals", and compares every balance with its postings and
                every row with the rules (docs/seals.md). It reads beside a running server, and changes nothing.
                Ends with 1 if anything differs, and names the seal and its rows. Give --checkpoint a file from
                `till checkpoint` or the body of a webhook ledger.checkpoint, to find that the ledger is an older copy.
                With --proofs it also verifies Apple's signature of every stored transaction, receipt and renewal, and
                compares what Apple signed with the row: the end of a subscription's period, its price, its token.
                --json prints {"rows", "balances", "seals", "sealedAt", "found": [{"rows", "at"}], "checkpoint",
                "proofs", "unproven", "violations": [{"rule", "about", "text"}]}; "found" are rows that had no seal when
                a server started, "proofs" is the number of proofs verified and "unproven" that of imported purchases
                without one, or null without --proofs.
                """,
            zh: """
                用 "seals" 中的密钥重新计算每个封印，并把每个余额与其分录、每一行与各项规则相比较
                （docs/seals.zh-CN.md）。可在服务器运行时使用，不改动任何内容。
                有任何不符时以 1 结束，并指明封印及其行。用 --checkpoint 给出“till checkpoint”写出的文件，
                或 webhook ledger.checkpoint 的正文，可发现账本是较旧的副本。
                用 --proofs 还会重新验证每笔已保存的交易、收据和续订信息的 Apple 签名，并把签名的内容与行比较：
                订阅周期的结束时间、价格、令牌等。
                --json 输出 {"rows", "balances", "seals", "sealedAt", "found": [{"rows", "at"}], "checkpoint",
                "proofs", "unproven", "violations": [{"rule", "about", "text"}]}；"found" 是服务器启动时没有封印的行，
                "proofs" 是验证过的凭证数，"unproven" 是没有凭证的导入购买数，没有 --proofs 时均为 null。
                """),
        flags: Configuration.flags + [.checkpoint, .proofs]
    ) { call in
        try await SealedLedger.use(call) { ledger in try await AuditRun(ledger: ledger, call: call).run() }
    }

    /// `till checkpoint`: how far the seals are, to be kept outside.
    static let checkpoint = Command(
        "checkpoint",
        summary: LocalizedText(
            en: "print how far the seals of the ledger are, to keep it outside of this machine",
            zh: "输出账本封印当前的位置，以便保存到本机之外"),
        discussion: LocalizedText(
            en: """
                Prints {"ledgerId", "epoch", "chains": {TABLE: {"last", "digest"}}, "at"}. Keep it on a machine
                that the people and programs of the ledger's machine can't write to: `till audit --checkpoint FILE`
                then finds an older copy of the ledger, and a ledger whose end was replaced.
                """,
            zh: """
                输出 {"ledgerId", "epoch", "chains": {表: {"last", "digest"}}, "at"}。请保存在能写账本的人写不到的地方：
                之后用“till audit --checkpoint FILE”可发现账本是较旧的副本，或其末尾被替换。
                """),
        flags: Configuration.flags
    ) { call in
        try await SealedLedger.use(call) { ledger in
            let checkpoint = try await ledger.database.read { try Checkpoint.now(of: ledger.identity, $0) }
            var members = checkpoint.members
            members["at"] = .string(call.process.clock().rfc3339)
            call.console.print(JSONValue.object(members).encoded(pretty: true))
            return .done
        }
    }
}

/// A ledger whose seals can be compared, opened for reading.
private struct SealedLedger: Sendable {
    let database: any Database
    let identity: LedgerIdentity
    let key: SealKey
    /// Who signs the purchases.
    let trust: AppleTrust

    static func use(_ call: Invocation, _ work: (SealedLedger) async throws -> ExitCode) async throws -> ExitCode {
        let configuration = try Configuration.load(for: call)
        guard let key = configuration.sealKey else {
            throw CommandError(
                LocalizedText(
                    en: "the configuration has no key of seals: set seals.keyFile to a file with at least "
                        + "\(SealKey.minimumLength) random bytes, outside of the database and its backups; a server "
                        + "then seals the ledger",
                    zh: "配置中没有封印的密钥：请把 seals.keyFile 设为一个文件，内含至少 \(SealKey.minimumLength) "
                        + "字节的随机内容，且不与数据库及其备份放在一起；之后服务器便会封印账本"))
        }
        do {
            let location = configuration.database
            let database = try location.labelled("till audit").open(as: .operator, .served).database
            do {
                guard let identity = try await database.read({ try LedgerIdentityTable($0).find() }) else {
                    throw CommandError(
                        LocalizedText(
                            en: "no server has used this ledger yet, so nothing is sealed",
                            zh: "尚无服务器使用过此账本，因此没有封印"))
                }
                let code = try await work(
                    SealedLedger(database: database, identity: identity, key: key, trust: configuration.server.apple))
                await database.close()
                return code
            } catch {
                await database.close()
                throw error
            }
        } catch let error as DatabaseError {
            throw configuration.database.failure(error)
        }
    }
}

/// One `till audit`.
private struct AuditRun {
    let ledger: SealedLedger
    let call: Invocation

    /// How often, and how many milliseconds apart, the audit looks whether a server seals the newest rows.
    private static let looks = (count: 12, pause: 250)

    func run() async throws -> ExitCode {
        let checkpoint = try call.text(.checkpoint).map(Self.read)
        let audit = SealAudit(ledger.database, key: ledger.key, ledger: ledger.identity.id)
        let ends = try await audit.ends()
        for _ in 0..<Self.looks.count where !(try await audit.hasSealed(ends)) {
            try await Task.sleep(for: .milliseconds(Self.looks.pause))
        }
        async let rules = brokenRules()
        let seals = try await audit.run(ends, against: checkpoint)
        let rest = try await rules
        let proofs = call.isSet(.proofs) ? try await verifiedProofs() : nil
        let balances = try await ledger.database.read { connection in
            try connection.first("SELECT count(*) AS count FROM balances", []) { $0.integer("count") } ?? 0
        }
        let violations = Array(
            (seals.violations + rest + (proofs?.violations ?? [])).prefix(LedgerAudit.violationLimit))
        let now = try await ledger.database.read { try Checkpoint.now(of: ledger.identity, $0) }
        if call.wantsJSON {
            let document: JSONValue = [
                "rows": .int(seals.rows), "balances": .int(balances), "seals": .int(seals.seals),
                "sealedAt": seals.sealedAt.map { .string($0.rfc3339) } ?? .null,
                "found": .array(
                    seals.found.map { ["rows": .string($0.rows), "at": .string($0.at.rfc3339)] }),
                "checkpoint": .object(now.members), "proofs": proofs.map { .int($0.proofs) } ?? .null,
                "unproven": proofs.map { .int($0.unproven) } ?? .null,
                "violations": .array(
                    violations.map { violation in
                        [
                            "rule": .string(violation.rule.rawValue), "about": .string(violation.about),
                            "text": .string(violation.text[call.language]),
                        ]
                    }),
            ]
            call.console.print(document.encoded(pretty: true))
        } else {
            report(seals, balances, violations)
            if let proofs { report(proofs) }
        }
        return violations.isEmpty ? .done : .refused
    }

    /// A revoked certificate is not asked for: the proofs were checked when they came.
    private func verifiedProofs() async throws -> ProofAudit.Report {
        let audit: ProofAudit
        do throws(VerificationError) {
            audit = try ProofAudit(ledger.database, trust: ledger.trust, clock: call.process.clock)
        } catch {
            throw CommandError(Refusal(rawValue: error.verdict.rawValue)?.sentence ?? LocalizedText(error.detail))
        }
        return try await audit.run()
    }

    private func report(_ proofs: ProofAudit.Report) {
        call.say(
            LocalizedText(
                en: "\(proofs.proofs) proofs were verified; \(proofs.unproven) imported purchases have none",
                zh: "已验证 \(proofs.proofs) 个凭证；\(proofs.unproven) 笔导入的购买没有凭证"))
    }

    /// In shares, so that the rules take no longer than half of all the work.
    private func brokenRules() async throws -> [AuditViolation] {
        let shares = 8
        return try await withThrowingTaskGroup(of: [AuditViolation].self) { group in
            for share in 0..<shares {
                group.addTask { [ledger] in
                    try await LedgerAudit.run(on: ledger.database, part: share, of: shares).violations
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private func report(_ seals: SealAudit.Report, _ balances: Int64, _ violations: [AuditViolation]) {
        for violation in violations {
            call.say(
                LocalizedText(
                    en: "\(violation.rule.rawValue): \(shown(violation.text.en))",
                    zh: "\(violation.rule.rawValue)：\(shown(violation.text.zh))"))
        }
        for found in seals.found.prefix(20) {
            call.say(
                LocalizedText(
                    en: "note: \(found.rows) had no seal when a server started at \(found.at.rfc3339), so no server "
                        + "vouches for them",
                    zh: "注意：\(found.rows) 在服务器于 \(found.at.rfc3339) 启动时没有封印，因此没有服务器为其作证"))
        }
        let until = seals.sealedAt?.rfc3339 ?? "–"
        let sentence =
            violations.isEmpty
            ? LocalizedText(
                en: "\(seals.rows) rows under \(seals.seals) seals, the last of \(until), and \(balances) balances: "
                    + "everything is as it was written",
                zh: "\(seals.seals) 个封印（最后一个于 \(until)）下的 \(seals.rows) 行，以及 \(balances) 个余额：均与写入时一致")
            : LocalizedText(
                en: "\(violations.count) violations in \(seals.rows) rows under \(seals.seals) seals and \(balances) "
                    + "balances. Keep a copy of the ledger; docs/seals.md says what to do",
                zh: "\(seals.seals) 个封印下的 \(seals.rows) 行与 \(balances) 个余额中有 \(violations.count) 处不符。"
                    + "请保留账本副本；处理方法见 docs/seals.zh-CN.md")
        call.say(sentence)
    }

    private static func read(_ file: String) throws -> Checkpoint {
        let content: [UInt8]
        do throws(FileError) {
            content = try readFile(file, limit: 1 << 20)
        } catch {
            throw CommandError(error.sentence)
        }
        guard let document = try? JSONValue(decoding: content), let checkpoint = Checkpoint(document) else {
            throw CommandError(
                LocalizedText(
                    en:
                        "\(shown(file)) is no checkpoint: give what `till checkpoint` printed, or the body of a "
                        + "webhook ledger.checkpoint",
                    zh: "\(shown(file)) 不是检查点：请给出“till checkpoint”的输出，或 webhook ledger.checkpoint 的正文"))
        }
        return checkpoint
    }
}
