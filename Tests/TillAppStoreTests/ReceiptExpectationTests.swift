import Testing
import TillAppStore
import TillBilling

@Suite("An expected purchase compared with Apple's answer (facts/verify-receipt §8)")
struct VerifyReceiptClaimTests {
    static let claim = ReceiptExpectation(
        bundleID: "com.example.learn", transactionID: TransactionID("1"), productID: ProductID("points60"), quantity: 2,
        environments: [.production], orderOpened: Instant(seconds: 1_000), now: Instant(seconds: 5_000))

    private static func purchase(_ change: (inout ResponsePurchase) -> Void = { _ in }) -> ResponsePurchase {
        var purchase = ResponsePurchase()
        purchase.transactionID = "1"
        purchase.productID = "points60"
        purchase.quantity = 2
        purchase.purchaseDate = Instant(milliseconds: 1_000_999)
        change(&purchase)
        return purchase
    }

    private static func answer(
        _ purchases: [ResponsePurchase] = [purchase()], latest: [ResponsePurchase]? = nil,
        _ change: (inout VerifyReceiptResponse) -> Void = { _ in }
    ) -> VerifyReceiptResponse {
        var answer = VerifyReceiptResponse(status: .genuine)
        answer.environment = "Production"
        answer.receipt = ResponseReceipt()
        answer.receipt?.receiptType = "Production"
        answer.receipt?.bundleID = "com.example.learn"
        answer.receipt?.inApp = purchases
        answer.latestReceiptInfo = latest
        change(&answer)
        return answer
    }

    private func findings(
        _ answer: VerifyReceiptResponse, from environment: StoreEnvironment = .production,
        _ claim: ReceiptExpectation = claim
    ) -> [ReceiptExpectation.Finding] {
        claim.findings(in: answer, from: environment)
    }

    @Test("A purchase that matches gives no finding, at any place among the purchases")
    func good() {
        #expect(findings(Self.answer()).isEmpty)
        let other = Self.purchase { $0.transactionID = "2" }
        #expect(findings(Self.answer([other, Self.purchase(), other])).isEmpty)
        #expect(findings(Self.answer([], latest: [other, Self.purchase()])).isEmpty)
        let running = Self.purchase { $0.expiresDate = Instant(seconds: 5_001) }
        #expect(findings(Self.answer([running])).isEmpty)
    }

    @Test("Each mismatch is named, and several at once")
    func bad() {
        #expect(findings(Self.answer([])) == [.transactionNotInReceipt])
        #expect(findings(Self.answer { $0.receipt?.inApp = nil }) == [.transactionNotInReceipt])
        #expect(findings(Self.answer([Self.purchase { $0.productID = "pro" }])) == [.productMismatch])
        #expect(findings(Self.answer([Self.purchase { $0.quantity = nil }])) == [.quantityMismatch])
        let cancelled = Self.purchase { $0.cancellationDate = Instant(seconds: 2_000) }
        #expect(findings(Self.answer([cancelled])) == [.cancelled])
        // Either of the two lists may state it.
        #expect(findings(Self.answer([Self.purchase()], latest: [cancelled])) == [.cancelled])
        #expect(findings(Self.answer([Self.purchase { $0.expiresDate = Instant(seconds: 5_000) }])) == [.expired])
        let older = Self.purchase { $0.purchaseDate = Instant(milliseconds: 999_999) }
        #expect(findings(Self.answer([older])) == [.olderThanOrder])
        #expect(findings(Self.answer([Self.purchase { $0.purchaseDate = nil }])) == [.olderThanOrder])
        #expect(findings(Self.answer { $0.receipt?.bundleID = "com.example.other" }) == [.wrongApp])
        #expect(findings(Self.answer { $0.receipt?.bundleID = nil }) == [.wrongApp])
        #expect(findings(VerifyReceiptResponse(status: .notAuthentic)).first == .notGenuine)
        let all = Self.answer([Self.purchase { $0.quantity = 1 }]) {
            $0.receipt?.bundleID = "x"
            $0.environment = nil
        }
        #expect(findings(all) == [.wrongApp, .wrongEnvironment, .quantityMismatch])
    }

    @Test("The environment is the host's, must be accepted, and nothing in the answer may contradict it (T8)")
    func environment() {
        #expect(findings(Self.answer(), from: .sandbox) == [.wrongEnvironment])
        var both = Self.claim
        both.environments = [.production, .sandbox]
        #expect(findings(Self.answer(), from: .sandbox, both) == [.wrongEnvironment])
        let sandbox = Self.answer {
            $0.environment = "Sandbox"
            $0.receipt?.receiptType = "ProductionSandbox"
        }
        #expect(findings(sandbox, from: .sandbox, both).isEmpty)
        #expect(findings(sandbox, from: .sandbox) == [.wrongEnvironment])
        #expect(findings(sandbox) == [.wrongEnvironment])
        #expect(findings(Self.answer { $0.receipt?.receiptType = "ProductionSandbox" }) == [.wrongEnvironment])
        #expect(findings(Self.answer { $0.environment = nil }) == [.wrongEnvironment])
    }

    @Test("Old-style answers are compared in the same way")
    func legacy() {
        var purchase = LegacyPurchase()
        purchase.bundleID = "com.example.learn"
        purchase.transactionID = "1"
        purchase.productID = "points60"
        purchase.quantity = 2
        purchase.purchaseDate = Instant(seconds: 1_000)
        var answer = VerifyReceiptResponse(status: .genuine)
        answer.legacy = LegacyResponse()
        answer.legacy?.receipt = purchase
        #expect(findings(answer).isEmpty)
        answer.status = .expired
        #expect(findings(answer) == [.expired])
        answer.legacy?.latestExpired = purchase
        answer.legacy?.latestExpired?.cancellationDate = Instant(seconds: 1)
        #expect(findings(answer) == [.cancelled, .expired])
    }
}
