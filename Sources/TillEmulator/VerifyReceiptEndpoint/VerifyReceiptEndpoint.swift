import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP

/// `/verifyReceipt` as Apple's two hosts answer it: HTTP 200, and the verdict in `status` (facts/verify-receipt).
struct VerifyReceiptEndpoint: Sendable {
    let store: Store
    let configuration: EmulatorConfiguration
    let verifier: SignedDataVerifier
    /// Makes the account's receipt of now, for `latest_receipt`.
    let makeReceipt: @Sendable (_ account: String, _ bundleID: String) async throws -> [UInt8]

    /// The verdicts that this floor gives (facts/verify-receipt §3).
    private enum Status: Int64, Error {
        case notPost = 21000
        case malformed = 21002
        case notAuthentic = 21003
        case wrongSecret = 21004
        case unavailable = 21005
        case sandboxReceipt = 21007
        case productionReceipt = 21008

        var response: HTTPResponse { .json(["status": .int(rawValue)]) }
    }

    func add(to router: inout Router) {
        let faces: [(String, Environment)] = [
            ("/verifyReceipt", configuration.verifyReceiptFace ?? configuration.environment),
            ("/production/verifyReceipt", .production),
            ("/sandbox/verifyReceipt", .sandbox),
        ]
        // The largest receipt, in base64.
        let limit = 16 << 20
        for (path, face) in faces {
            router.on(.post, path, bodyLimit: limit) { request, _ in await answer(request.body, face: face) }
            for method in [HTTPMethod.get, .put, .delete] {
                router.on(method, path) { _, _ in Status.notPost.response }
            }
        }
    }

    private func answer(_ body: [UInt8], face: Environment) async -> HTTPResponse {
        do {
            return .json(try await verify(body, face: face))
        } catch let status as Status {
            return status.response
        } catch {
            return Status.unavailable.response
        }
    }

    private func verify(_ body: [UInt8], face: Environment) async throws -> JSONValue {
        guard let request = try? JSONValue(decoding: body), let text = request["receipt-data"]?.string else {
            throw Status.malformed
        }
        let receipt: VerifiedReceipt
        do throws(VerificationFailure) {
            receipt = try verifier.receipt(base64: text)
        } catch {
            throw error.verdict == .malformed ? Status.malformed : Status.notAuthentic
        }
        guard receipt.environment == face else {
            throw face == .production ? Status.sandboxReceipt : Status.productionReceipt
        }
        let subscription = ProductKind.autoRenewable.receiptNumber
        let isSubscriber = receipt.payload.purchases.contains { $0.productType == subscription }
        if let secret = configuration.sharedSecret {
            let given = request["password"]?.string
            guard given == secret || (given == nil && !isSubscriber) else { throw Status.wrongSecret }
        }
        let now = store.now
        var answer: [String: JSONValue] = [
            "status": 0,
            "environment": .string(receipt.environment.rawValue),
            "receipt": .object(receiptMembers(receipt, at: now)),
        ]
        if isSubscriber {
            let newestOnly = request["exclude-old-transactions"]?.bool ?? false
            answer.merge(try await latest(receipt, newestOnly: newestOnly, at: now)) { _, new in new }
        }
        return .object(answer)
    }

    /// The `receipt` object (facts/verify-receipt §5).
    private func receiptMembers(_ receipt: VerifiedReceipt, at now: Instant) -> [String: JSONValue] {
        let payload = receipt.payload
        var members: [String: JSONValue] = [
            "receipt_type": .string(payload.receiptType ?? ""),
            "adam_id": .int(payload.appAppleID ?? 0),
            "app_item_id": .int(payload.appAppleID ?? 0),
            "bundle_id": .string(receipt.bundleID),
            "application_version": .string(payload.applicationVersion ?? ""),
            "original_application_version": .string(payload.originalApplicationVersion ?? ""),
            "download_id": .int(payload.downloadID ?? 0),
            "version_external_identifier": .int(payload.versionExternalIdentifier ?? 0),
            "in_app": .array(payload.purchases.map { .object(ReceiptRecord($0).members) }),
        ]
        members.addDate("receipt_creation_date", receipt.creationDate)
        members.addDate("request_date", now)
        members.addDate("original_purchase_date", payload.originalPurchaseDate)
        return members
    }

    /// What Apple adds for receipts with auto-renewables: the account's state of now (facts/verify-receipt §4, §7).
    private func latest(
        _ receipt: VerifiedReceipt, newestOnly: Bool, at now: Instant
    ) async throws -> [String: JSONValue] {
        var known: StoreTransaction?
        for purchase in receipt.payload.purchases where known == nil {
            guard let number = purchase.transactionID.flatMap({ Int64($0) }) else { continue }
            known = try await store.transaction(number)
        }
        guard let known else { return [:] }
        let (all, _) = try await store.receiptContent(account: known.account, bundleID: known.bundleID)
        // The newest of each subscription; transactions come oldest first.
        let newest = Dictionary(
            all.filter { $0.subscription != nil }.map { ($0.original, $0) }, uniquingKeysWith: { _, later in later })
        let shown = newestOnly ? all.filter { newest[$0.original]?.number == $0.number } : all
        let subscriptions = try await store.ask {
            try SubscriptionTable.ofAccount(known.account, bundleID: known.bundleID, $0)
        }
        let pending = subscriptions.map(Self.pendingRenewal)
        return [
            "latest_receipt": .string(Base64.encode(try await makeReceipt(known.account, known.bundleID))),
            "latest_receipt_info": .array(shown.map { .object(ReceiptRecord($0).members) }),
            "pending_renewal_info": .array(pending),
        ]
    }

    private static func pendingRenewal(_ subscription: StoreSubscription) -> JSONValue {
        var members: [String: JSONValue] = [
            "product_id": .string(subscription.productID.text),
            "original_transaction_id": .string(String(subscription.original)),
            "auto_renew_product_id": .string(subscription.renewalProductID.text),
            "auto_renew_status": subscription.renews ? "1" : "0",
        ]
        members["expiration_intent"] = subscription.expirationIntent.map { .string(String($0)) }
        return .object(members)
    }
}
