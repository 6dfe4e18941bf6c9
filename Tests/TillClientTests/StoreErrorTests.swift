import Foundation
import StoreKit
import Testing
import TillAPI
import TillBilling

@testable import TillClient

/// Every code of every kind. The sentences are in `StoreSentences`.
@Suite("Sentences of errors")
struct StoreErrorTests {
    private static let kinds = TransportError.Kind.allCases

    static let storeProblems: [AppStoreError] =
        AppStoreError.Kind.byCode.map { AppStoreError($0) }
        + [
            .invalidQuantity, .notEntitled, .unsupported, .unverified, .laterCode(21),
            .system(domain: "AMSErrorDomain", code: 100),
        ]
        + kinds.map(AppStoreError.network)

    private static func refused(_ code: String, _ refusal: Refusal = .forbidden) throws -> ServerError {
        let problem = ProblemDetails(refusal: refusal, status: 422, language: .english, requestId: "r")
        let text = String(decoding: try JSONEncoder().encode(problem), as: UTF8.self)
            .replacingOccurrences(of: "\"code\":\"\(refusal.rawValue)\"", with: "\"code\":\"\(code)\"")
        let body = Array(text.utf8)
        do throws(ServerError) {
            _ = try ServerAccess.read(
                TransportResponse(status: 422, contentType: ProblemDetails.contentType, body: body),
                expecting: WalletReply.self)
        } catch {
            return error
        }
        throw Unexpected("no refusal")
    }

    private static func serverFaults() throws -> [ServerError] {
        [.signedOut, .unreadable(status: 200, retryAfter: nil), try refused("moon_phase")]
            + kinds.map { .noResponse(TransportError($0)) } + (try Refusal.allCases.map { try refused($0.rawValue) })
    }

    private static let journalFaults: [JournalError] = [
        .disk(DiskError(.full)), .disk(DiskError(.notAllowed)), .disk(DiskError(.inUse)), .disk(DiskError(.other)),
        .otherVersion(9), .unknownOrder(UniqueID(high: 1, low: 1)), .knownOrder(UniqueID(high: 1, low: 1)),
        .illegalMove(from: .completed, to: .prepared),
    ]

    private static let own: [StoreError] = [
        .notSignedIn, .badQuantity, .productUnavailable, .productListUnavailable, .paymentsNotAllowed,
        .purchaseInProgress, .unknownOrder, .refunded, .insecureServer,
    ]

    private static func table() throws -> [[StoreError]] {
        [
            own, storeProblems.map(StoreError.store), try serverFaults().map(StoreError.server),
            journalFaults.map(StoreError.journal),
        ]
    }

    @Test("P3: every code of every kind has exactly its sentences, in both languages")
    func sentences() throws {
        let tables = [StoreSentences.own, StoreSentences.store, StoreSentences.server, StoreSentences.journal]
        for (kind, table) in zip(try Self.table(), tables) {
            let rows = StoreSentences.rows(table)
            #expect(kind.map(\.code).sorted() == rows.map(\.code).sorted())
            for error in kind {
                let row = try #require(rows.first { $0.code == error.code }, "\(error.code)")
                #expect(TillError(error).message(in: "en") == row.en && error.sentence.en == row.en, "\(error.code)")
                #expect(
                    TillError(error).message(in: "zh-Hans-CN") == row.zh && error.sentence.zh == row.zh, "\(error.code)"
                )
            }
        }
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
        for problem in [AppStoreError.unknown, .laterCode(99), .system(domain: "ASDServerErrorDomain", code: 3_038)] {
            #expect(problem.mayBePaid && problem.isRetryable && !problem.isCancellation)
            #expect(
                problem.sentence.en.contains("checking") && problem.sentence.en.lowercased().contains("don't buy again")
            )
            #expect(problem.sentence.zh.contains("核对") && problem.sentence.zh.contains("不要再次购买"))
        }
        #expect(!AppStoreError.paymentInvalid.mayBePaid && !AppStoreError.network(.offline).mayBePaid)
        #expect(AppStoreError.network(.connectionLost).mayBePaid && AppStoreError.network(.connectionLost).isRetryable)
        #expect(Self.storeProblems.filter(\.isCancellation) == [.cancelled, .overlayCancelled])
        #expect(StoreError.store(.cancelled).isCancellation && !StoreError.notSignedIn.isCancellation)
    }

    @Test("A7: the 21 codes of SKErrorDomain, later codes, and Apple's network errors are distinguished")
    func appleCodes() {
        #expect(AppStoreError.Kind.byCode.count == 21 && Set(AppStoreError.Kind.byCode).count == 21)
        let cases: [(domain: String, code: Int, problem: AppStoreError)] = [
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
            #expect(AppStoreError(NSError(domain: domain, code: code)) == problem, "\(domain) \(code)")
        }
        #expect(AppStoreError(nil) == .unknown && AppStoreError(URLError(.timedOut)) == .network(.timedOut))
        #expect(AppStoreError(AppStoreError.notEntitled) == .notEntitled)
    }

    @Test("Every PurchaseError and StoreKitError of StoreKit 2 maps to StoreKit 1's name, if there is one")
    func storeKit2() {
        let purchase: [(StoreKit.Product.PurchaseError, AppStoreError)] = [
            (.invalidQuantity, .invalidQuantity), (.productUnavailable, .notAvailable),
            (.purchaseNotAllowed, .paymentNotAllowed), (.ineligibleForOffer, .ineligibleForOffer),
            (.invalidOfferIdentifier, .invalidOfferIdentifier), (.invalidOfferPrice, .invalidOfferPrice),
            (.invalidOfferSignature, .invalidOfferSignature), (.missingOfferParameters, .missingOfferParameters),
        ]
        for (error, problem) in purchase { #expect(AppStoreError(error) == problem) }
        let below = NSError(domain: "SKErrorDomain", code: 4)
        var cases: [(StoreKitError, AppStoreError)] = [
            (.unknown, .unknown), (.userCancelled, .cancelled),
            (.networkError(URLError(.notConnectedToInternet)), .network(.offline)),
            (.networkError(URLError(.userCancelledAuthentication)), .cancelled),
            (.systemError(below), .paymentNotAllowed),
            (.systemError(NSError(domain: "AMSErrorDomain", code: 305)), .system(domain: "AMSErrorDomain", code: 305)),
            (.systemError(StoreKitError.systemError(below)), .unknown),
            (.notAvailableInStorefront, .notAvailable),
        ]
        if #available(iOS 15.4, macOS 12.3, tvOS 15.4, watchOS 8.5, *) { cases.append((.notEntitled, .notEntitled)) }
        if #available(iOS 18.4, macOS 15.4, tvOS 18.4, watchOS 11.4, visionOS 2.4, *) {
            cases.append((.unsupported, .unsupported))
        }
        for (error, problem) in cases { #expect(AppStoreError(error) == problem, "\(error)") }
    }

    @Test("Each error itself decides whether a retry may help")
    func retryable() throws {
        for error in try Self.serverFaults() { #expect(StoreError.server(error).isRetryable == error.isRetryable) }
        #expect(StoreError.productListUnavailable.isRetryable && !StoreError.productUnavailable.isRetryable)
        #expect(StoreError.journal(.disk(DiskError(.full))).isRetryable && !StoreError.badQuantity.isRetryable)
        let shown = TillError(.notSignedIn)
        #expect(shown.errorDescription == shown.message())
        #expect((shown as any Error).localizedDescription == shown.message())
    }
}
