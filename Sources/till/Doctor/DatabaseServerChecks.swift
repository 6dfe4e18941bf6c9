import TillBilling
import TillLedger
import TillPostgres
import TillSQL

/// What PostgreSQL says about itself, judged by what an answered grant rests on.
struct DatabaseServerChecks: Sendable {
    let state: TillPostgres.ServerState
    let location: PostgresLocation

    /// The oldest version that the statements are tested with.
    static let oldestVersion = 15
    /// Milliseconds that a standby may be behind.
    static let lagWarning: Int64 = 10_000
    /// Sessions that wait for a lock at one moment.
    static let locksWarning = 20
    /// Servers whose pools should fit beside what else is connected.
    static let serversThatFit = 3

    var all: [DoctorCheck] {
        let found = role + durability + standbys + connections
        guard found.isEmpty else { return found }
        let standbys =
            state.synchronousStandbys.isEmpty ? "" : ", standbys: \(state.synchronousStandbys.joined(separator: ", "))"
        return [
            .ok(
                .databaseServer,
                en: "PostgreSQL \(state.version), role \(shown(state.role))\(standbys); the ledger has "
                    + "\(shortSize(state.sizeBytes)).",
                zh: "PostgreSQL \(state.version)，角色 \(shown(state.role))\(standbys)；"
                    + "账本大小 \(shortSize(state.sizeBytes))。")
        ]
    }

    // MARK: The version and the role

    private var role: [DoctorCheck] {
        var found: [DoctorCheck] = []
        if state.version < Self.oldestVersion {
            found.append(
                error(
                    "PostgreSQL \(state.version) is older than \(Self.oldestVersion).",
                    "PostgreSQL \(state.version) 低于 \(Self.oldestVersion)。",
                    do: "Upgrade PostgreSQL.", "请升级 PostgreSQL。"))
        }
        let role = shown(state.role)
        if state.isSuperuser {
            found.append(
                warning(
                    "The servers' role \(role) is a superuser: no rule of the ledger binds it.",
                    "服务器的角色 \(role) 是超级用户：账本的任何规则都约束不了它。", do: Self.ownRole))
        } else if state.ownsTables {
            found.append(
                warning(
                    "The servers' role \(role) owns the tables, so it could change what is never edited.",
                    "服务器的角色 \(role) 是表的所有者，因此能更改不可编辑的内容。", do: Self.ownRole))
        } else if !state.editableTables.isEmpty {
            let tables = state.editableTables.joined(separator: ", ")
            found.append(
                warning(
                    "The role \(role) may change or delete rows of \(tables), which are never edited.",
                    "角色 \(role) 可以更改或删除 \(tables) 的行，而这些表从不编辑。", do: Self.ownRole))
        }
        return found
    }

    private static let ownRole = LocalizedText(
        en: "Let another role own the tables, and run `till migrate --as postgres://OWNER@HOST/NAME`, which grants "
            + "the servers' role what it needs.",
        zh: "请让另一个角色拥有这些表，并运行 `till migrate --as postgres://所有者@主机/数据库名`，由它授予服务器角色所需的权限。")

    // MARK: Durability

    private var durability: [DoctorCheck] {
        var found: [DoctorCheck] = []
        for name in ["fsync", "full_page_writes"] where state.settings[name] == "off" {
            found.append(
                error(
                    "\(name) is off: a power cut loses answered grants or damages the ledger.",
                    "\(name) 已关闭：断电会丢失已应答的发放，或损坏账本。",
                    do: "Set \(name) = on in postgresql.conf and reload PostgreSQL.",
                    "请在 postgresql.conf 中设置 \(name) = on 并重新载入 PostgreSQL。"))
        }
        // The driver raises `off` and `local` for its own sessions.
        if let level = state.settings["synchronous_commit"], !["on", "remote_apply"].contains(level) {
            found.append(
                warning(
                    "synchronous_commit is \(level) for this role; the servers raise `off` and `local` to `on` "
                        + "for their own sessions.",
                    "此角色的 synchronous_commit 为 \(level)；服务器会在自己的会话中把 off 和 local 提高到 on。",
                    do: "Set synchronous_commit = on.", "请设置 synchronous_commit = on。"))
        }
        return found
    }

    private var configuredStandbys: String { state.settings["synchronous_standby_names"] ?? "" }

