import TillBilling
import TillHTTP
import TillSQLite
import TillServer
import TillStorage

/// The purchase server as a service of this process: its ledger, its listener, and the jobs beside them.
struct RunningServer: Sendable {
    let server: Server
    /// With the port that was really taken.
    let address: ListenAddress
    private let ledger: SQLiteDatabase
    private let listener: Listener

    /// How long requests that have begun may take to end, in seconds.
    private static let grace = 30

    /// Opens the ledger and begins to serve.
    ///
    /// - Throws: `CommandFailure` with what is in the way.
    static func start(
        _ configuration: ServerConfiguration, ledger path: String, listen: ListenAddress, process: ProcessEffects
    ) async throws -> RunningServer {
        let ledger: SQLiteDatabase
        do throws(DatabaseFault) {
            ledger = try SQLiteDatabase.open(path: path, role: .server)
        } catch {
            throw error.failure(opening: path)
        }
        do {
            let server = try Server(
                configuration: configuration, database: ledger, clock: process.clock, entropy: process.entropy)
            let router = server.router
            var listening = ListenerConfiguration()
            listening.address = listen.host
            listening.port = listen.port
            let listener = try Listener(
                configuration: listening, bodyLimit: router.bodyLimit(method:path:), handler: router.respond(to:))
            let address = ListenAddress(host: listen.host, port: listener.port)
            return RunningServer(server: server, address: address, ledger: ledger, listener: listener)
        } catch {
            await ledger.close()
            throw (error as? ListenerFault)?.failure(at: listen) ?? error
        }
    }

    var url: String { "http://\(address)" }

    /// Does what has to be done beside answering requests, until its task is cancelled: takes up what a crash or a
    /// full disk left between storing a notification and settling it.
    func work() async {
        while !Task.isCancelled {
            // A ledger that can't be read now can be in a minute; requests tell their callers meanwhile.
            _ = try? await PendingNotifications(server).settleAll()
            try? await Task.sleep(for: .seconds(60))
        }
    }

    /// Answers what has begun, lets nobody new in, and leaves everything on disk.
    func stop() async {
        await listener.stop(grace: Self.grace)
        await ledger.close()
    }
}

extension ListenerFault {
    func failure(at address: ListenAddress) -> CommandFailure {
        switch self {
        case .addressInUse:
            CommandFailure(
                Text(
                    en: "\(address) is taken by another program; choose another port, or 0 for any that is free",
                    zh: "\(address) 已被其他程序占用；请换一个端口，或用 0 表示任意空闲端口"))
        case .badAddress:
            CommandFailure(
                Text(
                    en: "\(shown(address.host)) is no address of this machine", zh: "\(shown(address.host)) 不是本机的地址"))
        case .notPermitted:
            CommandFailure(
                Text(
                    en: "port \(address.port) needs privileges this process has not got; choose one above 1023",
                    zh: "端口 \(address.port) 需要更高权限；请使用 1023 以上的端口"))
        case .system(let step, let code):
            CommandFailure(
                Text(en: "can't listen: \(step) failed with errno \(code)", zh: "无法监听：\(step) 失败，errno \(code)"))
        }
    }
}

extension DatabaseFault {
    func failure(opening path: String) -> CommandFailure {
        let reason: Text =
            switch kind {
            case .inUse: Text(en: "another server is using it", zh: "另一个服务器正在使用它")
            case .newerSchema:
                Text(en: "it was written by a newer version of till", zh: "它由更新版本的 till 写成")
            case .full: Text(en: "no space left on the device", zh: "磁盘已满")
            case .readOnly: Text(en: "it can't be written", zh: "无法写入")
            default: Text(detail)
            }
        return CommandFailure(Text(en: "\(shown(path)): \(reason.en)", zh: "\(shown(path))：\(reason.zh)"))
    }
}
