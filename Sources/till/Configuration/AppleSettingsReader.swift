import TillAppStore
import TillBilling
import TillCrypto

extension ConfigurationReader {
    mutating func readApple() -> AppleSettings? {
        let bundleID = readBundleID()
        let environments = readEnvironments()
        let acceptsProduction = environments?.contains(.production) == true
        var appAppleID: Int64?
        if let setting = acceptsProduction ? requiredSetting(.appAppleID) : setting(.appAppleID) {
            appAppleID = reader.positiveInteger(setting)
        }
        let roots = readRoots(acceptsProduction: acceptsProduction)
        let certificate = readXcodeCertificate(environments)
        guard let bundleID, let environments else { return nil }
        return AppleSettings(
            bundleID: bundleID, appAppleID: appAppleID, environments: environments, roots: roots,
            xcodeCertificate: certificate)
    }

    private mutating func readBundleID() -> String? {
        guard let setting = requiredSetting(.bundleID), let text = reader.text(setting, most: 155) else { return nil }
        // Letters, digits, hyphen and period (Apple, "CFBundleIdentifier").
        let isWellFormed = text.utf8.allSatisfy { unit in
            (0x30...0x39).contains(unit) || (0x41...0x5A).contains(unit & 0xDF) || unit == 0x2D || unit == 0x2E
        }
        if isWellFormed { return text }
        reader.complain(
            setting.place,
            LocalizedText(
                en: "must be letters, digits, - and . only, found \"\(shown(text))\"",
                zh: "只能有字母、数字、- 和 .，实际为“\(shown(text))”"))
        return nil
    }

    private mutating func readEnvironments() -> Set<StoreEnvironment>? {
        guard let setting = requiredSetting(.environments), let list = reader.list(setting) else { return nil }
        let names = [StoreEnvironment.production, .sandbox].map(\.rawValue)
        var environments: Set<StoreEnvironment> = []
        for entry in list {
            guard let text = reader.text(entry) else { continue }
            if let environment = StoreEnvironment(rawValue: text) {
                environments.insert(environment)
            } else if text == "LocalTesting" {
                // StoreKit's unit tests sign with a key on the developer's own machine (facts/jws §2).
                reader.complain(
                    entry.place,
                    LocalizedText(
                        en: "a server never accepts \(text): its signatures don't come from Apple",
                        zh: "服务器从不接受 \(text)：其签名并非来自 Apple"))
            } else {
                let near = nearestName(to: text, among: names)
                reader.complain(
                    entry.place,
                    LocalizedText(
                        en: "must be Production or Sandbox, found \"\(shown(text))\""
                            + (near.map { ". Did you mean \($0)?" } ?? ""),
                        zh: "应为 Production 或 Sandbox，实际为“\(shown(text))”" + (near.map { "。是否想写 \($0)？" } ?? "")))
            }
        }
        if list.isEmpty {
            reader.complain(
                setting.place,
                LocalizedText(en: "is empty, so no purchase could be accepted", zh: "为空，任何购买都不会被接受"))
        }
        return environments
    }

    /// Nil for Apple's own roots, and after a problem was recorded.
    private mutating func readRoots(acceptsProduction: Bool) -> [[UInt8]]? {
        guard let setting = setting(.roots), let list = reader.list(setting, most: 32) else { return nil }
        if list.isEmpty {
            reader.complain(
                setting.place,
                LocalizedText(en: "is empty; leave it out to trust Apple's roots", zh: "为空；删去此项即信任 Apple 的根证书"))
        }
        var roots: [[UInt8]] = []
        for entry in list {
            guard let path = reader.text(entry, most: 4_096),
                let file = reader.file(resolve(path, from: entry.base), place: entry.place, most: RootFile.maximumBytes)
            else { continue }
            guard let certificates = RootFile.certificates(in: file) else {
                reader.complain(
                    entry.place,
                    LocalizedText(en: "is not a certificate in DER or PEM", zh: "不是 DER 或 PEM 格式的证书"))
                continue
            }
            for certificate in certificates {
                if acceptsProduction, !RootFile.isApples(certificate) {
                    refuseBesideProduction(certificate, entry.place)
                }
                roots.append(certificate)
            }
        }
        return roots
    }

    /// An emulator's root signs whatever its owner chooses. Trusted beside production, it would turn test purchases
    /// into real grants.
    private mutating func refuseBesideProduction(_ certificate: [UInt8], _ place: SettingLocation) {
        let fingerprint = hexadecimal(Digest.sha256.hash(certificate))
        reader.complain(
            place,
            LocalizedText(
                en: "is not one of Apple's root certificates (SHA-256 \(fingerprint)), and Production is accepted: "
                    + "an emulator's root is never trusted together with Production. Remove one of the two",
                zh: "不是 Apple 的根证书（SHA-256 \(fingerprint)），而配置接受 Production："
                    + "模拟商店的根证书绝不能与生产环境同时受信任，请去掉其中之一"))
    }
}
