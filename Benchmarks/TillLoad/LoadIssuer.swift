import Foundation
import TillAppStore
import TillBilling
import TillCrypto
import TillEmulator

/// Acts as Apple for a load: a root of its own, and the signed data of the load's purchases.
struct LoadIssuer: Sendable {
    private let issuer: Issuer
    /// The purchase date of all purchases: a minute before the issuer was created.
    private let bought: Int64

    init() throws {
        let now = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        issuer = try Issuer.create(at: now) { RandomBytes.make(16) }
        bought = now.milliseconds - 60_000
    }

    var root: [UInt8] { issuer.rootCertificate }

    static func transactionID(_ number: Int) -> String { String(2_000_000_600_000_000 + number) }

    /// The signed transaction of a consumable (facts/jws §4), about a kilobyte.
    func proof(_ number: Int) throws -> String {
        let id = Self.transactionID(number)
        let payload = """
            {"transactionId":"\(id)","originalTransactionId":"\(id)","bundleId":"\(LoadSet.bundleID)",\
            "productId":"\(LoadSet.productID)","purchaseDate":\(bought),"originalPurchaseDate":\(bought),\
            "quantity":1,"type":"Consumable","appAccountToken":"\(LoadSet.order(number))",\
            "inAppOwnershipType":"PURCHASED","signedDate":\(bought + 500),"environment":"Sandbox",\
            "transactionReason":"PURCHASE","storefront":"CHN","storefrontId":"143465","price":6000,\
            "currency":"CNY","appTransactionId":"704312345678901234"}
            """
        return try issuer.sign(payload: Array(payload.utf8))
    }

    /// The first period of a subscription, and its renewal information (facts/jws §4, §5).
    func subscription(_ number: Int) throws -> (transaction: String, renewal: String) {
        let id = Self.transactionID(number)
        let expires = bought + 30 * 86_400_000
        let payload = """
            {"transactionId":"\(id)","originalTransactionId":"\(id)","bundleId":"\(LoadSet.bundleID)",\
            "productId":"\(LoadSet.monthlyID)","subscriptionGroupIdentifier":"21000001",\
            "webOrderLineItemId":"\(number + 1)","purchaseDate":\(bought),"originalPurchaseDate":\(bought),\
            "expiresDate":\(expires),"quantity":1,"type":"Auto-Renewable Subscription",\
            "appAccountToken":"\(LoadSet.order(number))","inAppOwnershipType":"PURCHASED",\
            "signedDate":\(bought + 500),"environment":"Sandbox","transactionReason":"PURCHASE","storefront":"CHN",\
            "storefrontId":"143465","price":6000,"currency":"CNY","appTransactionId":"704312345678901234"}
            """
        let renewal = """
            {"originalTransactionId":"\(id)","autoRenewProductId":"\(LoadSet.monthlyID)",\
            "productId":"\(LoadSet.monthlyID)","autoRenewStatus":1,"environment":"Sandbox",\
            "signedDate":\(bought + 600),"recentSubscriptionStartDate":\(bought),"renewalDate":\(expires)}
            """
        return (try issuer.sign(payload: Array(payload.utf8)), try issuer.sign(payload: Array(renewal.utf8)))
    }

    /// Apple's notification that a subscription has begun: three signed tokens.
    func subscriptionNotification(_ number: Int) throws -> String {
        let (transaction, renewal) = try subscription(number)
        let id = UniqueID(high: 0x7333_0000_0000_4000, low: UInt64(number) | 1 << 63)
        let payload = """
            {"notificationType":"SUBSCRIBED","subtype":"INITIAL_BUY","notificationUUID":"\(id)","version":"2.0",\
            "signedDate":\(bought + 700),"data":{"bundleId":"\(LoadSet.bundleID)","bundleVersion":"1",\
            "environment":"Sandbox","signedTransactionInfo":"\(transaction)","signedRenewalInfo":"\(renewal)"}}
            """
        return try issuer.sign(payload: Array(payload.utf8))
    }

    /// Apple's notification about the same purchase (facts/jws §7). Its UUID is derived from the number, so that the
    /// same notification can be sent again.
    func notification(_ number: Int, about proof: String) throws -> String {
        let id = UniqueID(high: 0x7222_0000_0000_4000, low: UInt64(number) | 1 << 63)
        let payload = """
            {"notificationType":"ONE_TIME_CHARGE","notificationUUID":"\(id)","version":"2.0",\
            "signedDate":\(bought + 700),"data":{"bundleId":"\(LoadSet.bundleID)","bundleVersion":"1",\
            "environment":"Sandbox","signedTransactionInfo":"\(proof)"}}
            """
        return try issuer.sign(payload: Array(payload.utf8))
    }

    /// An app receipt with these purchases of consumables, with the attributes that Apple writes (facts/pkcs7-receipt
    /// §3).
    func receipt(_ numbers: Range<Int>) throws -> [UInt8] {
        func attribute(_ type: Int64, _ value: [UInt8]) -> [UInt8] {
            DERWriter.sequence(DERWriter.integer(type), DERWriter.integer(1), DERWriter.octetString(value))
        }
        let date = DERWriter.ia5String(AppleTime.receipt(Instant(milliseconds: bought)))
        let (none, zero) = (DERWriter.ia5String(""), DERWriter.integer(0))
        let alike =
            [1709, 1714, 1715, 1716, 1717, 1718].map { attribute($0, DERWriter.utf8String("")) }
            + [1710, 1711, 1713, 1719, 1722].map { attribute($0, zero) } + [1708, 1712].map { attribute($0, none) }
            + [1704, 1706].map { attribute($0, date) }
        let purchases = numbers.map { number in
            let id = DERWriter.utf8String(Self.transactionID(number))
            let own = [
                attribute(1701, DERWriter.integer(1)), attribute(1702, DERWriter.utf8String(LoadSet.productID)),
                attribute(1703, id), attribute(1705, id), attribute(1707, DERWriter.integer(1)),
            ]
            return attribute(17, DERWriter.value(tag: 0x31, (own + alike).flatMap { $0 }))
        }
        let app = [
            attribute(0, DERWriter.utf8String("ProductionSandbox")),
            attribute(2, DERWriter.utf8String(LoadSet.bundleID)), attribute(3, DERWriter.utf8String("1")),
            attribute(12, date),
        ]
        return try issuer.receipt(payload: DERWriter.value(tag: 0x31, (app + purchases).flatMap { $0 }))
    }
}
