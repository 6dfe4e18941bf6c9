import TillCompression
import TillCrypto

/// The compressed form of a stored signed transaction, without its header, which is stored once for all:
///
///     format (1 byte: 1), checksum of the whole token (4 bytes, CRC-32, big-endian),
///     signature (64 bytes), payload (deflate with the dictionary of the format)
///
/// A format that has been released is read for ever: another dictionary is another format. Only what comes back byte
/// for byte is compressed.
package struct CompressedProof {
    /// What a file has in place of a compressed proof.
    package enum Damage: Error, Sendable, Hashable {
        case unknownFormat
        case unreadable
        /// It can be read, and is not what was compressed.
        case wrongChecksum
    }

    private static let format: UInt8 = 1
    private static let signatureLength = 64
    private static let prefixLength = 1 + 4 + signatureLength
    private static let dot = UInt8(ascii: ".")
    /// Longer payloads stay as they are; Apple's have less than a kilobyte.
    package static let payloadLimit = 65_536

    private let deflater: Deflater
    private let inflater: Inflater

    package init() throws(CompressionError) {
        deflater = try Deflater(dictionary: Self.dictionary)
        inflater = try Inflater(dictionary: Self.dictionary)
    }

    /// - Parameters:
    ///   - header: the first segment with its dot.
    ///   - rest: the other two segments.
    /// - Returns: nil if the proof is better kept as it is.
    package func compress(header: [UInt8], rest: [UInt8]) throws(CompressionError) -> [UInt8]? {
        guard let dot = rest.firstIndex(of: Self.dot),
            let payload = Base64.decode(rest[..<dot], .url), payload.count <= Self.payloadLimit,
            let signature = Base64.decode(rest[(dot + 1)...], .url), signature.count == Self.signatureLength
        else { return nil }
        let checksum = CRC32.checksum(header, rest)
        let bytes = [Self.format] + Self.bytes(of: checksum) + signature + (try deflater.compress(payload))
        // Compared here, and not trusted: the original is deleted afterwards.
        guard bytes.count < rest.count, (try? decompress(bytes, header: header)) == rest else { return nil }
        return bytes
    }

    /// The two segments that were compressed.
    package func decompress(_ bytes: [UInt8], header: [UInt8]) throws(Damage) -> [UInt8] {
        guard bytes.first == Self.format else { throw .unknownFormat }
        guard bytes.count > Self.prefixLength else { throw .unreadable }
        let payload: [UInt8]
        do throws(CompressionError) {
            payload = try inflater.decompress(bytes[Self.prefixLength...], limit: Self.payloadLimit)
        } catch {
            throw .unreadable
        }
        let signature = bytes[5..<Self.prefixLength]
        let rest = Array(Base64.encode(payload, .url).utf8) + [Self.dot] + Base64.encode(signature, .url).utf8
        guard Self.bytes(of: CRC32.checksum(header, rest)).elementsEqual(bytes[1..<5]) else { throw .wrongChecksum }
        return rest
    }

    private static func bytes(of checksum: UInt32) -> [UInt8] { withUnsafeBytes(of: checksum.bigEndian) { Array($0) } }

    /// The dictionary of format 1: the members of Apple's JWSTransactionDecodedPayload with frequent values, in Apple's
    /// order. Never edited: stored proofs need every byte of it.
    private static let dictionary = Array(
        """
        "revocationDate":17,"revocationReason":0,"revocationType":"REFUND_PRORATED","revocationType":"REFUND_FULL",\
        "revocationPercentage":100000,"isUpgraded":true,"offerPeriod":"P1M","offerIdentifier":"","offerDiscountType":\
        "PAY_UP_FRONT","offerDiscountType":"PAY_AS_YOU_GO","offerDiscountType":"FREE_TRIAL","offerType":1,\
        "advancedCommerceInfo":{"inAppOwnershipType":"FAMILY_SHARED","environment":"Sandbox","type":"Non-Consumable",\
        "type":"Non-Renewing Subscription","storefront":"JPN","storefrontId":"143462","currency":"JPY","storefront":\
        "GBR","storefrontId":"143444","currency":"GBP","storefront":"DEU","storefrontId":"143443","currency":"EUR",\
        "storefront":"HKG","storefrontId":"143463","currency":"HKD","storefront":"TWN","storefrontId":"143470",\
        "currency":"TWD","storefront":"USA","storefrontId":"143441","price":9990,"currency":"USD","storefront":"CHN",\
        "storefrontId":"143465","price":6000,"currency":"CNY",{"transactionId":"2000000","originalTransactionId":\
        "2000000","webOrderLineItemId":"2000000","bundleId":"com.","productId":"com.","subscriptionGroupIdentifier":\
        "2","purchaseDate":17,"originalPurchaseDate":17,"expiresDate":17,"quantity":1,"type":"Auto-Renewable \
        Subscription","appAccountToken":"","inAppOwnershipType":"PURCHASED","signedDate":17,"environment":\
        "Production","transactionReason":"RENEWAL","storefront":"","storefrontId":"1434","price":0,"currency":"",\
        "appTransactionId":"70"}{"transactionId":"2000000","originalTransactionId":"2000000","bundleId":"com.",\
        "productId":"com.","purchaseDate":17,"originalPurchaseDate":17,"quantity":1,"type":"Consumable",\
        "appAccountToken":"","inAppOwnershipType":"PURCHASED","signedDate":17,"environment":"Production",\
        "transactionReason":"PURCHASE","storefront":"CHN","storefrontId":"143465","price":6000,"currency":"CNY",\
        "appTransactionId":"70"}
        """.utf8)
}