    private var standbys: [DoctorCheck] {
        var found: [DoctorCheck] = []
        if state.isInRecovery {
            found.append(
                error(
                    "This is a standby: servers can't write here.", "这是备库：服务器无法写入。",
                    do: "Name every host in `database`, with target_session_attrs=read-write.",
                    "请在 `database` 中写上所有主机和 target_session_attrs=read-write。"))
        } else if state.synchronousStandbys.isEmpty, state.standbyCount > 0, !configuredStandbys.isEmpty {
            found.append(
                warning(
                    "synchronous_standby_names is \(shown(configuredStandbys)), and this role may not see whether a "
                        + "standby is connected.",
                    "synchronous_standby_names 为 \(shown(configuredStandbys))，但此角色无权查看备库是否已连接。",
                    do: "Run GRANT pg_monitor TO \(shown(state.role)).",
                    "请运行 GRANT pg_monitor TO \(shown(state.role))。"))
        } else if state.synchronousStandbys.isEmpty {
            found.append(
                warning(
                    "No synchronous standby: a failover may lose the last answered grants.",
                    "没有同步备库：故障切换可能丢失最近已应答的发放。",
                    do: "With a standby, set synchronous_standby_names (Patroni: synchronous_mode_strict); with one "
                        + "machine, back up its WAL. See docs/scaling.md.",
                    "有备库时请设置 synchronous_standby_names（Patroni：synchronous_mode_strict）；"
                        + "只有一台机器时请备份 WAL。见 docs/scaling.zh-CN.md。"))
        }
        if let lag = state.lagMilliseconds, lag > Self.lagWarning {
            found.append(
                warning(
                    "The slowest of \(state.standbyCount) standbys is \(shortDuration(seconds: lag / 1_000)) behind.",
                    "\(state.standbyCount) 个备库中最慢的落后 \(shortDuration(seconds: lag / 1_000))。",
                    do: "Look at its disk, its network and long queries on it.", "请查看它的磁盘、网络与其上的长查询。"))
        }
        return found
    }

    // MARK: Connections

    private var connections: [DoctorCheck] {
        var found: [DoctorCheck] = []
        if state.waitingLocks > Self.locksWarning {
            found.append(
                warning(
                    "\(state.waitingLocks) sessions wait for locks of others.", "有 \(state.waitingLocks) 个会话在等待锁。",
                    do: "Look for a long transaction in pg_stat_activity: a backup, a person's session, a migration.",
                    "请在 pg_stat_activity 中查找长事务：备份、人工会话或迁移。"))
        }
        let options = location.options(.ledger)
        let pool = options.connections + options.readers
        let needed = pool * Self.serversThatFit
        if state.maximumConnections < needed {
            found.append(
                warning(
                    "max_connections is \(state.maximumConnections), and \(Self.serversThatFit) servers of this "
                        + "configuration need \(needed) (\(pool) each); \(state.connectionCount) are open.",
                    "max_connections 为 \(state.maximumConnections)，而 \(Self.serversThatFit) 个此配置的服务器需要 "
                        + "\(needed) 个连接（每个 \(pool)）；现有 \(state.connectionCount) 个。",
                    do: "Raise max_connections, or lower database.connections and database.readers.",
                    "请提高 max_connections，或降低 database.connections 与 database.readers。"))
        }
        if state.isPooled {
            found.append(
                warning(
                    "A pooler stands before the database.", "数据库前面有连接池。",
                    do: "Keep PgBouncer at pool_mode = session; a server refuses to start behind any other mode.",
                    "请让 PgBouncer 保持 pool_mode = session；在其他模式下服务器会拒绝启动。"))
        }
        return found
    }

    private func error(_ en: String, _ zh: String, do action: String, _ chineseAction: String) -> DoctorCheck {
        .error(.databaseServer, LocalizedText(en: en, zh: zh), do: LocalizedText(en: action, zh: chineseAction))
    }

    private func warning(_ en: String, _ zh: String, do action: String, _ chineseAction: String) -> DoctorCheck {
        warning(en, zh, do: LocalizedText(en: action, zh: chineseAction))
    }

    private func warning(_ en: String, _ zh: String, do action: LocalizedText) -> DoctorCheck {
        .warning(.databaseServer, LocalizedText(en: en, zh: zh), do: action)
    }
}

extension Doctor {
    func databaseServerChecks() -> [DoctorCheck] {
        guard case .postgres(let location) = location else {
            return [
                .ok(.databaseServer, en: "The ledger is a file; no database server is used.", zh: "账本是文件，不使用数据库服务器。")
            ]
        }
        do throws(DatabaseError) {
            return DatabaseServerChecks(state: try location.state(.ledger), location: location).all
        } catch {
            return [error.kind == .unreachable ? .ledgerMissing(.databaseServer) : .failed(.databaseServer, error)]
        }
    }
}
