import Foundation
import Testing
import TillAppStore
import TillBilling
import TillJSON

/// Answers in Apple's format, with made-up values.
enum TestAnswers {
    static func instant(_ name: String, _ milliseconds: Int64, _ gmt: String, _ pacific: String) -> [String: JSONValue]
    {
        [
            name: .string(gmt + " Etc/GMT"), name + "_ms": .string(String(milliseconds)),
            name + "_pst": .string(pacific + " America/Los_Angeles"),
        ]
    }

    /// With every member of facts/verify-receipt §6.
    static let purchase: JSONValue = {
        let members: [String: JSONValue] = [
            "quantity": "3", "product_id": "com.example.learn.monthly", "transaction_id": "2000000600000002",
            "original_transaction_id": "2000000600000001", "is_trial_period": "false",
            "is_in_intro_offer_period": "true", "web_order_line_item_id": "2000000090000001",
            "cancellation_reason": "7", "promotional_offer_id": "spring", "offer_code_ref_name": "press",
            "is_upgraded": "true", "subscription_group_identifier": "21000001",
            "in_app_ownership_type": "LENT", "app_account_token": "3f2c1a00-1111-4222-8333-444455556666",
            "a_member_of_tomorrow": ["x": [1, 2.5, nil]],
        ]
        let dates = [
            instant("purchase_date", 1_714_557_603_000, "2024-05-01 10:00:03", "2024-05-01 03:00:03"),
            instant("original_purchase_date", 1_704_103_203_000, "2024-01-01 10:00:03", "2024-01-01 02:00:03"),
            instant("expires_date", 1_717_236_003_000, "2024-06-01 10:00:03", "2024-06-01 03:00:03"),
            instant("cancellation_date", 1_714_644_003_000, "2024-05-02 10:00:03", "2024-05-02 03:00:03"),
        ]
        return .object(dates.reduce(into: members) { $0.merge($1) { first, _ in first } })
    }()

    /// With every member of §4, §5 and §7.
    static let full: JSONValue = {
        let receipt: [String: JSONValue] = [
            "receipt_type": "ProductionMoon", "adam_id": 9_007_199_254_740_993, "app_item_id": 690_661_663,
            "bundle_id": "com.example.learn", "application_version": "1.2", "original_application_version": "1.0",
            "download_id": 74_011_462_945_433, "version_external_identifier": 863_855_306, "in_app": [purchase],
            "tomorrow": "is another day",
        ]
        let dates = [
            instant("receipt_creation_date", 1_714_557_605_000, "2024-05-01 10:00:05", "2024-05-01 03:00:05"),
            instant("request_date", 1_714_557_607_123, "2024-05-01 10:00:07", "2024-05-01 03:00:07"),
            instant("original_purchase_date", 1_375_340_400_000, "2013-08-01 07:00:00", "2013-08-01 00:00:00"),
            instant("preorder_date", 1_375_340_400_000, "2013-08-01 07:00:00", "2013-08-01 00:00:00"),
            instant("expiration_date", 1_735_732_800_000, "2025-01-01 12:00:00", "2025-01-01 04:00:00"),
        ]
        let renewal: [String: JSONValue] = [
            "product_id": "com.example.learn.monthly", "original_transaction_id": "2000000600000001",
            "auto_renew_product_id": "com.example.learn.yearly", "auto_renew_status": "1", "expiration_intent": "9",
            "is_in_billing_retry_period": "1", "price_consent_status": "0", "price_increase_status": "1",
            "offer_code_ref_name": "press", "promotional_offer_id": "spring", "another": true,
        ]
        let grace = instant(
            "grace_period_expires_date", 1_717_600_000_000, "2024-06-05 15:06:40", "2024-06-05 08:06:40")
        return [
            "status": 0, "environment": "Moon", "is-retryable": false, "latest_receipt": "TUlJVC4uLg==",
            "receipt": .object(dates.reduce(into: receipt) { $0.merge($1) { first, _ in first } }),
            "latest_receipt_info": [purchase, purchase],
            "pending_renewal_info": [.object(renewal.merging(grace) { first, _ in first })], "later": [:],
        ]
    }()

