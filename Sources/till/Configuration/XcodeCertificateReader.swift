import TillBilling
import TillCrypto

/// `apple.xcodeCertificate`: the certificate that Xcode's menu Editor > Save Public Certificate exports.
///
/// A developer's own machine has its private key, so a proof signed with it costs nothing to make. The reader therefore
/// accepts it only where `Xcode` is the only environment and no service of Apple's is configured.
extension ConfigurationReader {
    mutating func readXcodeCertificate(_ environments: Set<StoreEnvironment>?) -> [UInt8]? {
        let acceptsXcode = environments?.contains(.xcode) == true
        guard let setting = setting(.xcodeCertificate) else {
            if acceptsXcode, let named = self.setting(.environments) {
                reader.complain(
                    named.place,
                    LocalizedText(
                        en: "Xcode needs apple.xcodeCertificate, the certificate that Xcode exports "
                            + "(Editor > Save Public Certificate)",
                        zh: "接受 Xcode 需要 apple.xcodeCertificate，即 Xcode 导出的证书（Editor > Save Public Certificate）"))
            }
            return nil
        }
        // Without known environments there is a problem already.
        guard let environments else { return nil }
        guard environments == [.xcode] else {
            reader.complain(
                setting.place,
                LocalizedText(
                    en: "can be used only where apple.environments is exactly [\"Xcode\"]: anyone with Xcode can sign "
                        + "with such a certificate, and it is never trusted beside Production or Sandbox",
                    zh: "只有 apple.environments 恰为 [\"Xcode\"] 时才能使用：任何有 Xcode 的人都能用这类证书签名，"
                        + "它绝不与 Production 或 Sandbox 同时受信任"))
            return nil
        }
        refuseBesideXcode()
        guard let path = reader.text(setting, most: 4_096),
            let file = reader.file(resolve(path, from: setting.base), place: setting.place, most: RootFile.maximumBytes)
        else { return nil }
        guard let certificates = RootFile.certificates(in: file), certificates.count == 1,
            let certificate = Certificate(der: certificates[0]), certificate.publicKey?.isP256 == true
        else {
            reader.complain(
                setting.place,
                LocalizedText(
                    en: "is not one certificate in DER or PEM with a P-256 key, by which Xcode signs transactions; the "
                        + "RSA certificate of older Xcodes signs receipts only",
                    zh: "不是单个 DER 或 PEM 格式、密钥为 P-256 的证书（Xcode 用它为交易签名）；"
                        + "旧版 Xcode 的 RSA 证书只用于签名收据"))
            return nil
        }
        return certificates[0]
    }

    /// Apple's services know no purchase in Xcode, and other roots sign none.
    private mutating func refuseBesideXcode() {
        let others: [ConfigurationKey] = [
            .roots, .issuerID, .keyID, .privateKey, .privateKeyFile, .sharedSecret, .sharedSecretFile, .emulator,
        ]
        for key in others {
            guard let setting = setting(key) else { continue }
            reader.complain(
                setting.place,
                LocalizedText(
                    en: "can't be combined with Xcode: a server for local tests trusts the exported certificate alone "
                        + "and sends no requests to Apple",
                    zh: "不能与 Xcode 同时使用：用于本地测试的服务器只信任导出的证书，也不向 Apple 发出任何请求"))
        }
    }
}
