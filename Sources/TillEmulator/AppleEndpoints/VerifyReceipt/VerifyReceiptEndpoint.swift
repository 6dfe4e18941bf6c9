import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillSQL

/// `/verifyReceipt` as Apple's two hosts answer it: HTTP 200, with the verdict in `status` (facts/verify-receipt).
struct VerifyReceiptEndpoint: Sendable {
    let store: Store
    let configuration: EmulatorConfiguration
    let verifier: SignedDataVerifier
    let receipts: ReceiptBuilder

    /// An internal error of Apple's service, caused by injected faults: 21005, 21009, 21100 to 21199. Apple documents
    /// the flag only for the range 21100 to 21199; nil omits it there too.
    static func internalFault(_ status: Int64, retryable: Bool?) -> HTTPResponse {
        var members: [String: JSONValue] = ["status": .int(status)]
        if let retryable, (21_100...21_199).contains(status) { members["is-retryable"] = .bool(retryable) }
        return .json(.object(members))
    }

    func add(to router: inout Router) {
        let faces: [(String, StoreEnvironment)] = [
            ("/verifyReceipt", configuration.verifyReceiptFace ?? configuration.environment),
            ("/production/verifyReceipt", .production),
            ("/sandbox/verifyReceipt", .sandbox),
        ]
        // Allows for the largest receipt in base64.
        let limit = 16 << 20
        for (path, face) in faces {
            router.on(.post, path, bodyLimit: limit) { request, _ in await answer(request.body, face: face) }
            for method in HTTPMethod.allCases where method != .post {
                router.on(method, path) { _, _ in VerifyReceiptStatus.notPost.response }
            }
        }
    }

    private func answer(_ body: [UInt8], face: StoreEnvironment) async -> HTTPResponse {
        do {
            return .json(try await verify(body, face: face))
        } catch let status as VerifyReceiptStatus {
            return status.response
        } catch is DatabaseError {
            return Self.internalFault(VerifyReceiptStatus.dataAccess.rawValue, retryable: nil)
        } catch {
            return Self.internalFault(VerifyReceiptStatus.unavailable.rawValue, retryable: nil)
        }
    }

    private func verify(_ body: [UInt8], face: StoreEnvironment) async throws -> JSONValue {
        guard let request = try? JSONValue(decoding: body), let text = request["receipt-data"]?.string else {
            throw VerifyReceiptStatus.malformed
        }
        if let receipt = try oldStyleReceipt(in: text) {
            try check(configuration.environment, face)
            try checkSecret(request["password"], isSubscriber: receipt.purchase.expiresDate != nil)
            return try await OldStyleResponse(store: store, receipts: receipts).answer(receipt)
        }
        let receipt: VerifiedReceipt
        do throws(VerificationError) {
            receipt = try verifier.receipt(base64: text)
        } catch {
            throw error.verdict == .malformed ? VerifyReceiptStatus.malformed : .notAuthentic
        }
        try check(receipt.environment, face)
        let answer = UnifiedResponse(
            receipt: receipt, excludesOldTransactions: request["exclude-old-transactions"]?.bool ?? false,
            store: store, receipts: receipts)
        try checkSecret(request["password"], isSubscriber: answer.isSubscriber)
        return try await answer.answer()
    }

    private func check(_ environment: StoreEnvironment, _ face: StoreEnvironment) throws(VerifyReceiptStatus) {
        guard environment == face else { throw face == .production ? .sandboxReceipt : .productionReceipt }
    }

    /// A receipt with subscriptions requires the secret. Other receipts don't, but a wrong secret is still refused. The
    /// account's own secret works only while the app has none (facts/verify-receipt §2).
    private func checkSecret(_ given: JSONValue?, isSubscriber: Bool) throws(VerifyReceiptStatus) {
        guard let secret = configuration.sharedSecret ?? configuration.primarySecret else { return }
        guard let given, !given.isNull else {
            if isSubscriber { throw .wrongSecret }
            return
        }
        guard given.string == secret else { throw .wrongSecret }
    }

    /// The old-style receipt in a base64 text of a property list; nil for anything else, which may be an app receipt.
    private func oldStyleReceipt(in text: String) throws(VerifyReceiptStatus) -> OldStyleReceipt? {
        // Old-style receipts are at most 1 MiB; a longer text can only be an app receipt.
        guard text.utf8.count <= 2 << 20 else { return nil }
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
        guard let bytes = Base64.decode(text.utf8.filter { !isBlank($0) }),
            bytes.first(where: { !isBlank($0) }) == UInt8(ascii: "{")
        else { return nil }
        var policy = InspectionPolicy { [store] in store.now }
        policy.roots = verifier.policy.roots
        let inspection = ProofInspection.inspect(bytes, policy: policy)
        guard let receipt = OldStyleReceipt(bytes), inspection.verdict != Verdict.malformed.rawValue else {
            throw .malformed
        }
        guard inspection.isOK else { throw .notAuthentic }
        return receipt
    }
}

/// The statuses that the endpoint itself returns. Apple no longer sends 21001, and 21006 comes with the answer to an
/// old-style receipt.
extension VerifyReceiptStatus: Error {
    fileprivate var response: HTTPResponse { .json(["status": .int(rawValue)]) }
}
