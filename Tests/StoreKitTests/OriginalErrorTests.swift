import Foundation
import Testing
import TillHTTP

@testable import StoreKit

@Suite("StoreKit 1: errors")
struct OriginalErrorTests {
    @Test("An SKError is bridged correctly to Swift and to Foundation")
    func bridging() throws {
        let error: any Error = SKError(.paymentCancelled)
        #expect((error as? SKError)?.code == .paymentCancelled)
        #expect((error as NSError).domain == SKErrorDomain && (error as NSError).code == 2)
        #expect(SKError.paymentCancelled == SKError.Code.paymentCancelled && SKError.paymentCancelled.rawValue == 2)
        do {
            throw error
        } catch SKError.paymentCancelled {
        } catch {
            Issue.record("caught as \(error)")
        }
        let made = SKError(_nsError: NSError(domain: SKErrorDomain, code: 99, userInfo: nil))
        #expect(made.code == .unknown && made.errorCode == 99 && (made as NSError).code == 99)
        let reported = SKError(
            _nsError: NSError(
                domain: SKErrorDomain, code: SKError.unknown.rawValue, userInfo: [NSLocalizedDescriptionKey: "told"]))
        #expect(reported.localizedDescription == "told" && (reported as any Error).localizedDescription == "told")
        #expect(reported == SKError(.unknown, userInfo: [NSLocalizedDescriptionKey: "told"]))
    }

    @Test("Every code of Apple's exists, with a sentence in both languages; only cloud and overlay codes share theirs")
    func codes() {
        let codes = (0...20).compactMap { SKError.Code(rawValue: $0) }
        #expect(codes.count == 21 && SKError.Code(rawValue: 21) == nil)
        for code in codes {
            #expect(code.text.en.hasSuffix(".") && code.text.zh.hasSuffix("。"))
            #expect([code.text.en, code.text.zh].contains(SKError(code).localizedDescription))
        }
        let shared = Dictionary(grouping: codes, by: \.text).values.filter { $0.count > 1 }.map { $0.map(\.rawValue) }
        #expect(Set(shared) == [[6, 7, 8], [15, 16, 17, 19, 20]])
    }

    /// Network failures, and the code an app sees in NSURLErrorDomain (facts/storekit-client).
    static let faults: [(HTTPError.Kind, Int)] = [
        (.timedOut, -1001), (.cannotResolve, -1003), (.cannotConnect, -1004), (.connectionLost, -1005),
        (.other, -1009), (.tls, -1200),
    ]

    @Test("Network failures are URLErrors", arguments: faults.indices)
    func network(_ index: Int) {
        let (kind, code) = Self.faults[index]
        let error = EmulatorClientError.noResponse(HTTPError(kind, "")).error
        #expect(error is URLError && (error as NSError).domain == NSURLErrorDomain && (error as NSError).code == code)
        #expect(EmulatorClientError.unreadable(status: 502).error is URLError)
    }

    /// Refusals of the store by code, and SKError's codes.
    static let refusals: [(String, Int, SKError.Code)] = [
        ("payment_not_allowed", 409, .paymentNotAllowed), ("account_deleted", 409, .clientInvalid),
        ("unknown_device", 404, .clientInvalid), ("device_of_another_account", 409, .clientInvalid),
        ("unknown_product", 404, .paymentInvalid), ("quantity_not_allowed", 422, .paymentInvalid),
        ("wrong_member", 400, .paymentInvalid), ("not_for_sale", 409, .storeProductNotAvailable),
        ("not_on_sale", 409, .storeProductNotAvailable), ("invalid_offer_identifier", 422, .invalidOfferIdentifier),
        ("invalid_signature", 422, .invalidSignature), ("offer_signature_expired", 422, .invalidSignature),
        ("offer_nonce_used", 422, .invalidSignature), ("missing_offer_params", 422, .missingOfferParams),
        ("invalid_offer_price", 422, .invalidOfferPrice), ("ineligible_for_offer", 422, .ineligibleForOffer),
        ("already_subscribed", 409, .unknown),
    ]

    @Test("Refusals of the store have Apple's codes", arguments: refusals.indices)
    func refused(_ index: Int) {
        let (code, status, expected) = Self.refusals[index]
        let error = EmulatorClientError.refused(code: code, status: status, title: "").error
        #expect((error as? SKError)?.code == expected)
    }
}
