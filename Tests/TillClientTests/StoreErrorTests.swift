import Foundation
import StoreKit
import Testing
import TillAPI
import TillBilling

@testable import TillClient

/// Every code of every kind, as a table: each sentence tells the buyer what to do.
@Suite("Sentences of errors")
struct StoreErrorTests {
    private static let kinds = TransportFault.Kind.allCases

    static let storeProblems: [StoreProblem] =
        StoreProblem.byStoreCode
        + [
            .invalidQuantity, .notEntitled, .unsupported, .unverified, .laterCode(21),
            .system(domain: "AMSErrorDomain", code: 100),
        ]
        + kinds.map(StoreProblem.network)

    private static func refused(_ code: String, _ refusal: Refusal = .forbidden) throws -> ServerFault {
        let problem = Problem(refusal: refusal, status: 422, language: .english, requestId: "r")
        let text = String(decoding: try JSONEncoder().encode(problem), as: UTF8.self)
            .replacingOccurrences(of: "\"code\":\"\(refusal.rawValue)\"", with: "\"code\":\"\(code)\"")
        let body = Array(text.utf8)
        do throws(ServerFault) {
            _ = try ServerAccess.read(
                TransportResponse(status: 422, contentType: Problem.contentType, body: body),
                expecting: WalletReply.self)
        } catch {
            return error
        }
        throw Unexpected("no refusal")
    }

    private static func serverFaults() throws -> [ServerFault] {
        [.signedOut, .unreadable(status: 200, retryAfter: nil), try refused("moon_phase")]
            + kinds.map { .noAnswer(TransportFault($0)) } + (try Refusal.allCases.map { try refused($0.rawValue) })
    }

    private static let journalFaults: [JournalFault] = [
        .disk(DiskFault(.full)), .disk(DiskFault(.notAllowed)), .disk(DiskFault(.inUse)), .disk(DiskFault(.other)),
        .otherVersion(9), .unknownOrder(UniqueID(high: 1, low: 1)), .knownOrder(UniqueID(high: 1, low: 1)),
        .illegalMove(from: .completed, to: .prepared),
    ]

    private static let own: [StoreError] = [
        .notSignedIn, .badQuantity, .productUnavailable, .productListUnavailable, .paymentsNotAllowed,
        .purchaseInProgress, .unknownOrder, .refunded, .insecureServer,
    ]

    /// One group for each kind. Codes with the same remedy for the buyer may share a sentence and are in one set.
    private static let alike: [Set<String>] = [
        [
            "malformed", "missing_x5c", "chain_length", "bad_certificate", "chain_untrusted", "missing_oid",
            "bad_signature",
        ],
        ["chain_expired", "certificate_revoked"],
        [
            "bad_root", "no_in_app_purchase_key", "internal_error", "same_user", "not_the_holder", "unknown_transfer",
            "not_reversible", "unknown_entitlement", "unknown_currency", "report_unusable",
            // For claims, backends and operators; the kit makes no such requests.
            "unknown_transaction", "not_in_quarantine", "not_claimable", "unknown_order_number", "no_order_lookup",
            "unknown_endpoint", "unknown_event", "undo_expired", "stale_cursor",
        ],
        ["revocation_unknown", "unavailable"],
        ["too_many_requests", "too_many_orders"],
        ["order_conflict", "token_in_use"],
        ["account_merged", "guest_merged"],
        ["transaction_not_in_receipt", "transaction_mismatch", "product_mismatch"],
        ["reference_conflict", "idempotency_key_reused"],
        ["malformed_json", "invalid_field", "not_found", "method_not_allowed", "payload_too_large"],
    ]

    private static func table() throws -> [[StoreError]] {
        [
            own, storeProblems.map(StoreError.store), try serverFaults().map(StoreError.server),
            journalFaults.map(StoreError.journal),
        ]
    }

