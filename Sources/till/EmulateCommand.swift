import TillAppStore
import TillBilling
import TillEmulator

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Flag {
    fileprivate static let port = Flag(
        "port", .integer("N", 0...65_535),
        summary: Text(en: "port on 127.0.0.1 (default: any free one)", zh: "127.0.0.1 上的端口（默认任选空闲端口）"))
    fileprivate static let data = Flag(
        "data", .text("DIR"),
        summary: Text(
            en: "directory that keeps the store; made if missing (default: gone when it ends)",
            zh: "保存商店数据的目录，没有就新建（默认结束后不保留）"))
    fileprivate static let bundleID = Flag(
        "bundle-id", .text("ID"),
        summary: Text(
            en: "the app on sale (default: com.example.learn)", zh: "在售 App 的 bundle id（默认 com.example.learn）"))
    fileprivate static let environment = Flag(
        "environment", .choice(["sandbox", "production"]),
        summary: Text(en: "what it signs as (default: sandbox)", zh: "签名时所称的环境（默认 sandbox）"))
}

extension Command {
    /// `till emulate`: the emulated App Store alone.
    static let emulate = Command(
        "emulate",
        summary: Text(en: "run an emulated App Store", zh: "运行模拟的 App Store"),
        discussion: Text(
            en: """
                Signs with its own root, which GET /emulator/root.cer gives: name it under apple.roots of a sandbox
                configuration. It is not Apple's, and a configuration that accepts production refuses it.
                """,
            zh: """
                用它自己的根证书签名，可从 GET /emulator/root.cer 获取：写入 sandbox 配置的 apple.roots。
                它不是 Apple 的证书，接受 production 的配置会拒绝它。
                """),
        flags: [.port, .data, .bundleID, .environment]
    ) { call in
        let untilStopped = call.process.hearStop()
        let directory = try StoreDirectory(call.text(.data))
        defer { directory.removeIfTemporary() }
        var configuration = EmulatorConfiguration()
        configuration.app = EmulatedApp(bundleID: call.text(.bundleID) ?? "com.example.learn")
        if call.text(.environment) == "production" { configuration.environment = .production }
        let running = try await RunningEmulator(
            configuration, directory: directory.path, port: UInt16(call.integer(.port) ?? 0), process: call.process)
        let url = "http://127.0.0.1:\(running.port)"
        if call.wantsJSON {
            call.console.print(JSONValue.object(["listening": .string(url)]).encoded())
        } else {
            call.say(
                Text(
                    en: "The emulated App Store listens on \(url) (root certificate: \(url)/emulator/root.cer)",
                    zh: "模拟的 App Store 正在监听 \(url)（根证书：\(url)/emulator/root.cer）"))
        }
        await withTaskGroup(of: Void.self) { jobs in
            jobs.addTask { await running.runJobs() }
            await untilStopped()
            jobs.cancelAll()
            await running.stop()
        }
        return .done
    }
}

/// Where an emulated store lies: a directory that was named, or one that goes away again.
struct StoreDirectory {
    let path: String
    private let isTemporary: Bool

    /// - Throws: `CommandFailure` if the directory can't be made.
    init(_ named: String?) throws {
        isTemporary = named == nil
        path = named ?? FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString)").path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(
                Text(en: "\(shown(path)) can't be made a directory", zh: "无法创建目录 \(shown(path))"))
        }
    }

    func removeIfTemporary() {
        if isTemporary { try? FileManager.default.removeItem(atPath: path) }
    }
}
