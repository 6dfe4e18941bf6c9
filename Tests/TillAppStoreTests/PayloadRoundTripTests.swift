import Testing
import TillBilling
import TillCrypto

@testable import TillAppStore
@testable import TillJSON

@Suite("Payloads are written as they were read")
struct PayloadRoundTripTests {
    /// Generates payload texts: members of a kind with valid values, and unknown members.
    private struct Maker {
        var generator: SeededGenerator

        private mutating func pick<Element>(_ elements: [Element]) -> Element {
            elements[Int.random(in: elements.indices, using: &generator)]
        }

        /// Any JSON text, including values beyond 64-bit integers and doubles.
        mutating func anything(depth: Int = 0) -> String {
            switch Int.random(in: 0..<(depth < 3 ? 9 : 7), using: &generator) {
            case 0: return "null"
            case 1: return pick(["true", "false"])
            case 2: return String(Int64.random(in: .min ... .max, using: &generator))
            case 3: return pick(["123456789012345678901234567890", "-18446744073709551616", "1e30", "0.1000", "-0.0"])
            case 4: return pick(["1697679936049.7297", "3.14159265358979323846", "1E-7"])
            case 5, 6: return pick([#""""#, #""a\n\"\\""#, #""é😀\u00e9\ud83d\ude00""#, #""商品""#, #""\/""#])
            case 7:
                let count = Int.random(in: 0...3, using: &generator)
                return "[" + (0..<count).map { _ in anything(depth: depth + 1) }.joined(separator: ",") + "]"
            default:
                let count = Int.random(in: 0...3, using: &generator)
                return "{" + (0..<count).map { #""k\#($0)":"# + anything(depth: depth + 1) }.joined(separator: " , ")
                    + "}"
            }
        }

        /// A value that the member's type accepts, by the kind of its value in `sample`.
        private mutating func fitting(_ sample: JSONValue) -> String {
            switch sample {
            case .string: return pick([#""PURCHASED""#, #""A New One""#, #""2000000900000001""#, #""\u0041""#])
            case .bool: return pick(["true", "false"])
            case .int: return String(Int64.random(in: 0...1 << 52, using: &generator))
            case .array(let elements): return "[" + elements.map { fitting($0) }.joined(separator: ",") + "]"
            case .object(let members): return object(members)
            default: return "null"
            }
        }

        mutating func object(_ sample: [String: JSONValue]) -> String {
            var members: [String] = []
            for (key, value) in sample.sorted(by: { $0.key < $1.key }) {
                switch Int.random(in: 0..<8, using: &generator) {
                case 0: continue
                case 1: members.append("\"\(key)\":null")
                case 2 where key.hasSuffix("Date"): members.append("\"\(key)\": 1697679936049.7297")
                default: members.append("\"\(key)\" :\(fitting(value))")
                }
            }
            for number in 0..<Int.random(in: 0...3, using: &generator) {
                members.append("\"unknown\(number)\":\(anything())")
            }
            return "{" + members.shuffled(using: &generator).joined(separator: ",\n ") + "}"
        }
    }

    /// Reads, writes and reads again; and writes the typed members alone.
    private func hold<Payload: JSONPayload & Equatable>(_: Payload.Type, _ text: String) throws {
        let payload = try Payload(JSONObject(Array(text.utf8)))
        let written = payload.encoded()
        #expect(String(decoding: written, as: UTF8.self) == text)
        #expect(try Payload(JSONObject(written)) == payload)
        #expect(payload.json == (try JSONValue(decoding: text)))
        let typed = payload.members.list.compactMap { key, value in
            value.map { (key: key.description, value: $0.encodedBytes()) }
        }
        let again = try Payload(JSONObject(JSONObject.text(of: typed)))
        #expect(again.members.list.map(\.value) == payload.members.list.map(\.value))
    }

    @Test("Any generated values of known and unknown members survive", arguments: 1...6 as ClosedRange<UInt64>)
    func generated(seed: UInt64) throws {
        var maker = Maker(generator: SeededGenerator(state: seed))
        for _ in 0..<60 {
            try hold(TransactionPayload.self, maker.object(PayloadSamples.transaction))
            try hold(RenewalInfoPayload.self, maker.object(PayloadSamples.renewalInfo))
            try hold(AppTransactionPayload.self, maker.object(PayloadSamples.appTransaction))
            try hold(NotificationPayload.self, maker.object(PayloadSamples.notification))
            try hold(NotificationPayload.ExternalPurchaseToken.self, maker.object(PayloadSamples.externalPurchaseToken))
        }
    }

    @Test(
        "The payloads of every shared token, and of Apple's own models, survive",
        .enabled(if: SharedVectors.arePresent, SharedVectors.absence))
    func shared() throws {
        var count = 0
        for row in SharedVectors.rows where row.format == "jws" {
            guard let token = CompactToken(ProofText.trimmed(row.bytes)) else { continue }
            try holdAny(String(decoding: token.payload, as: UTF8.self))
            count += 1
        }
        let models = [
            "JWSTransactionDecodedPayload", "JWSRenewalInfoDecodedPayload", "AppTransaction",
            "ResponseBodyV2DecodedPayload",
        ]
        for row in SharedVectors.rows where row.policy["model"]?.string.map(models.contains) ?? false {
            let text = String(decoding: row.bytes, as: UTF8.self)
            try holdAny(text)
            // Every member of Apple's models has a type here.
            let object = try JSONObject(row.bytes)
            let members: JSONMembers =
                switch TokenKind(having: { object.has($0) }) {
                case .transaction: try TransactionPayload(object).members
                case .renewal: try RenewalInfoPayload(object).members
                case .appTransaction: try AppTransactionPayload(object).members
                case .notification: try NotificationPayload(object).members
                }
            let typed = Dictionary(
                members.list.compactMap { key, value in value.map { (key.description, $0) } }, uniquingKeysWith: { $1 })
            #expect(JSONValue.object(typed) == (try JSONValue(decoding: row.bytes)), "\(row.id)")
            count += 1
        }
        #expect(count >= 25)
    }

    private func holdAny(_ text: String) throws {
        let object = try JSONObject(Array(text.utf8))
        switch TokenKind(having: { object.has($0) }) {
        case .transaction: try hold(TransactionPayload.self, text)
        case .renewal: try hold(RenewalInfoPayload.self, text)
        case .appTransaction: try hold(AppTransactionPayload.self, text)
        case .notification: try hold(NotificationPayload.self, text)
        }
    }

    @Test("A changed member is written changed, and all others as they were, digit by digit")
    func changed() throws {
        let text =
            #"{"quantity":1,"big":123456789012345678901234567890,"purchaseDate":1697679936049.7297,"#
            + #""offerType":2,"offerIdentifier":"x","n":{"price":1.10},"type":"Lifetime Pass"}"#
        var payload = try TransactionPayload(decoding: Array(text.utf8))
        payload.quantity = 3
        payload.storefront = "CHN"
        payload.offer = nil
        let written = String(decoding: payload.encoded(), as: UTF8.self)
        let expected =
            #"{"big":123456789012345678901234567890,"purchaseDate":1697679936049.7297,"n":{"price":1.10},"#
            + #""type":"Lifetime Pass","quantity":3,"storefront":"CHN"}"#
        #expect(written == expected)
        #expect(payload.json["quantity"] == 3 && payload.json["offerType"] == nil)
    }

    @Test("An escaped key is written unescaped, with its value's digits")
    func escapedKey() throws {
        let text = #"{"quant\u0069ty":2,"b\u0069g":123456789012345678901234567890}"#
        let payload = try TransactionPayload(decoding: Array(text.utf8))
        #expect(payload.quantity == 2)
        let written = String(decoding: payload.encoded(), as: UTF8.self)
        #expect(written == #"{"quantity":2,"big":123456789012345678901234567890}"#)
    }

    @Test("A receipt's record has a payload that can be written too")
    func ofReceipt() throws {
        let authority = OracleCases.rsa
        let receipt = try authority.verifier().receipt(authority.receipt(TestReceipts.content()))
        let payload = try #require(receipt.transactions.first).payload
        let again = try TransactionPayload(decoding: payload.encoded())
        #expect(again.transactionID == "2000000900000001" && again.quantity == 2)
        #expect(again.json == payload.json)
    }
}

/// One value for every typed member, which shows the kind of value it accepts.
enum PayloadSamples {
    private static let offer: [String: JSONValue] = [
        "offerType": 1, "offerIdentifier": "x", "offerDiscountType": "x", "offerPeriod": "x",
    ]

    private static let commerceOffer: JSONValue = ["period": "x", "periodCount": 1, "price": 1, "reason": "x"]
    private static let descriptors: JSONValue = ["description": "x", "displayName": "x"]

    static let transaction: [String: JSONValue] = offer.merging(
        [
            "transactionId": "x", "originalTransactionId": "x", "webOrderLineItemId": "x", "bundleId": "x",
            "productId": "x", "subscriptionGroupIdentifier": "x", "purchaseDate": 1, "originalPurchaseDate": 1,
            "expiresDate": 1, "quantity": 1, "type": "x", "appAccountToken": "x", "inAppOwnershipType": "x",
            "signedDate": 1, "revocationDate": 1, "revocationReason": 1, "revocationType": "x",
            "revocationPercentage": 1, "isUpgraded": true, "environment": "x", "storefront": "x",
            "storefrontId": "x", "transactionReason": "x", "price": 1, "currency": "x", "appTransactionId": "x",
            "billingPlanType": "x", "previousOriginalTransactionId": "x", "deviceVerification": "x",
            "deviceVerificationNonce": "x",
            "commitmentInfo": [
                "billingPeriodNumber": 1, "commitmentExpiresDate": 1, "commitmentPrice": 1, "totalBillingPeriods": 1,
            ],
            "advancedCommerceInfo": [
                "descriptors": descriptors, "estimatedTax": 1, "period": "x", "requestReferenceId": "x",
                "taxCode": "x", "taxExclusivePrice": 1, "taxRate": "x",
                "items": [
                    [
                        "SKU": "x", "description": "x", "displayName": "x", "offer": commerceOffer, "price": 1,
                        "refunds": [["refundAmount": 1, "refundDate": 1, "refundReason": "x", "refundType": "x"]],
                        "revocationDate": 1,
                    ]
                ],
            ],
        ], uniquingKeysWith: { $1 })

    static let renewalInfo: [String: JSONValue] = offer.merging(
        [
            "originalTransactionId": "x", "productId": "x", "autoRenewProductId": "x", "autoRenewStatus": 1,
            "expirationIntent": 1, "isInBillingRetryPeriod": true, "gracePeriodExpiresDate": 1,
            "priceIncreaseStatus": 1, "renewalDate": 1, "renewalPrice": 1, "currency": "x",
            "recentSubscriptionStartDate": 1, "eligibleWinBackOfferIds": ["x", "x"], "appAccountToken": "x",
            "appTransactionId": "x", "environment": "x", "signedDate": 1, "renewalBillingPlanType": "x",
            "commitmentInfo": [
                "commitmentAutoRenewProductId": "x", "commitmentAutoRenewStatus": 1,
                "commitmentRenewalBillingPlanType": "x", "commitmentRenewalDate": 1, "commitmentRenewalPrice": 1,
            ],
            "advancedCommerceInfo": [
                "consistencyToken": "x", "descriptors": descriptors, "period": "x", "requestReferenceId": "x",
                "taxCode": "x",
                "items": [
                    [
                        "SKU": "x", "description": "x", "displayName": "x", "offer": commerceOffer, "price": 1,
                        "priceIncreaseInfo": ["dependentSKUs": ["x"], "price": 1, "status": "x"],
                    ]
                ],
            ],
        ], uniquingKeysWith: { $1 })

    static let appTransaction: [String: JSONValue] = [
        "receiptType": "x", "appAppleId": 1, "bundleId": "x", "applicationVersion": "x",
        "originalApplicationVersion": "x", "versionExternalIdentifier": 1, "receiptCreationDate": 1,
        "originalPurchaseDate": 1, "preorderDate": 1, "deviceVerification": "x", "deviceVerificationNonce": "x",
        "appTransactionId": "x", "originalPlatform": "x", "signedDate": 1, "requestDate": 1,
    ]

    static let externalPurchaseToken: [String: JSONValue] = [
        "externalPurchaseId": "x", "tokenCreationDate": 1, "appAppleId": 1, "bundleId": "x", "tokenType": "x",
        "tokenExpirationDate": 1,
    ]

    static let notification: [String: JSONValue] = [
        "notificationType": "x", "subtype": "x", "notificationUUID": "x", "version": "x", "signedDate": 1,
        "data": [
            "environment": "x", "appAppleId": 1, "bundleId": "x", "bundleVersion": "x", "signedTransactionInfo": "x",
            "signedRenewalInfo": "x", "status": 1, "consumptionRequestReason": "x",
        ],
        "summary": [
            "environment": "x", "appAppleId": 1, "bundleId": "x", "productId": "x", "requestIdentifier": "x",
            "storefrontCountryCodes": ["x"], "succeededCount": 1, "failedCount": 1,
        ],
        "externalPurchaseToken": .object(externalPurchaseToken),
        "appData": ["environment": "x", "appAppleId": 1, "bundleId": "x", "signedAppTransactionInfo": "x"],
    ]
}
