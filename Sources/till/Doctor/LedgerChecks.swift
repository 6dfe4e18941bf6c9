import TillBilling
import TillLedger
import TillSQL

extension Doctor {
    /// Opens the ledger beside a running server.
    ///
    /// - Returns: the checks of the file and its schema, and nil without a readable ledger.
    func openLedger() -> ((any Database)?, [DoctorCheck]) {
        let state: SchemaState
        do throws(DatabaseError) {
            state = try location.schemaState(.ledger)
        } catch {
            return (nil, [unreadable(error), .ledgerMissing(.schema)])
        }
        let schema = DatabaseSchema.ledger
        let pending = schema.version - state.version
        if state.isLedger, pending > 0 {
            return (nil, [pendingMigrations(pending, of: state), .ledgerMissing(.ledger)])
        }
        do throws(DatabaseError) {
            let ledger = try location.open(as: .operator, .ledger).database
            return (
                ledger,
                [
                    .ok(.ledger, en: "The ledger can be read.", zh: "可以读取。"),
                    .ok(
                        .schema, en: "Version \(state.version), as this program needs it.",
                        zh: "版本 \(state.version)，与此程序一致。"),
                ]
            )
        } catch {
            let isSchema = error.kind == .newerSchema || error.kind == .unreleasedSchema
            guard isSchema else { return (nil, [unreadable(error), .ledgerMissing(.schema)]) }
            return (
                nil,
                [
                    .error(
                        .schema, location.failure(error).reasons.first ?? LocalizedText(""),
                        do: error.kind == .newerSchema
                            ? LocalizedText(
                                en: "Run the version of Till that wrote it, or a newer one.",
                                zh: "请使用写成它的 Till 版本或更新的版本。")
                            : LocalizedText(en: "Name a new file in `database`.", zh: "请在 `database` 中指明新文件。")),
                    .ledgerMissing(.ledger),
                ]
            )
        }
    }

    private func unreadable(_ error: DatabaseError) -> DoctorCheck {
        guard location.file != nil else { return unreachable(error) }
        return .error(
            .ledger, location.failure(error).reasons.first ?? LocalizedText(""),
            do: error.kind == .corrupt
                ? LocalizedText(
                    en: "Restore a backup, and keep a copy of the damaged file.", zh: "请恢复备份，并保留损坏文件的副本。")
                : LocalizedText(
                    en: "Set the file in `database`; `till serve` creates a new one.",
                    zh: "请在 `database` 中指明文件；`till serve` 会创建新文件。"))
    }

    private func unreachable(_ error: DatabaseError) -> DoctorCheck {
        .error(
            .ledger, location.failure(error).reasons.first ?? LocalizedText(""),
            do: error.kind == .corrupt
                ? LocalizedText(
                    en: "Name this app's own database, or restore a backup.", zh: "请指明此 App 自己的数据库，或恢复备份。")
                : LocalizedText(
                    en: "Check host, port, role, password file and name in `database`, that PostgreSQL runs, and that "
                        + "its pg_hba.conf lets this machine in; an empty database is filled by `till migrate`.",
                    zh: "请核对 `database` 中的主机、端口、角色、密码文件与数据库名，确认 PostgreSQL 正在运行且 pg_hba.conf "
                        + "允许本机连接；空数据库由 `till migrate` 建立。"))
    }

    private func pendingMigrations(_ count: Int, of state: SchemaState) -> DoctorCheck {
        .warning(
            .schema,
            LocalizedText(
                en: "The ledger has version \(state.version), and this program needs "
                    + "\(DatabaseSchema.ledger.version): \(count) migrations are pending.",
                zh: "账本版本为 \(state.version)，此程序需要 \(DatabaseSchema.ledger.version)：有 \(count) 个迁移待执行。"),
            do: LocalizedText(
                en: "Make a backup, then start the server once with this program, or run `till migrate` while none "
                    + "runs; `till migrate --dry-run` says what there is to do.",
                zh: "请先备份，再用此程序启动一次服务器，或在没有服务器运行时运行 `till migrate`；"
                    + "`till migrate --dry-run` 说明要做什么。"))
    }

    // MARK: Reading

    private static let ledgerNames: [DoctorCheck.Name] = [
        .ledgerIdentity, .integrity, .seals, .pendingWork, .quarantine, .sharedTokens, .refusedProofs,
    ]

    func ledgerChecks(_ ledger: (any Database)?) async -> [DoctorCheck] {
        guard let ledger else { return Self.ledgerNames.map { .ledgerMissing($0) } + [disk(nil)] }
        let growth = try? await ledger.read { try self.growth($0) }
        var checks = [disk(growth ?? nil)]
        checks += await read(.ledgerIdentity, ledger) { [try identity($0)] }
        checks += await read(.pendingWork, ledger) { try pendingWork($0) }
        checks += await read(.quarantine, ledger) { [try quarantine($0)] }
        checks += await read(.sharedTokens, ledger) { [try sharedTokens($0)] }
        checks += await read(.refusedProofs, ledger) { [try refusedProofs($0)] }
        return checks + (await IntegrityCheck(doctor: self, ledger: ledger).run()) + (await sealChecks(ledger))
    }

    private func read(
        _ name: DoctorCheck.Name, _ ledger: any Database,
        _ body: @escaping @Sendable (any Connection) throws -> [DoctorCheck]
    ) async -> [DoctorCheck] {
        do { return try await ledger.read(body) } catch { return [.failed(name, error)] }
    }

    /// Nil before there are enough purchases for a rate.
    private func growth(_ connection: any Connection) throws -> LedgerGrowth? {
        guard let size = location.file.flatMap({ fileSize($0) }),
            let rate = try LedgerFigures(connection).purchaseRate(at: now), rate.purchases > 0
        else { return nil }
        let perPurchase = Double(size) / Double(rate.purchases)
        return LedgerGrowth(bytesPerDay: Int64(perPurchase * rate.perDay))
    }

