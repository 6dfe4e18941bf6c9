import TillBilling
import TillHTTP
import TillSQLite
import TillServer

/// A server with its ledger and its socket: what `serve` and the demo start, and stop in good order.
final class RunningServer: Sendable {
    let server: Server
    private let ledger: SQLiteDatabase
    private let listener: Listener

    var port: UInt16 { listener.port }

    /// - Throws: `CommandFailure` with what stands in the way and what to do.
    init(_ configuration: Configuration, process: ProcessEffects) throws {
        let path: String
        switch configuration.database {
        case .sqlite(let file): path = file
        }
        do {
            ledger = try SQLiteDatabase.open(path: path, role: .server)
        } catch {
            throw CommandFailure(
                Text(en: "the ledger \(shown(path)): \(error.detail)", zh: "账本 \(shown(path))：\(error.detail)"))
        }
        do {
            server = try Server(
                configuration: configuration.server, database: ledger, clock: process.clock, entropy: process.entropy)
        } catch {
            throw CommandFailure(Refusal(rawValue: error.verdict.rawValue)?.sentence ?? Text(error.detail))
        }
        var settings = ListenerConfiguration()
        settings.address = configuration.listen.host
        settings.port = configuration.listen.port
        let router = server.router
        do {
            listener = try Listener(
                configuration: settings, bodyLimit: router.bodyLimit(method:path:), handler: router.respond(to:))
        } catch {
            throw error.failure(address: configuration.listen.description)
        }
    }

    /// What goes on beside the requests, until the task is cancelled: notifications that were stored but not settled
    /// are taken up now and every minute.
    func runJobs() async {
        while !Task.isCancelled {
            _ = try? await PendingNotifications(server).settleAll()
            try? await Task.sleep(for: .seconds(60))
        }
    }

    /// Answers what is under way, then closes the ledger: nothing that was answered is lost.
    func stop() async {
        await listener.stop(grace: 30)
        await ledger.close()
    }
}

extension ListenerFault {
    /// What to do about it.
    func failure(address: String) -> CommandFailure {
        switch self {
        case .addressInUse:
            CommandFailure(
                Text(
                    en: "\(address) is taken by another program; end it or choose another port",
                    zh: "\(address) 已被其他程序占用；请结束它或换一个端口"))
        case .badAddress:
            CommandFailure(
                Text(en: "\(address) is no address of this machine", zh: "\(address) 不是本机的地址"))
        case .notPermitted(let port):
            CommandFailure(
                Text(
                    en: "port \(port) needs a privilege this process hasn't; choose one from 1024 up",
                    zh: "端口 \(port) 需要本进程没有的权限；请选择 1024 及以上的端口"))
        case .system(let step, let code):
            CommandFailure(Text(en: "can't listen: \(step), error \(code)", zh: "无法监听：\(step)，错误 \(code)"))
        }
    }
}