    /// With every member of §9.
    static let legacy: JSONValue = {
        var purchase: [String: JSONValue] = [
            "bid": "com.example.learn", "bvrs": "7", "item_id": "580190000", "app_item_id": "690661663",
            "version_external_identifier": "1", "quantity": "1", "product_id": "com.example.learn.yearly",
            "transaction_id": "1000000059630000", "original_transaction_id": "1000000059630000",
            "unique_identifier": "0000000000000000000000000000000000000000",
            "unique_vendor_identifier": "00000000-0000-0000-0000-000000000000",
            "web_order_line_item_id": "1000000026430000", "is_trial_period": "false",
            "is_in_intro_offer_period": "false", "cancellation_reason": "1", "odd": 1,
            "expires_date": "1354436154000", "expires_date_formatted": "2012-12-02 08:15:54 Etc/GMT",
            "expires_date_formatted_pst": "2012-12-02 00:15:54 America/Los_Angeles",
        ]
        for name in ["purchase_date", "original_purchase_date", "cancellation_date"] {
            purchase.merge(instant(name, 1_354_432_554_000, "2012-12-02 07:15:54", "2012-12-01 23:15:54")) { $1 }
        }
        return [
            "status": 21006, "receipt": .object(purchase), "latest_receipt_info": .object(purchase),
            "latest_expired_receipt_info": .object(purchase), "latest_receipt": "e30=", "auto_renew_status": 0,
            "auto_renew_product_id": "com.example.learn.yearly", "expiration_intent": "1",
            "is_in_billing_retry_period": "0", "cancellation_reason": "0",
        ]
    }()

    static func decode(_ json: JSONValue) throws -> VerifyReceiptResponse {
        try VerifyReceiptResponse(decoding: Array(json.encoded().utf8))
    }
}

@Suite("Answers of verifyReceipt: every field is read, and none is lost")
struct VerifyReceiptAnswerTests {
    @Test("Every member is read and written unchanged; unknown values and members survive")
    func roundTrip() throws {
        for sample in [TestAnswers.full, TestAnswers.legacy] {
            let answer = try TestAnswers.decode(sample)
            #expect(answer.json == sample)
            #expect(try TestAnswers.decode(answer.json) == answer)
        }
    }

    @Test("The members of an app receipt's answer have their types")
    func unified() throws {
        let answer = try TestAnswers.decode(TestAnswers.full)
        #expect(answer.status == .genuine && answer.environment == "Moon" && answer.isRetryable == false)
        let receipt = try #require(answer.receipt)
        // Beyond 2⁵³, where a double would round.
        #expect(receipt.adamID == 9_007_199_254_740_993)
        #expect(receipt.requestDate == Instant(milliseconds: 1_714_557_607_123))
        #expect(receipt.receiptType == "ProductionMoon")
        let purchase = try #require(receipt.inApp?.first)
        #expect(purchase.quantity == 3 && purchase.transactionID == "2000000600000002")
        #expect(purchase.cancellationReason == RevocationReason(rawValue: 7))
        #expect(purchase.ownership == Ownership(rawValue: "LENT"))
        #expect(purchase.isTrialPeriod == false && purchase.isInIntroOfferPeriod == true)
        #expect(purchase.other == ["a_member_of_tomorrow": ["x": [1, 2.5, nil]]])
        let renewal = try #require(answer.pendingRenewalInfo?.first)
        #expect(renewal.autoRenewStatus == .on && renewal.expirationIntent == ExpirationIntent(rawValue: 9))
        #expect(renewal.isInBillingRetryPeriod == true && renewal.priceConsentStatus == false)
        #expect(renewal.gracePeriodExpiresDate == Instant(milliseconds: 1_717_600_000_000))
        // No known member is among the unknown ones.
        #expect(answer.other == ["later": [:]] && receipt.other == ["tomorrow": "is another day"])
        #expect(renewal.other == ["another": true])
        #expect(answer.legacy == nil && answer.latestReceiptInfo?.count == 2)
    }

