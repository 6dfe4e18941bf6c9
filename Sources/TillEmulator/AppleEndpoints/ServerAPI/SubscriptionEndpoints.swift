import TillAppStore
import TillBilling
import TillHTTP
import TillJSON
import TillSQL

/// Subscription statuses and extensions of renewal dates (facts/server-api §3: 3, 7, 8, 9).
extension ServerAPIEndpoint {
    func subscriptionStatuses(_ call: APICall) async throws -> HTTPResponse {
        var wanted: Set<Int64> = []
        for text in call.values("status") {
            guard let status = Int64(text), (1...5).contains(status) else { throw APIError(.invalidStatus) }
            wanted.insert(status)
        }
        let found = try await store.ask { [wanted] connection in
            let customer = try call.customer(connection)
            let all = try SubscriptionTable.ofAccount(customer.account, bundleID: customer.bundleID, connection)
            return try all.compactMap { subscription -> (StoreSubscription, StoreTransaction)? in
                guard wanted.isEmpty || wanted.contains(subscription.state.status) else { return nil }
                return try TransactionTable.find(subscription.current, connection).map { (subscription, $0) }
            }
        }
        let now = store.now
        var groups: [(id: String, items: [JSONValue])] = []
        for (subscription, current) in found {
            if groups.last?.id != subscription.groupID { groups.append((subscription.groupID, [])) }
            groups[groups.count - 1].items.append([
                "originalTransactionId": .string(String(subscription.original)),
                "status": .int(subscription.state.status),
                "signedTransactionInfo": .string(try issuer.signedTransaction(current, at: now)),
                "signedRenewalInfo": .string(
                    try issuer.sign(SignedContent.renewal(subscription, current: current, signed: now))),
            ])
        }
        var members = app(call)
        members["data"] = .array(
            groups.map { ["subscriptionGroupIdentifier": .string($0.id), "lastTransactions": .array($0.items)] })
        return .json(.object(members))
    }

    // MARK: Renewal dates

    func extendRenewal(_ call: APICall) async throws -> HTTPResponse {
        let body = try call.body()
        let (days, _) = try body.daysAndReason()
        _ = try body.required("requestIdentifier", else: .invalidRequestIdentifier) { value in
            value.string.flatMap { (1...128).contains($0.count) ? $0 : nil }
        }
        let number = try APICall.number(call.id, else: .invalidOriginalTransactionID)
        let result = try await store.change { change in
            let original = try TransactionTable.find(number, change.connection)
            guard let original, original.bundleID == call.bundleID, original.state == .purchased else {
                throw APIError(.originalTransactionIDNotFound)
            }
            guard try AccountTable.find(original.account, change.connection)?.isDeleted != true else {
                throw APIError(.accountNotFound)
            }
            return try SubscriptionLifecycle.extend(number, days: days, change)
        }
        switch result {
        case .failure(let refusal): throw APIError(refusal)
        case .success(let moved):
            return .json([
                "originalTransactionId": .string(call.id), "webOrderLineItemId": .string(String(moved.lineItem)),
                "success": true, "effectiveDate": .int(moved.effective.milliseconds),
            ])
        }
    }

    func massExtension(_ call: APICall) async throws -> HTTPResponse {
        let body = try call.body()
        let (days, reason) = try body.daysAndReason()
        let identifier = try body.required("requestIdentifier", else: .invalidRequestIdentifier) { $0.string }
        guard let id = UniqueID(identifier) else { throw APIError(.invalidRequestIdentifier) }
        let product = try body.required("productId", else: .invalidProductID) { $0.string.map { ProductID($0) } }
        let storefronts = try body.optional("storefrontCountryCodes", else: .invalidStorefrontCountryCode) { value in
            value.array.flatMap { codes in
                let texts = codes.compactMap(\.string)
                return texts.count == codes.count && texts.count <= 300 ? texts : nil
            }
        }
        if let storefronts {
            guard !storefronts.isEmpty else { throw APIError(.invalidEmptyStorefrontCountryCodeList) }
            guard storefronts.allSatisfy(Storefront.isWellFormed) else {
                throw APIError(.invalidStorefrontCountryCode)
            }
        }
        let request = MassExtension.Request(
            id: id, bundleID: call.bundleID, productID: product, days: days, reason: reason, storefronts: storefronts)
        try await store.change { change in
            guard product.isWellFormed, try ProductTable.find(product, change.connection)?.kind == .autoRenewable else {
                throw APIError(.invalidProductID)
            }
            try MassExtension.begin(request, change)
        }
        return .json(["requestIdentifier": .string(identifier)])
    }

    func massExtensionStatus(_ call: APICall) async throws -> HTTPResponse {
        guard let id = UniqueID(call.id) else { throw APIError(.invalidRequestIdentifier) }
        let product = ProductID(call.parameters["product"])
        guard product.isWellFormed else { throw APIError(.invalidProductID) }
        let status = try await store.ask { connection in
            try MassExtension.status(id, productID: product, bundleID: call.bundleID, connection)
        }
        guard let status else { throw APIError(.statusRequestNotFound) }
        var members: [String: JSONValue] = [
            "requestIdentifier": .string(call.id), "complete": .bool(status.completed != nil),
        ]
        if let completed = status.completed {
            members["completeDate"] = .int(completed.milliseconds)
            members["succeededCount"] = .int(status.succeeded)
            members["failedCount"] = .int(status.failed)
        }
        return .json(.object(members))
    }
}

extension APIError {
    init(_ refusal: RenewalDateExtension.Refusal) {
        switch refusal {
        case .unknown: self.init(.originalTransactionIDNotFound)
        case .ineligible: self.init(.subscriptionExtensionIneligible)
        case .tooMany: self.init(.subscriptionMaxExtension)
        case .familyShared: self.init(.familySharedSubscriptionExtensionIneligible)
        }
    }
}

extension APIBody {
    fileprivate func daysAndReason() throws(APIError) -> (days: Int64, reason: Int64) {
        let days = try required("extendByDays", else: .invalidExtendByDays) { value in
            value.int.flatMap { (1...90).contains($0) ? $0 : nil }
        }
        let reason = try required("extendReasonCode", else: .invalidExtendReasonCode) { value in
            value.int.flatMap { ExtensionReason(rawValue: $0) }
        }
        return (days, reason.rawValue)
    }
}
