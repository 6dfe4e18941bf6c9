import TillAppStore
import TillBilling

extension Command {
    /// `till verify`: recognises and verifies any of Apple's proofs.
    static let verify = Command(
        "verify",
        summary: LocalizedText(
            en: "recognise and check any Apple proof: a signed transaction, a notification, a receipt",
            zh: "识别并检查 Apple 的任何凭证：签名交易、通知、收据"),
        discussion: LocalizedText(
            en: """
                Takes a JWS (transaction, renewal info, app transaction, notification with the tokens in it), an app
                receipt (PKCS#7 as DER, PEM or base64) or an old-style transactionReceipt. A check whose flag is absent
                is skipped. Exit code 0 means that every check passed; ok-unverified (--environment xcode) is decoded,
                not trusted: 1.
                """,
            zh: """
                可以是 JWS（交易、续订信息、应用交易，或通知及其中的各个 JWS）、应用收据（PKCS#7，DER、PEM 或 base64），
                或旧式 transactionReceipt。没有写出的选项，对应的检查就跳过。
                退出码 0 表示全部检查通过；ok-unverified（--environment xcode）只解码、不信任，退出码为 1。
                """),
        flags: VerifyFlags.all,
        positionals: [
            Positional("FILE", summary: LocalizedText(en: "the proof; - reads stdin", zh: "凭证文件；- 表示标准输入"))
        ]
    ) { call in
        let policy = try VerifyFlags.policy(call)
        let inspection = ProofInspection.inspect(try VerifyFlags.proof(call), policy: policy)
        let report = InspectionReport(inspection: inspection)
        if call.wantsJSON {
            call.console.print(inspection.json.encoded())
        } else {
            call.console.print(report.lines(call.language).joined(separator: "\n"))
        }
        if inspection.isOK { return .done }
        call.warn(report.reason)
        return .refused
    }
}

/// The flags of `till verify`, and their values.
enum VerifyFlags {
    /// Receipts of heavy buyers reach 4 MiB; base64 and a margin are added.
    static let maximumProofBytes = 16 << 20

    private static let root = Flag(
        "root", .text("CERT"), repeatable: true,
        summary: LocalizedText(
            en: "trust this root certificate (DER or PEM) instead of Apple's", zh: "信任这个根证书（DER 或 PEM），而不是 Apple 的"))
    private static let bundleID = Flag(
        "bundle-id", .text("ID"), summary: LocalizedText(en: "the app that the proof must belong to", zh: "必须属于这个应用"))
    private static let environment = Flag(
        "environment", .choice(["production", "sandbox", "xcode"]),
        summary: LocalizedText(
            en: "the environment that the proof must belong to; xcode decodes without trust",
            zh: "必须属于这个环境；xcode 只解码、不信任"))
    private static let appAppleID = Flag(
        "app-apple-id", .integer("N", 1...Int64.max),
        summary: LocalizedText(
            en: "the app's Apple ID (number), which only production proofs contain",
            zh: "应用在 App Store 的数字 id，只有生产环境的凭证才有"))
    private static let at = Flag(
        // Up to the end of the year 9999, the last date in a certificate.
        "at", .integer("UNIXSECONDS", 0...253_402_300_799),
        summary: LocalizedText(
            en: "verify certificates at this time instead of the proof's time", zh: "按这个时间验证证书，代替凭证中的时间"))
    private static let deviceGUID = Flag(
        "device-guid", .text("HEX"),
        summary: LocalizedText(
            en: "the device that a receipt must belong to: identifierForVendor or MAC address, in hexadecimal",
            zh: "收据必须属于这台设备：identifierForVendor 或 MAC 地址的十六进制"))

    static let all = [root, bundleID, environment, appAppleID, at, deviceGUID]

    static func policy(_ call: Invocation) throws -> InspectionPolicy {
        var policy = InspectionPolicy(now: call.process.clock)
        let rootFiles = call.texts(root)
        if !rootFiles.isEmpty { policy.roots = try rootFiles.flatMap(certificates) }
        policy.bundleID = call.text(bundleID)
        policy.appAppleID = call.integer(appAppleID)
        policy.at = call.integer(at)
        switch call.text(environment) {
        case "production": policy.environment = "Production"
        case "sandbox": policy.environment = "Sandbox"
        case "xcode": policy.environment = "Xcode"
        default: break
        }
        if let text = call.text(deviceGUID) {
            // In the usual notations: a UUID with hyphens, a MAC address with colons.
            guard let device = bytes(hexadecimal: text.filter { $0 != "-" && $0 != ":" }), !device.isEmpty else {
                throw UsageError(
                    LocalizedText(
                        en: "--device-guid must be hexadecimal digits, not \"\(shown(text))\"",
                        zh: "--device-guid 应为十六进制数字，实际为“\(shown(text))”"),
                    command: "verify")
            }
            policy.device = device
        }
        return policy
    }

    static func proof(_ call: Invocation) throws -> [UInt8] {
        let path = call.positionals[0]
        guard path == "-" else {
            do throws(FileError) { return try readFile(path, limit: maximumProofBytes) } catch {
                throw CommandError(error.sentence)
            }
        }
        guard let input = call.console.readInput(limit: maximumProofBytes) else {
            throw CommandError(LocalizedText(en: "stdin can't be read", zh: "无法读取标准输入"))
        }
        guard input.count <= maximumProofBytes else {
            throw CommandError(
                LocalizedText(
                    en: "stdin: is longer than \(maximumProofBytes) bytes", zh: "标准输入：超过 \(maximumProofBytes) 字节"))
        }
        return input
    }

    /// A file without a certificate is passed on unchanged; the verdict is then `bad_root`.
    private static func certificates(_ path: String) throws -> [[UInt8]] {
        do throws(FileError) {
            let file = try readFile(path, limit: RootFile.maximumBytes)
            return RootFile.certificates(in: file) ?? [file]
        } catch {
            throw CommandError(error.sentence)
        }
    }
}
