import CTillOpenSSL

/// CMS SignedData as Apple builds app receipts (facts/pkcs7-receipt §2): version 1, SHA-256, the content inside, the
/// certificates in the order leaf, intermediate, root, one signer by issuer and serial number, no signed attributes,
/// so that the RSA signature is straight over the content.
///
/// The container is written here because OpenSSL's own writer sorts the certificates as a DER SET, and readers in the
/// field take the first certificate for the leaf.
public enum SignedMessageWriter {
    private static let signedData: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
    private static let data: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
    private static let sha256: [UInt8] = [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
    private static let rsaEncryption: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]

    /// - Parameter signer: with an RSA key; its whole chain goes into the message.
    /// - Returns: DER.
    public static func sign(_ content: [UInt8], by signer: SigningIdentity) throws(IssuingFault) -> [UInt8] {
        guard signer.key.kind == .rsa2048 else { throw IssuingFault("a receipt is signed with an RSA key") }
        let signature = try signer.key.signSHA256(content)
        let issuerName = X509_get_issuer_name(signer.x509)
        let issuer = try encoded("i2d_X509_NAME") { i2d_X509_NAME(issuerName, $0) }
        let number = X509_get_serialNumber(signer.x509)
        let serial = try encoded("i2d_ASN1_INTEGER") { i2d_ASN1_INTEGER(number, $0) }
        let digest = DERWriter.sequence(sha256, DERWriter.null)
        let signerInfo = DERWriter.sequence(
            DERWriter.integer(1), DERWriter.sequence(issuer, serial), digest,
            DERWriter.sequence(rsaEncryption, DERWriter.null), DERWriter.octetString(signature))
        let body = DERWriter.sequence(
            DERWriter.integer(1), DERWriter.setOf([digest]),
            DERWriter.sequence(data, DERWriter.value(tag: 0xA0, DERWriter.octetString(content))),
            DERWriter.value(tag: 0xA0, signer.chain.flatMap { $0 }), DERWriter.setOf([signerInfo]))
        return DERWriter.sequence(signedData, DERWriter.value(tag: 0xA0, body))
    }
}