    private func identity(_ connection: any Connection) throws -> DoctorCheck {
        let (table, configured) = (AppTable(connection), configuration.apple.bundleID)
        let known = try table.bundleID()
        let other = try known == nil ? table.otherBundleID(than: configured) : known
        if let other, !other.hasSameBytes(as: configured) {
            return .error(
                .ledgerIdentity, LedgerIdentity.sentence(location.name, of: other, not: configured),
                do: LocalizedText(
                    en: "`till serve` refuses it. Set `database` and apple.bundleId of the same app.",
                    zh: "`till serve` 会拒绝它。请使 `database` 与 apple.bundleId 属于同一个 App。"))
        }
        return known == nil
            ? .ok(
                .ledgerIdentity, en: "The ledger is taken over for \(configured) at the next start of the server.",
                zh: "服务器下次启动时，账本将归属 \(configured)。")
            : .ok(.ledgerIdentity, en: "The ledger belongs to \(configured).", zh: "账本属于 \(configured)。")
    }

    // MARK: Findings

    private func quarantine(_ connection: any Connection) throws -> DoctorCheck {
        let figures = LedgerFigures(connection)
        let waiting = try figures.quarantined()
        guard waiting > 0 else { return .ok(.quarantine, en: "Every payment has its owner.", zh: "每笔付款都有归属。") }
        let since = try figures.oldestQuarantined()
        let age = shortDuration(seconds: max(0, now.seconds - (since ?? now).seconds))
        return .warning(
            .quarantine,
            LocalizedText(
                en: "\(waiting) payments wait for an owner, the oldest for \(age).",
                zh: "有 \(waiting) 笔付款等待认领，最早的已等待 \(age)。"),
            do: LocalizedText(
                en: "Review them on the dashboard's quarantine page; register account tokens, or assign their owners.",
                zh: "请在控制台的待认领页面查看；登记账户令牌，或决定其归属。"))
    }

    /// A customer's payments come from few Apple Accounts: a phone and a tablet, perhaps a second storefront.
    static let appleAccountsOfOneCustomer: Int64 = 3
    /// The list reads every transaction.
    static let mostTransactionsByDefault: Int64 = 500_000

    private func sharedTokens(_ connection: any Connection) throws -> DoctorCheck {
        let count = try LedgerFigures(connection).purchases()
        guard isFull || count <= Self.mostTransactionsByDefault else {
            return .notChecked(
                .sharedTokens,
                because: LocalizedText(
                    en: "it reads all \(count) transactions", zh: "需要读取全部 \(count) 笔交易"),
                do: LocalizedText(en: "Run `till doctor --full`.", zh: "请运行 `till doctor --full`。"))
        }
        let tokens = try SharedToken.list(moreThan: Self.appleAccountsOfOneCustomer, limit: 20, connection)
        let most = Self.appleAccountsOfOneCustomer
        guard let first = tokens.first else {
            return .ok(
                .sharedTokens, en: "No appAccountToken occurs in payments of more than \(most) Apple Accounts.",
                zh: "没有任何 appAccountToken 出现在超过 \(most) 个 Apple 账户的付款中。")
        }
        let list = tokens.map { "\($0.token) (\($0.appleAccounts))" }.joined(separator: ", ")
        return .warning(
            .sharedTokens,
            LocalizedText(
                en: "\(tokens.count) appAccountTokens occur in payments of several Apple Accounts, \(first.token) in "
                    + "\(first.payments) payments of \(first.appleAccounts) accounts: \(list)",
                zh: "有 \(tokens.count) 个 appAccountToken 出现在多个 Apple 账户的付款中，其中 \(first.token) 出现在 "
                    + "\(first.appleAccounts) 个账户的 \(first.payments) 笔付款中：\(list)"),
            do: LocalizedText(
                en: "Look for a constant UUID in the app: each payment needs its order's id, or a UUID of the account.",
                zh: "请检查 App 中是否写死了某个 UUID：每笔付款应带自己的订单号，或账户自己的 UUID。"))
    }

    /// Refused proofs of a day at which a person should look: single ones are jailbroken phones.
    static let refusedProofsWarning: Int64 = 20

    private func refusedProofs(_ connection: any Connection) throws -> DoctorCheck {
        let day = now.adding(milliseconds: -86_400_000)
        let counts = try RefusedProofTable(connection).counts(since: day)
        let total = counts.reduce(0) { $0 + $1.count }
        let list = counts.prefix(5).map { "\($0.code) \($0.count)" }.joined(separator: ", ")
        guard total >= Self.refusedProofsWarning else {
            return .ok(
                .refusedProofs,
                en: "\(total) different proofs were refused in 24 hours\(total > 0 ? ": \(list)." : ".")",
                zh: "24 小时内拒绝了 \(total) 份不同的凭证\(total > 0 ? "：\(list)。" : "。")")
        }
        return .warning(
            .refusedProofs,
            LocalizedText(
                en: "\(total) different proofs were refused in 24 hours: \(list).",
                zh: "24 小时内拒绝了 \(total) 份不同的凭证：\(list)。"),
            do: LocalizedText(
                en: "See the dashboard's refused proofs. Many of one code are a wrong apple.bundleId, "
                    + "apple.environments or apple.roots; many codes of few callers are an attack, and nothing was "
                    + "granted.",
                zh: "请看控制台的被拒凭证。同一代码大量出现，多为 apple.bundleId、apple.environments 或 apple.roots 配置有误；"
                    + "少数来源的各种代码则是攻击，没有发放任何内容。"))
    }
}