    @Test("An old-style receipt's answer is flat, and its expiry is milliseconds under the plain name")
    func legacy() throws {
        let answer = try TestAnswers.decode(TestAnswers.legacy)
        #expect(answer.status == .expired && answer.receipt == nil && answer.latestReceiptInfo == nil)
        let legacy = try #require(answer.legacy)
        #expect(legacy.receipt?.expiresDate == Instant(milliseconds: 1_354_436_154_000))
        #expect(legacy.receipt?.bundleID == "com.example.learn" && legacy.receipt?.other == ["odd": 1])
        #expect(legacy.latest == legacy.receipt && legacy.latestExpired == legacy.receipt)
        #expect(legacy.autoRenewStatus == .off && legacy.isInBillingRetryPeriod == false)
        #expect(answer.other.isEmpty)
    }

    /// A receipt whose one purchase has these members besides or instead of the usual ones.
    private func purchase(_ changes: [String: JSONValue?]) throws -> ResponsePurchase {
        let changed = TestPayloads.changed(TestAnswers.purchase, changes)
        let answer = try TestAnswers.decode(["status": 0, "receipt": ["bundle_id": "a", "in_app": [changed]]])
        return try #require(answer.receipt?.inApp?.first)
    }

    @Test("Numbers may be text and text numbers; booleans may be either")
    func lenience() throws {
        let odd = try purchase([
            "quantity": 2, "transaction_id": 1_000_000_104_232_856, "purchase_date_ms": 1_395_750_083_000,
            "is_trial_period": true, "is_in_intro_offer_period": 0, "is_upgraded": "0", "cancellation_reason": 1,
        ])
        #expect(odd.quantity == 2 && odd.transactionID == "1000000104232856")
        #expect(odd.purchaseDate == Instant(milliseconds: 1_395_750_083_000))
        #expect(odd.isTrialPeriod == true && odd.isInIntroOfferPeriod == false && odd.isUpgraded == false)
        #expect(odd.cancellationReason == .issueWithApp)
        let answer = try TestAnswers.decode([
            "status": "0",
            "receipt": ["adam_id": "690661663", "download_id": nil, "application_version": 1, "bundle_id": "a"],
        ])
        #expect(answer.receipt?.adamID == 690_661_663 && answer.receipt?.downloadID == nil)
        #expect(answer.receipt?.applicationVersion == "1")
    }