    @Test("P3: every code of every kind has its own sentence in both languages that says what to do")
    func sentences() throws {
        var count = 0
        for kind in try Self.table() {
            var byText: [String: String] = [:]
            #expect(Set(kind.map(\.code)).count == kind.count)
            for error in kind {
                count += 1
                let (en, zh) = (error.message(in: "en"), error.message(in: "zh-Hans-CN"))
                #expect(en == error.sentence.en && zh == error.sentence.zh)
                #expect(en.hasSuffix(".") && en.count > 20 && zh.hasSuffix("。") && zh.count >= 10, "\(error.code)")
                #expect(Self.saysWhatToDo(en, zh), "\(error.code): \(en) \(zh)")
                #expect(en.unicodeScalars.allSatisfy { $0.value < 0x3000 }, "\(error.code)")
                for text in [en, zh] {
                    if let other = byText[text] {
                        let mayShare = Self.alike.contains { $0.contains(other) && $0.contains(error.code) }
                        #expect(mayShare, "\(other) and \(error.code) share a sentence")
                    }
                    byText[text] = error.code
                }
            }
        }
        #expect(count >= 96)
    }

    private static func saysWhatToDo(_ en: String, _ zh: String) -> Bool {
        let verbs = [
            "try", "check", "open", "update", "choose", "sign in", "buy", "allow", "wait", "restore", "top it up",
            "top up",
            "tell", "send", "tap", "begin", "go back", "connect", "free some", "restart", "close", "get it",
            "come back",
            "search", "finish",
        ]
        let told = [
            "请", "再试", "重试", "稍后", "先", "选择", "等待", "更新", "打开",
        ]
        return verbs.contains { en.lowercased().contains($0) } && told.contains { zh.contains($0) }
    }

    @Test("Chinese sentences use Chinese punctuation, without wrong spaces")
    func punctuation() throws {
        for error in try Self.table().flatMap({ $0 }) {
            let zh = error.sentence.zh
            #expect(!zh.contains { ",.;:!?()\"'".contains($0) }, "\(error.code): \(zh)")
            #expect(!zh.contains("  ") && zh.first != " " && !zh.contains("。 "), "\(error.code)")
        }
    }

