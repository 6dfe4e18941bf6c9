import TillBilling
import TillLedger

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What is left on a file system for a user who is not root.
struct DiskSpace: Sendable {
    let free: Int64
    /// Files that can still be created; nil on a file system that makes them as needed.
    let files: Int64?

    init(free: Int64, files: Int64?) {
        self.free = free
        self.files = files
    }

    /// Nil if the file system can't be asked.
    init?(at path: String) {
        var facts = statvfs()
        guard statvfs(path, &facts) == 0 else { return nil }
        let size = UInt64(facts.f_frsize) == 0 ? UInt64(facts.f_bsize) : UInt64(facts.f_frsize)
        free = Int64(clamping: UInt64(facts.f_bavail).multipliedReportingOverflow(by: size).partialValue)
        files = facts.f_files == 0 ? nil : Int64(clamping: UInt64(facts.f_favail))
    }
}

/// How fast a ledger grows.
struct LedgerGrowth: Sendable {
    let bytesPerDay: Int64
}

// MARK: File modes

extension Doctor {
    func machineChecks() -> [DoctorCheck] { fileModes() }

    private func fileModes() -> [DoctorCheck] {
        var found: [DoctorCheck] = []
        let secrets = configuration.secretFiles
        for path in secrets.sorted() { found += FileMode(path).findings(isSecret: true) }
        if let file = configurationFile, !secrets.contains(file) { found += FileMode(file).findings(isSecret: false) }
        if let ledger = location.file {
            for path in ["", "-wal", "-shm", "-lock"].map({ ledger + $0 }) where fileExists(path) {
                found += FileMode(path).findings(isSecret: true)
            }
            found += FileMode(directory(of: ledger)).findings(isSecret: false)
        }
        guard found.isEmpty else { return found }
        return [
            .ok(
                .fileModes, en: "Secrets and ledger are closed to other users of this machine.",
                zh: "本机其他用户无法访问密钥与账本。")
        ]
    }
}

private struct FileMode {
    let path: String
    private let mode: mode_t?
    private let isDirectory: Bool

    init(_ path: String) {
        self.path = path
        var facts = stat()
        mode = stat(path, &facts) == 0 ? facts.st_mode : nil
        isDirectory = mode.map { $0 & S_IFMT == S_IFDIR } ?? false
    }

    /// - Parameter isSecret: whether others must not even read it.
    func findings(isSecret: Bool) -> [DoctorCheck] {
        guard let mode else { return [] }
        let octal = String(mode & 0o7777, radix: 8)
        let wanted = isDirectory ? "700" : "600"
        let action = LocalizedText(en: "Run chmod \(wanted) \(shown(path)).", zh: "请运行 chmod \(wanted) \(shown(path))。")
        // In a sticky directory, such as /tmp, others cannot replace the files.
        if mode & 0o002 != 0, !(isDirectory && mode & 0o1000 != 0) {
            return [
                .error(
                    .fileModes,
                    LocalizedText(
                        en: "\(shown(path)) (mode \(octal)) can be changed by every user of this machine.",
                        zh: "\(shown(path))（权限 \(octal)）可被本机所有用户修改。"), do: action)
            ]
        }
        if isSecret, mode & 0o077 != 0 {
            return [
                .warning(
                    .fileModes,
                    LocalizedText(
                        en: "\(shown(path)) (mode \(octal)) is accessible to other users of this machine.",
                        zh: "\(shown(path))（权限 \(octal)）可被本机其他用户访问。"), do: action)
            ]
        }
        return []
    }
}

// MARK: Disk

extension Doctor {
    /// Below this, the write-ahead log (64 MiB) and a migration may not fit.
    static let diskError: Int64 = 256_000_000
    static let diskWarning: Int64 = 2_000_000_000
    static let inodesError: Int64 = 100
    /// At the present growth.
    static let diskDaysWarning: Int64 = 30
    static let diskDaysError: Int64 = 3

    /// - Parameter growth: nil if it is unknown.
    func disk(_ growth: LedgerGrowth?) -> DoctorCheck {
        guard let file = location.file else {
            return .ok(
                .disk, en: "The ledger is on the disk of PostgreSQL's server, which has monitoring of its own.",
                zh: "账本在 PostgreSQL 服务器的磁盘上，由其自身的监控负责。")
        }
        let place = directory(of: file)
        let action = LocalizedText(
            en: "Free space, or move the ledger to a larger volume. While the disk is full, purchases are refused.",
            zh: "请腾出空间，或把账本移到更大的卷。磁盘写满期间，购买会被拒绝。")
        guard let space = effects.diskSpace(place) else {
            return .notChecked(
                .disk,
                because: LocalizedText(en: "\(shown(place)) can't be asked", zh: "无法查询 \(shown(place))"),
                do: LocalizedText(en: "See the check ledger.", zh: "请看检查项 ledger。"))
        }
        let days = growth.flatMap { $0.bytesPerDay > 0 ? space.free / $0.bytesPerDay : nil }
        var detail = LocalizedText(
            en: "\(shortSize(space.free)) free beside the ledger", zh: "账本所在的卷剩余 \(shortSize(space.free))")
        if let days, let growth {
            let rate = shortSize(growth.bytesPerDay)
            detail = LocalizedText(
                en: detail.en + ", enough for \(days) days at \(rate) a day",
                zh: detail.zh + "，按每天 \(rate) 可用 \(days) 天")
        }
        if let files = space.files, files < Self.inodesError {
            return .error(
                .disk,
                LocalizedText(
                    en: "\(detail.en); only \(files) more files fit.",
                    zh: "\(detail.zh)；只能再创建 \(files) 个文件。"), do: action)
        }
        detail = LocalizedText(en: detail.en + ".", zh: detail.zh + "。")
        if space.free < Self.diskError || (days ?? .max) < Self.diskDaysError {
            return .error(.disk, detail, do: action)
        }
        if space.free < Self.diskWarning || (days ?? .max) < Self.diskDaysWarning {
            return .warning(.disk, detail, do: action)
        }
        return .ok(.disk, en: detail.en, zh: detail.zh)
    }
}
