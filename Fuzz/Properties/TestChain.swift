import TillCrypto

/// A certificate authority in Apple's place: root, intermediate and leaf with Apple's markers, once with P-256 keys for
/// tokens, once with RSA keys for receipts. Its private keys exist only in this process.
struct TestChain: Sendable {
    let tokenSigner: SigningIdentity
    let receiptSigner: SigningIdentity

    /// 2020-01-01 to 2050-01-01: signed payloads are verified at their own date.
    static let validity: ClosedRange<Int64> = 1_577_836_800...2_524_608_000

    /// - Parameter name: OpenSSL finds issuers by name, so different chains need different names.
    init(_ name: String) throws(SigningError) {
        tokenSigner = try Self.signer("\(name) tokens", .p256)
        receiptSigner = try Self.signer("\(name) receipts", .rsa2048)
    }

    /// The roots, in the form of a policy.
    var roots: [[UInt8]] { [tokenSigner, receiptSigner].compactMap(\.chain.last) }

    private static func signer(_ name: String, _ kind: PrivateKey.Kind) throws(SigningError) -> SigningIdentity {
        let root = try SigningIdentity.root(
            template("\(name) root", 1, .authority(pathLength: nil), []), key: .generate(kind))
        let intermediate = try root.issue(
            template("\(name) intermediate", 2, .authority(pathLength: 0), ["1.2.840.113635.100.6.2.1"]),
            key: .generate(kind))
        return try intermediate.issue(
            template("\(name) leaf", 3, .signer, ["1.2.840.113635.100.6.11.1"]), key: .generate(kind))
    }

    private static func template(
        _ name: String, _ serial: UInt8, _ role: CertificateTemplate.Role, _ markers: [String]
    ) -> CertificateTemplate {
        CertificateTemplate(
            subject: [("CN", name)], serial: [serial], validity: validity, role: role, markers: markers)
    }
}