    @Test("T12: unknown errors may mean paid: the buyer reads “checking”, and not to buy again yet")
    func unknown() {
        for problem in [StoreProblem.unknown, .laterCode(99), .system(domain: "ASDServerErrorDomain", code: 3_038)] {
            #expect(problem.mayBePaid && problem.isRetryable && !problem.isCancellation)
            #expect(
                problem.sentence.en.contains("checking") && problem.sentence.en.lowercased().contains("don't buy again")
            )
            #expect(problem.sentence.zh.contains("核对") && problem.sentence.zh.contains("不要再次购买"))
        }
        #expect(!StoreProblem.paymentInvalid.mayBePaid && !StoreProblem.network(.offline).mayBePaid)
        #expect(StoreProblem.network(.connectionLost).mayBePaid && StoreProblem.network(.connectionLost).isRetryable)
        #expect(Self.storeProblems.filter(\.isCancellation) == [.cancelled, .overlayCancelled])
        #expect(StoreError.store(.cancelled).isCancellation && !StoreError.notSignedIn.isCancellation)
    }

    @Test("A7: the 21 codes of SKErrorDomain, later codes, and Apple's network errors are distinguished")
    func appleCodes() {
        #expect(StoreProblem.byStoreCode.count == 21 && Set(StoreProblem.byStoreCode).count == 21)
        let cases: [(domain: String, code: Int, problem: StoreProblem)] = [
            ("SKErrorDomain", 0, .unknown), ("SKErrorDomain", 1, .clientInvalid), ("SKErrorDomain", 2, .cancelled),
            ("SKErrorDomain", 3, .paymentInvalid), ("SKErrorDomain", 4, .paymentNotAllowed),
            ("SKErrorDomain", 5, .notAvailable), ("SKErrorDomain", 9, .privacyAcknowledgementRequired),
            ("SKErrorDomain", 10, .unauthorizedRequestData), ("SKErrorDomain", 12, .invalidOfferSignature),
            ("SKErrorDomain", 14, .invalidOfferPrice), ("SKErrorDomain", 18, .ineligibleForOffer),
            ("SKErrorDomain", 20, .overlayPresentedInBackgroundScene), ("SKErrorDomain", 21, .laterCode(21)),
            ("SKErrorDomain", -1, .laterCode(-1)), ("SKErrorDomain", .max, .laterCode(.max)),
            ("NSURLErrorDomain", -1_001, .network(.timedOut)),
            ("NSURLErrorDomain", -1_003, .network(.cannotFindServer)),
            ("NSURLErrorDomain", -1_004, .network(.cannotConnect)),
            ("NSURLErrorDomain", -1_005, .network(.connectionLost)),
            ("NSURLErrorDomain", -1_009, .network(.offline)), ("NSURLErrorDomain", -1_012, .cancelled),
            ("NSURLErrorDomain", -1_200, .network(.insecure)), ("NSURLErrorDomain", -1_202, .network(.insecure)),
            ("NSURLErrorDomain", -1, .network(.other)), ("NSURLErrorDomain", 2, .network(.other)),
            ("ASDServerErrorDomain", 3_038, .system(domain: "ASDServerErrorDomain", code: 3_038)),
        ]
        for (domain, code, problem) in cases {
            #expect(StoreProblem(NSError(domain: domain, code: code)) == problem, "\(domain) \(code)")
        }
        #expect(StoreProblem(nil) == .unknown && StoreProblem(URLError(.timedOut)) == .network(.timedOut))
        #expect(StoreProblem(StoreProblem.notEntitled) == .notEntitled)
    }

    @Test("Every PurchaseError and StoreKitError of StoreKit 2 maps to StoreKit 1's name, if there is one")
    func storeKit2() {
        let purchase: [(StoreKit.Product.PurchaseError, StoreProblem)] = [
            (.invalidQuantity, .invalidQuantity), (.productUnavailable, .notAvailable),
            (.purchaseNotAllowed, .paymentNotAllowed), (.ineligibleForOffer, .ineligibleForOffer),
            (.invalidOfferIdentifier, .invalidOfferIdentifier), (.invalidOfferPrice, .invalidOfferPrice),
            (.invalidOfferSignature, .invalidOfferSignature), (.missingOfferParameters, .missingOfferParameters),
        ]
        for (error, problem) in purchase { #expect(StoreProblem(error) == problem) }
        let below = NSError(domain: "SKErrorDomain", code: 4)
        let cases: [(StoreKitError, StoreProblem)] = [
            (.unknown, .unknown), (.userCancelled, .cancelled),
            (.networkError(URLError(.notConnectedToInternet)), .network(.offline)),
            (.networkError(URLError(.userCancelledAuthentication)), .cancelled),
            (.systemError(below), .paymentNotAllowed),
            (.systemError(NSError(domain: "AMSErrorDomain", code: 305)), .system(domain: "AMSErrorDomain", code: 305)),
            (.systemError(StoreKitError.systemError(below)), .unknown),
            (.notAvailableInStorefront, .notAvailable), (.notEntitled, .notEntitled), (.unsupported, .unsupported),
        ]
        for (error, problem) in cases { #expect(StoreProblem(error) == problem, "\(error)") }
    }

    @Test("Each error itself decides whether a retry may help")
    func retryable() throws {
        for error in try Self.serverFaults() { #expect(StoreError.server(error).isRetryable == error.isRetryable) }
        #expect(StoreError.productListUnavailable.isRetryable && !StoreError.productUnavailable.isRetryable)
        #expect(StoreError.journal(.disk(DiskFault(.full))).isRetryable && !StoreError.badQuantity.isRetryable)
        #expect(StoreError.notSignedIn.errorDescription == StoreError.notSignedIn.message())
        #expect((StoreError.notSignedIn as any Error).localizedDescription == StoreError.notSignedIn.message())
    }
}
