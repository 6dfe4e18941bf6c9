import TillBilling
import TillSQL

extension LedgerLocation {
    /// The failure with its cure. The driver's own message, which has the details, is English.
    func failure(_ error: DatabaseError) -> CommandError {
        let chinese =
            switch self {
            case .sqlite: error.fileSentence
            case .postgres: error.serverSentence
            }
        return CommandError(
            LocalizedText(
                en: "the ledger \(name): \(error.detail)", zh: "账本 \(name) \(chinese)（\(error.detail)）"))
    }
}

extension DatabaseError {
    fileprivate var fileSentence: String {
        switch kind {
        case .inUse: "正由另一个服务器使用；请先停止它，或给这个服务器另一个账本"
        case .full: "所在的磁盘已满；请腾出空间"
        case .readOnly: "不可写；请给本进程写这个文件及其目录的权限"
        case .inputOutput: "所在的磁盘出错；请查看系统日志"
        case .corrupt: "已损坏，或不是 Till 的账本；请恢复备份"
        case .newerSchema: "由更新版本的 Till 写成；请升级本程序"
        case .unreleasedSchema: "由首个正式版之前的 Till 写成，本程序无法升级它；请给一个新文件的路径"
        case .isBackup: "是一个备份；请用“till restore”恢复到新文件"
        case .unfinishedBackfill: "的结构还不能更新到本版本：上一版本的数据回填尚未完成；请先运行上一版本，或停止服务器后运行“till migrate”"
        case .constraint, .busy, .closed, .unreachable, .other: "打不开；请检查路径与目录"
        }
    }

    fileprivate var serverSentence: String {
        switch kind {
        case .unreachable: "连接不上；请检查主机、端口、用户、密码文件与数据库名，并确认 PostgreSQL 正在运行"
        case .full: "所在的磁盘已满；请在数据库服务器上腾出空间"
        case .readOnly: "只读：连接到了备库；请在 database 中写上所有主机和 target_session_attrs=read-write"
        case .inputOutput: "所在的磁盘出错；请查看数据库服务器的日志"
        case .corrupt: "已损坏，或属于其他程序；请指明另一个数据库，或恢复备份"
        case .newerSchema: "由更新版本的 Till 写成；请升级本程序"
        case .unreleasedSchema: "由首个正式版之前的 Till 写成，本程序无法升级它；请给一个空的数据库"
        case .unfinishedBackfill: "的结构还不能更新到本版本：上一版本的数据回填尚未完成；请先运行上一版本，或运行“till migrate”"
        case .inUse, .busy: "正忙；请稍后再试"
        case .constraint, .closed, .isBackup, .other: "打不开；请按括号中的说明处理"
        }
    }
}
