import TillBilling
import TillEmulator
import TillJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Flag {
    fileprivate static let port = Flag(
        "port", .integer("N", 0...65_535),
        summary: LocalizedText(en: "port on 127.0.0.1 (default: any free one)", zh: "127.0.0.1 上的端口（默认任选空闲端口）"))
    fileprivate static let data = Flag(
        "data", .text("DIR"),
        summary: LocalizedText(
            en: "directory that keeps the store; created if missing (default: discarded at exit)",
            zh: "保存商店数据的目录，没有就新建（默认结束后不保留）"))
    fileprivate static let bundleID = Flag(
        "bundle-id", .text("ID"),
        summary: LocalizedText(
            en: "the app on sale (default: the sample shop's)", zh: "在售 App 的 bundle id（默认取自示例商店）"))
    fileprivate static let environment = Flag(
        "environment", .choice(["sandbox", "production"]),
        summary: LocalizedText(en: "the environment in signed data (default: sandbox)", zh: "签名数据中的环境（默认 sandbox）"))
    fileprivate static let products = Flag(
        "products", .text("FILE"),
        summary: LocalizedText(
            en: "products of a new store: a list as in PUT /emulator/products, or Xcode's .storekit file",
            zh: "新商店出售的商品：PUT /emulator/products 的列表，或 Xcode 的 .storekit 文件"))
    fileprivate static let storefront = Flag(
        "storefront", .text("CODE"),
        summary: LocalizedText(
            en: "storefront of new accounts, such as USA (default: the .storekit file's, or CHN)",
            zh: "账户所在地区，例如 USA（默认取自 .storekit 文件，否则为 CHN）"))
    fileprivate static let pace = Flag(
        "pace", .choice(RenewalPace.allCases.map(\.rawValue)),
        summary: LocalizedText(
            en: "subscription rate of a new store (default: the .storekit file's, or real)",
            zh: "新商店中订阅运行的速度（默认取自 .storekit 文件，否则为 real）"))
    fileprivate static let grace = Flag(
        "grace", .choice(BillingGracePeriod.Length.allCases.map { String($0.rawValue) }),
        summary: LocalizedText(
            en: "days of service after a renewal could not be charged (default: none)",
            zh: "续订扣款失败后继续提供服务的天数（默认没有宽限期）"))
    fileprivate static let secret = Flag(
        "secret", .text("TEXT"),
        summary: LocalizedText(
            en: "shared secret that /verifyReceipt asks for (default: none)", zh: "/verifyReceipt 要求的共享密钥（默认不要求）"))
}

extension Command {
    /// `till emulate`: the emulated App Store alone.
    static let emulate = Command(
        "emulate",
        summary: LocalizedText(en: "run an emulated App Store", zh: "运行模拟的 App Store"),
        discussion: LocalizedText(
            en: """
                Signs with its own root certificate, available at GET /emulator/root.cer. List it under apple.roots
                of a sandbox configuration. A configuration that accepts production refuses it.
                A new store sells the products that `till init` with the same --sample lists in its catalogue.
                """,
            zh: """
                用它自己的根证书签名，可从 GET /emulator/root.cer 获取：写入 sandbox 配置的 apple.roots。
                它不是 Apple 的证书，接受 production 的配置会拒绝它。
                新商店出售的商品与相同 --sample 的“till init”写出的商品目录一致。
                """),
        flags: [.port, .data, .sample, .bundleID, .environment, .products, .storefront, .pace, .grace, .secret]
    ) { call in
        let untilStopped = call.process.waitForStop()
        let configuration = try EmulatorConfiguration(call)
        let directory = try StoreDirectory(call.text(.data))
        defer { directory.removeIfTemporary() }
        if fileExists("\(directory.path)/store.db"), [Flag.products, .sample, .pace].contains(where: call.isSet) {
            call.warn(
                LocalizedText(
                    en: "the store in \(shown(directory.path)) already exists: its products and rate are unchanged",
                    zh: "\(shown(directory.path)) 中已有商店：其商品与速度保持不变"))
        }
        let running = try await RunningEmulator(
            configuration, directory: directory.path, port: UInt16(call.integer(.port) ?? 0), process: call.process)
        let url = "http://127.0.0.1:\(running.port)"
        if call.wantsJSON {
            call.console.print(JSONValue.object(["listening": .string(url)]).encoded())
        } else {
            call.say(
                LocalizedText(
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

extension EmulatorConfiguration {
    /// The configuration of the flags; ignored members of a product file are listed on stderr.
    ///
    /// - Throws: `CommandError` for an invalid file, `UsageError` for an unknown storefront.
    fileprivate init(_ call: Invocation) throws {
        self.init()
        guard !(call.isSet(.sample) && call.isSet(.products)) else {
            throw UsageError(
                LocalizedText(
                    en: "--sample can't be combined with --products; set only one",
                    zh: "--sample 不能与 --products 同时使用；只能设置一个"), command: "emulate")
        }
        let sample = call.text(.sample).flatMap(SampleShop.init(rawValue:)) ?? .learnPoints
        app = EmulatedApp(bundleID: call.text(.bundleID) ?? sample.bundleID)
        products = sample.products(of: app.bundleID)
        if call.text(.environment) == "production" { environment = .production }
        sharedSecret = call.text(.secret)
        if let path = call.text(.products) {
            let file = try Self.products(path)
            products = file.products
            if let code = file.storefront { storefront = code }
            if let pace = file.pace { renewalPace = pace }
            if let unchecked = file.uncheckedPrices {
                call.warn(
                    LocalizedText(
                        en: "warning: \(shown(path)): \(unchecked.sentence.en)",
                        zh: "警告：\(shown(path))：\(unchecked.sentence.zh)"))
            }
            if !file.ignored.isEmpty {
                let names = file.ignored.joined(separator: ", ")
                call.warn(
                    LocalizedText(
                        en: "\(shown(path)): not supported and left out: \(names)",
                        zh: "\(shown(path))：以下内容不受支持，未采用：\(names)"))
            }
        }
        if let code = call.text(.storefront) {
            guard Self.storefronts.contains(code) else {
                throw UsageError(
                    LocalizedText(en: "there is no storefront \"\(shown(code))\"", zh: "没有“\(shown(code))”这个地区"),
                    suggestion: Self.nearestStorefront(to: code), command: "emulate")
            }
            storefront = code
        }
        billingGracePeriod = call.text(.grace).flatMap { Int64($0) }.flatMap(BillingGracePeriod.Length.init)
            .map { BillingGracePeriod($0) }
        if let pace = call.text(.pace).flatMap(RenewalPace.init) { renewalPace = pace }
    }

    private static func products(_ path: String) throws -> ProductFile {
        let bytes: [UInt8]
        do {
            bytes = try readFile(path, limit: ProductFile.byteLimit)
        } catch {
            throw CommandError(error.sentence)
        }
        do {
            return try ProductFile(bytes)
        } catch {
            throw CommandError(
                LocalizedText(
                    en: "\(shown(path)): \(error.sentence.en)", zh: "\(shown(path))：\(error.sentence.zh)"))
        }
    }
}

/// The directory of an emulated store: a named one, or a temporary one.
struct StoreDirectory {
    let path: String
    private let isTemporary: Bool

    /// - Throws: `CommandError` if the directory can't be created.
    init(_ named: String?) throws {
        isTemporary = named == nil
        path = named ?? FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString)").path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandError(
                LocalizedText(en: "the directory \(shown(path)) can't be created", zh: "无法创建目录 \(shown(path))"))
        }
    }

    func removeIfTemporary() {
        if isTemporary { try? FileManager.default.removeItem(atPath: path) }
    }
}
