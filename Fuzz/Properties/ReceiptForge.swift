import TillBilling
import TillCrypto

@testable import TillAppStore

/// Writes receipts in the forms of Apple's servers and Xcode, and others of RFC 5652. Everything except the content is
/// fixed.
enum ReceiptForge {
    enum Form: CaseIterable {
        case der
        /// The signature covers attributes that match the content.
        case signedAttributes
        /// Indefinite lengths, as Xcode writes them.
        case indefinite
        /// Indefinite lengths, and segmented content.
        case pieces
        /// The content in one more OCTET STRING.
        case wrapped
    }

    private static let signedData: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
    private static let data: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
    private static let contentType: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x03]
    private static let messageDigest: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x04]
    private static let sha256: [UInt8] = [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
    private static let rsaEncryption: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]

    /// The bytes that the message declares as signed.
    static func content(_ payload: [UInt8], _ form: Form) -> [UInt8] {
        form == .wrapped ? DERWriter.octetString(payload) : payload
    }

    /// - Parameter signature: replaces the real one, for messages that must be refused before the signature is checked.
    static func receipt(
        _ payload: [UInt8], _ form: Form, by signer: SigningIdentity, signature: [UInt8]? = nil
    ) throws(SigningError) -> [UInt8] {
        let content = content(payload, form)
        var attributes: [UInt8] = []
        var covered = content
        if form == .signedAttributes {
            covered = DERWriter.setOf([
                DERWriter.sequence(contentType, DERWriter.setOf([data])),
                DERWriter.sequence(
                    messageDigest, DERWriter.setOf([DERWriter.octetString(Digest.sha256.hash(content))])),
            ])
            attributes = [0xA0] + covered.dropFirst()
        }
        let signature = if let signature { signature } else { try signer.key.signSHA256(covered) }
        let digest = DERWriter.sequence(sha256, DERWriter.null)
        let signerInfo = DERWriter.sequence(
            DERWriter.integer(1), try name(of: signer), digest, attributes,
            DERWriter.sequence(rsaEncryption, DERWriter.null),
            DERWriter.octetString(signature))
        let parts = [
            DERWriter.integer(1), DERWriter.setOf([digest]), contentInfo(content, form),
            DERWriter.value(tag: 0xA0, signer.chain.flatMap { $0 }), DERWriter.setOf([signerInfo]),
        ].flatMap { $0 }
        return isIndefinite(form)
            ? indefinite(0x30, signedData + indefinite(0xA0, indefinite(0x30, parts)))
            : DERWriter.sequence(signedData, DERWriter.value(tag: 0xA0, DERWriter.sequence(parts)))
    }

    private static func isIndefinite(_ form: Form) -> Bool { form == .indefinite || form == .pieces }

    private static func contentInfo(_ content: [UInt8], _ form: Form) -> [UInt8] {
        guard isIndefinite(form) else {
            return DERWriter.sequence(data, DERWriter.value(tag: 0xA0, DERWriter.octetString(content)))
        }
        let middle = form == .pieces ? content.count / 2 : content.count
        let pieces = [content[..<middle], content[middle...]].flatMap { DERWriter.octetString(Array($0)) }
        return indefinite(0x30, data + indefinite(0xA0, indefinite(0x24, pieces)))
    }

    private static func indefinite(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag, 0x80] + content + [0, 0] }

    /// IssuerAndSerialNumber from the signer's certificate.
    private static func name(of signer: SigningIdentity) throws(SigningError) -> [UInt8] {
        do throws(VerificationError) {
            var outer = ASN1Reader(try ASN1Reader.single((signer.chain.first ?? [])[...]).content)
            var fields = ASN1Reader(try outer.next().content)
            _ = try fields.next(0xA0)
            let serial = try fields.next(ASN1Reader.Tag.integer)
            _ = try fields.next()
            let issuer = try fields.next(ASN1Reader.Tag.sequence)
            return DERWriter.sequence(
                DERWriter.value(tag: issuer.tag, Array(issuer.content)),
                DERWriter.value(tag: serial.tag, Array(serial.content)))
        } catch {
            throw SigningError("the signer's certificate: \(error.detail)")
        }
    }
}

/// Writes the content of receipts.
enum ReceiptWriter {
    /// `SEQUENCE { type, version, value }`
    static func attribute(_ type: Int64, _ value: [UInt8]) -> [UInt8] {
        DERWriter.sequence(DERWriter.integer(type), DERWriter.integer(1), DERWriter.octetString(value))
    }

    /// The content for a payload: one attribute for each value, none for a missing value.
    static func content(of payload: ReceiptPayload) -> [UInt8] {
        let attributes: [[UInt8]?] =
            [
                text(0, payload.receiptType), number(1, payload.appAppleID),
                payload.octets(ofType: 2).map { attribute(2, $0) } ?? text(2, payload.bundleID),
                text(3, payload.applicationVersion),
                payload.opaqueValue.map { attribute(4, $0) }, payload.deviceHash.map { attribute(5, $0) },
                date(8, payload.downloadDate), text(10, payload.ageRating), number(11, payload.developerID),
                date(12, payload.creationDate), number(15, payload.downloadID),
                number(16, payload.versionExternalIdentifier), date(18, payload.originalPurchaseDate),
                text(19, payload.originalApplicationVersion), date(21, payload.expirationDate),
            ] + payload.purchases.map { attribute(17, content(of: $0)) }
        // In this order and not in DER's, because the order of purchases is compared too.
        return DERWriter.value(tag: 0x31, attributes.flatMap { $0 ?? [] })
    }

    private static func content(of purchase: ReceiptPurchase) -> [UInt8] {
        DERWriter.setOf(
            [
                number(1701, purchase.quantity), text(1702, purchase.productID), text(1703, purchase.transactionID),
                date(1704, purchase.purchaseDate), text(1705, purchase.originalTransactionID),
                date(1706, purchase.originalPurchaseDate), number(1707, purchase.productType),
                date(1708, purchase.expiresDate), number(1711, purchase.webOrderLineItemID),
                date(1712, purchase.cancellationDate), number(1713, purchase.isTrialPeriod),
                number(1719, purchase.isInIntroductoryOfferPeriod), text(1721, purchase.promotionalOfferID),
            ].compactMap { $0 })
    }

    static func text(_ type: Int64, _ text: String?) -> [UInt8]? {
        text.map { attribute(type, DERWriter.utf8String($0)) }
    }

    static func number(_ type: Int64, _ number: Int64?) -> [UInt8]? {
        number.map { attribute(type, DERWriter.integer($0)) }
    }

    private static func date(_ type: Int64, _ instant: Instant?) -> [UInt8]? { text(type, instant?.rfc3339) }
}