    @Test("Milliseconds come first; without them the text in GMT counts, then the one in Pacific time")
    func instants() throws {
        let date = Instant(seconds: 1_714_644_003)
        #expect(try purchase(["cancellation_date": "nonsense but unread"]).cancellationDate == date)
        #expect(try purchase(["cancellation_date_ms": nil]).cancellationDate == date)
        #expect(try purchase(["cancellation_date_ms": nil, "cancellation_date": nil]).cancellationDate == date)
        #expect(try purchase(["cancellation_date_ms": "", "cancellation_date": ""]).cancellationDate == date)
        let none: [String: JSONValue?] = [
            "cancellation_date_ms": nil, "cancellation_date": "", "cancellation_date_pst": .some(.null),
        ]
        #expect(try purchase(none).cancellationDate == nil)
        // Milliseconds under the text's name occur in practice.
        #expect(
            try purchase(["cancellation_date_ms": nil, "cancellation_date": "1401924047883"]).cancellationDate
                == Instant(milliseconds: 1_401_924_047_883))
    }

    static let unreadableMembers: [(String, JSONValue)] = [
        ("cancellation_date_ms", "soon"), ("cancellation_date_ms", [:]), ("quantity", "many"), ("quantity", 1.5),
        ("transaction_id", ["1"]), ("transaction_id", 1e30), ("product_id", [:]), ("is_trial_period", "maybe"),
        ("expires_date_ms", 1.5), ("cancellation_reason", "x"),
    ]

    @Test(
        "An unreadable member makes the answer invalid: a cancellation that looks odd is not “not cancelled”",
        arguments: unreadableMembers)
    func unreadable(_ name: String, _ value: JSONValue) throws {
        #expect(throws: VerifyReceiptResponse.FormatError.member(name)) { _ = try purchase([name: .some(value)]) }
    }

    @Test(
        "An invalid body is refused with the reason",
        arguments: [
            ("", VerifyReceiptResponse.FormatError.empty), (" \r\n\t", .empty),
            ("<html><body>Sorry</body></html>", .notJSON),
            ("{\"status\":0", .notJSON), ("[]", .member("")), ("null", .member("")), ("{}", .member("status")),
            ("{\"status\":true}", .member("status")), ("{\"status\":null}", .member("status")),
            ("{\"status\":\"ok\"}", .member("status")), ("{\"status\":1.5}", .member("status")),
            ("{\"error\":{\"code\":503}}", .member("status")),
            // Genuine by its status, but without a receipt.
            ("{\"status\":0}", .member("receipt")), ("{\"status\":0,\"receipt\":\"MIIT\"}", .member("receipt")),
            ("{\"status\":0,\"receipt\":{\"in_app\":{}}}", .member("in_app")),
            ("{\"status\":0,\"receipt\":{\"in_app\":[1]}}", .member("in_app")),
            ("{\"status\":21100,\"is-retryable\":\"perhaps\"}", .member("is-retryable")),
            (String(repeating: "[", count: 100_000), .notJSON),
        ])
    func unusable(_ body: String, _ reason: VerifyReceiptResponse.FormatError) {
        #expect(throws: reason) { _ = try VerifyReceiptResponse(decoding: Array(body.utf8)) }
    }

    @Test("Damaged answers are read or refused, and every answer that is read can be written and read again")
    func damaged() throws {
        var generator = SeededBytes(state: 20_261_121)
        var read = 0
        var refused = 0
        for sample in [TestAnswers.full, TestAnswers.legacy] {
            let whole = Array(sample.encoded().utf8)
            for _ in 0..<1_000 {
                var bytes = whole
                for _ in 0..<(1 + generator.next() % 4) {
                    let at = generator.next() % bytes.count
                    switch generator.next() % 4 {
                    case 0: bytes[at] = UInt8(generator.next() & 0xFF)
                    case 1: bytes[at] ^= UInt8(1 << (generator.next() % 8))
                    case 2: bytes.removeSubrange(at..<min(bytes.count, at + 1 + generator.next() % 40))
                    default: bytes.insert(contentsOf: bytes[at..<min(bytes.count, at + 30)], at: at)
                    }
                    if bytes.isEmpty { bytes = [0] }
                }
                guard let answer = try? VerifyReceiptResponse(decoding: bytes) else {
                    refused += 1
                    continue
                }
                read += 1
                #expect(try TestAnswers.decode(answer.json) == answer)
            }
        }
        #expect(read > 100 && refused > 100, "\(read) read, \(refused) refused")
    }

    @Test(
        "Real answers that others published are read, and in the usual form they are written unchanged",
        .enabled(if: SharedVectors.arePresent, SharedVectors.absence))
    func published() throws {
        let folder = SharedVectors.directory
        let files = try #require(FileManager.default.enumerator(atPath: folder.path)).compactMap { $0 as? String }
            .filter { $0.contains("-vr-") && $0.hasSuffix(".json") }.sorted()
        #expect(files.count >= 8)
        var unchanged: Set<String> = []
        for file in files {
            let bytes = Array(try Data(contentsOf: folder.appendingPathComponent(file)))
            let answer = try VerifyReceiptResponse(decoding: bytes)
            #expect(try TestAnswers.decode(answer.json) == answer, "\(file)")
            #expect(answer.other.isEmpty && answer.receipt?.other.isEmpty ?? true, "\(file): \(answer.other)")
            for purchase in (answer.receipt?.inApp ?? []) + (answer.latestReceiptInfo ?? []) {
                #expect(purchase.other.isEmpty && purchase.transactionID != nil, "\(file): \(purchase.other)")
            }
            if answer.json == (try JSONValue(decoding: bytes)) {
                unchanged.insert(String(file.split(separator: "/").last ?? ""))
            }
        }
        // The others have numbers for text, nulls, or times that contradict themselves.
        #expect(
            unchanged.isSuperset(of: [
                "revenuecat-vr-sample1.json", "aporat-vr-21002.json", "dollabill-vr-subscription-renewed.json",
                "itunesiap-vr-1.json",
            ]), "\(unchanged)")
    }
}

/// The same numbers every time.
private struct SeededBytes {
    var state: UInt64

    mutating func next() -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33)
    }
}
