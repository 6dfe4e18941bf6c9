import TillAppStore
import TillBilling
import TillEmulator

extension Command {
    private static let emulatePort = Flag(
        "port", .integer("N", 0...65_535),
        summary: Text(
            en: "listen there on 127.0.0.1 (default: 8788; 0: any that is free)",
            zh: "监听 127.0.0.1 的这个端口（默认 8788；0 表示任意空闲端口）"))
    private static let emulateData = Flag(
        "data", .text("DIR"),
        summary: Text(
            en: "keep keys, products and transactions there (default: gone at the end)",
            zh: "把密钥、商品和交易存在这里（默认退出后即丢弃）"))
    private static let emulateBundle = Flag(
        "bundle-id", .text("ID"),
        summary: Text(
            en: "the app whose products a new store sells (default: com.example.learn)",
            zh: "新商店出售哪个应用的商品（默认 com.example.learn）"))

    /// `till emulate`: the emulated App Store alone.
    static let emulate = Command(
        "emulate",
        summary: Text(en: "run the emulated App Store alone", zh: "单独运行模拟的 App Store"),
        discussion: Text(
            en: """
                Apple's own paths, and a control API under /emulator. It signs with a root of its own
                (GET /emulator/root.cer), which only a configuration that names it trusts.
                """,
            zh: """
                提供 Apple 自己的路径，以及 /emulator 下的控制接口。
                它用自己的根证书签名（GET /emulator/root.cer），只有写明信任它的配置才会接受。
                """),
        flags: [emulatePort, emulateData, emulateBundle]
    ) { call in
        let directory = try ScratchDirectory(call.text(emulateData), environment: call.process.environment)
        defer { directory.remove() }
        var configuration = EmulatorConfiguration()
        configuration.app = EmulatedApp(bundleID: call.text(emulateBundle) ?? "com.example.learn")
        let port = UInt16(call.integer(emulatePort) ?? 8_788)
        let untilStopped = call.process.hearStop()
        let store = try await RunningStore.start(
            configuration, file: directory.file("store.db"), listen: ListenAddress(host: "127.0.0.1", port: port),
            process: call.process)
        if call.wantsJSON {
            call.console.print(JSONValue.object(["listening": .string(store.url)]).encoded())
        }
        call.say(Text(en: "till emulate: listening on \(store.url)", zh: "till emulate：正在监听 \(store.url)"))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await store.work() }
            await untilStopped()
            group.cancelAll()
        }
        await store.stop()
        return .done
    }
}
