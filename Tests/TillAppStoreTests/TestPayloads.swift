import TillCrypto
import TillJSON

/// Payloads in Apple's format, with made-up values.
enum TestPayloads {
    static let signedDate = TestAuthority.today.milliseconds

    static func transaction(_ changes: [String: JSONValue?] = [:]) -> JSONValue {
        changed(
            [
                "transactionId": "2000000900000001", "originalTransactionId": "2000000900000001",
                "bundleId": "com.example.learn", "productId": "com.example.learn.coins60",
                "purchaseDate": .int(signedDate - 5_000), "originalPurchaseDate": .int(signedDate - 5_000),
                "quantity": 1, "type": "Consumable", "inAppOwnershipType": "PURCHASED",
                "appAccountToken": "7E3FB20B-4CDB-47CC-936D-99D65F608138", "signedDate": .int(signedDate),
                "environment": "Production", "storefront": "CHN", "storefrontId": "143465",
                "transactionReason": "PURCHASE", "price": 6_000, "currency": "CNY",
            ], changes)
    }

    static func renewal(_ changes: [String: JSONValue?] = [:]) -> JSONValue {
        changed(
            [
                "originalTransactionId": "2000000900000001", "productId": "com.example.learn.monthly",
                "autoRenewProductId": "com.example.learn.monthly", "autoRenewStatus": 1,
                "environment": "Production", "signedDate": .int(signedDate), "renewalDate": .int(signedDate + 1_000),
            ], changes)
    }

    static func appTransaction(_ changes: [String: JSONValue?] = [:]) -> JSONValue {
        changed(
            [
                "receiptType": "Production", "appAppleId": 1_234_567_890, "bundleId": "com.example.learn",
                "applicationVersion": "1", "receiptCreationDate": .int(signedDate), "appTransactionId": "71134",
            ], changes)
    }

    /// A notification with `data` merged into sound data.
    static func notification(data: [String: JSONValue?] = [:], _ changes: [String: JSONValue?] = [:]) -> JSONValue {
        let base: JSONValue = [
            "environment": "Production", "appAppleId": 1_234_567_890, "bundleId": "com.example.learn",
            "bundleVersion": "1",
        ]
        return changed(
            [
                "notificationType": "ONE_TIME_CHARGE", "notificationUUID": "002e14d5-51f5-4503-b5a8-c3a1af68eb20",
                "version": "2.0", "signedDate": .int(signedDate), "data": changed(base, data),
            ], changes)
    }

    /// The object with members replaced, or removed if the change is nil.
    static func changed(_ object: JSONValue, _ changes: [String: JSONValue?]) -> JSONValue {
        var members = object.object ?? [:]
        for (key, value) in changes { members[key] = value }
        return .object(members)
    }
}

/// ASN.1 for made-up receipts.
enum TestASN1 {
    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        switch content.count {
        case 0..<0x80: [tag, UInt8(content.count)] + content
        case 0x80..<0x100: [tag, 0x81, UInt8(content.count)] + content
        default:
            [tag, 0x83] + [16, 8, 0].map { UInt8(content.count >> $0 & 0xFF) } + content
        }
    }

    static func integer(_ value: Int64) -> [UInt8] {
        var bytes = (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }
        while bytes.count > 1, (bytes[0] == 0 && bytes[1] < 0x80) || (bytes[0] == 0xFF && bytes[1] >= 0x80) {
            bytes.removeFirst()
        }
        return element(0x02, bytes)
    }

    static func utf8(_ text: String) -> [UInt8] { element(0x0C, Array(text.utf8)) }
    static func ia5(_ text: String) -> [UInt8] { element(0x16, Array(text.utf8)) }

    static func attribute(_ type: Int64, _ value: [UInt8]) -> [UInt8] {
        element(0x30, integer(type) + integer(1) + element(0x04, value))
    }

    static func set(_ attributes: [[UInt8]]) -> [UInt8] { element(0x31, attributes.flatMap { $0 }) }
}

/// The content of made-up receipts.
enum TestReceipts {
    static let device = [UInt8](0..<16)
    static let opaque = [UInt8](repeating: 0xA5, count: 16)

    static func purchase(
        _ id: String, product: String = "com.example.learn.coins60", cancelled: String? = nil, type: Int64 = 1
    ) -> [UInt8] {
        TestASN1.attribute(
            17,
            TestASN1.set([
                TestASN1.attribute(1701, TestASN1.integer(2)),
                TestASN1.attribute(1702, TestASN1.utf8(product)),
                TestASN1.attribute(1703, TestASN1.utf8(id)),
                TestASN1.attribute(1705, TestASN1.utf8(id)),
                TestASN1.attribute(1704, TestASN1.ia5("2025-05-31T23:59:00Z")),
                TestASN1.attribute(1707, TestASN1.integer(type)),
                TestASN1.attribute(1708, TestASN1.ia5("")),
                TestASN1.attribute(1712, TestASN1.ia5(cancelled ?? "")),
            ]))
    }

    /// - Parameter type: attribute 0; nil leaves it out.
    static func content(
        type: String? = "Production", bundleID: String = "com.example.learn", created: String = "2025-06-01T00:00:00Z",
        purchases: [[UInt8]] = [purchase("2000000900000001")], extra: [[UInt8]] = []
    ) -> [UInt8] {
        let bundle = TestASN1.utf8(bundleID)
        var attributes = [
            TestASN1.attribute(2, bundle), TestASN1.attribute(3, TestASN1.utf8("1")),
            TestASN1.attribute(4, opaque),
            TestASN1.attribute(5, sha1(device + opaque + bundle)),
            TestASN1.attribute(12, TestASN1.ia5(created)),
        ]
        if let type { attributes.append(TestASN1.attribute(0, TestASN1.utf8(type))) }
        return TestASN1.set(attributes + purchases + extra)
    }

    private static func sha1(_ bytes: [UInt8]) -> [UInt8] { Digest.sha1.hash(bytes) }
}
