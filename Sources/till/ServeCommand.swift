import TillAppStore
import TillBilling
import TillServer

extension Command {
    /// `till serve`: the purchase server.
    static let serve = Command(
        "serve",
        summary: Text(en: "run the purchase server", zh: "运行内购服务器"),
        discussion: Text(
            en: """
                Says where it listens and serves until SIGTERM or Ctrl-C; then it answers what has begun, writes
                everything to disk and ends.
                """,
            zh: """
                先打印监听地址，然后一直服务，直到收到 SIGTERM 或 Ctrl-C；
                届时会答复已开始的请求、把一切写入磁盘，然后退出。
                """),
        flags: Configuration.flags
    ) { call in
        let configuration = try Configuration.load(for: call)
        let serverConfiguration = try ServerConfiguration(configuration)
        let path =
            switch configuration.database {
            case .sqlite(let path): path
            }
        let untilStopped = call.process.hearStop()
        let running = try await RunningServer.start(
            serverConfiguration, ledger: path, listen: configuration.listen, process: call.process)
        if call.wantsJSON {
            call.console.print(JSONValue.object(["listening": .string(running.url)]).encoded())
        }
        call.say(Text(en: "till serve: listening on \(running.url)", zh: "till serve：正在监听 \(running.url)"))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await running.work() }
            await untilStopped()
            group.cancelAll()
        }
        await running.stop()
        call.say(Text(en: "till serve: stopped, everything is on disk", zh: "till serve：已停止，所有内容均已写入磁盘"))
        return .done
    }
}

extension ServerConfiguration {
    /// - Throws: everything that is wrong with the catalogue.
    init(_ configuration: Configuration) throws(CommandFailure) {
        let apple = configuration.apple
        self.init(
            catalog: try CatalogReader.read(configuration.catalog, origin: configuration.catalogPlace.description),
            apple: AppleTrust(
                roots: apple.roots ?? [], bundleID: apple.bundleID, appAppleID: apple.appAppleID,
                environments: apple.environments),
            secretKeys: configuration.secretKeys.map { SecretKey(id: $0.id, sha256: $0.sha256) },
            userTokens: configuration.userTokens.map(TillServer.UserTokenKey.init),
            operators: configuration.operators.map { SecretKey(id: $0.id, sha256: $0.sha256) },
            reviewUsers: configuration.reviewUsers)
    }
}

extension TillServer.UserTokenKey {
    fileprivate init(_ key: UserTokenKey) {
        let algorithm: Algorithm =
            switch key.verification {
            case .hs256(let secret): .hs256(secret: secret)
            case .es256(let publicKey): .es256(publicKey)
            }
        self.init(id: key.id, algorithm: algorithm, issuer: key.issuer, audience: key.audience)
    }
}
