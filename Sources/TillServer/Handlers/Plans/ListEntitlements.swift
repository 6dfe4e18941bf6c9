import TillAPI
import TillBilling
import TillHTTP
import TillJSON
import TillLedger

extension Server {
    /// `GET /v1/users/{userId}/entitlements?environment=`: the entitlements that a user has now.
    func listEntitlements(_ call: Call) async throws -> HTTPResponse {
        let (all, environment) = try await rights(call)
        let rights = all.active.sorted {
            ($0.since, $0.transactionID) < ($1.since, $1.transactionID)
        }
        let reply = EntitlementsReply(data: rights.map(EntitlementReply.init), sandbox: environment.sandboxMark)
        return JSONText.response(200, text: reply.encoded)
    }

    /// `GET /v1/users/{userId}/entitlements/{entitlement}?environment=&deviceId=`: whether a user has one entitlement
    /// now, until when, and why.
    func readEntitlement(_ call: Call) async throws -> HTTPResponse {
        let name = try InputLimits.string(call.parameters["entitlement"], "entitlement", 128)
        let device = try call.request.queryValue("deviceId").map(InputLimits.device)
        let (rights, environment) = try await rights(call)
        let sources = rights.sources(of: name, on: device)
        guard
            !sources.isEmpty
                || configuration.catalog.products.contains(where: { $0.right?.hasSameBytes(as: name) == true })
        else {
            throw RefusalError(.unknownEntitlement)
        }
        return JSONText.response(
            200, EntitlementAccessReply(name, sources, on: device, sandbox: environment.sandboxMark))
    }

    /// `GET /v1/users/{userId}/subscriptions?environment=`: all current and past subscriptions of a user, newest first.
    func listSubscriptions(_ call: Call) async throws -> HTTPResponse {
        let catalog = configuration.catalog
        let (rights, environment) = try await rights(call)
        let data = rights.subscriptions.map { held in
            let product = catalog[held.state.current.productID]
            let id = held.state.current.productID.text
            var reply = SubscriptionReply(
                held.originalID, held.state, title: product?.names.bilingual ?? LocalizedText(en: id, zh: id))
            reply.entitlement = held.entitlement
            reply.plan = product?.plan?.id.text
            return reply
        }
        return JSONText.response(200, SubscriptionsReply(data: data, sandbox: environment.sandboxMark))
    }

    private func rights(_ call: Call) async throws -> (Rights, StoreEnvironment) {
        let user = try call.userInPath()
        let environment = try call.environment(for: user, configuration)
        let now = clock()
        let rights = try await database.read { [catalogs] connection in
            try Rights.load(of: user, in: environment, at: now, catalogs: catalogs, connection: connection)
        }
        return (rights, environment)
    }
}

extension Rights {
    /// Purchases that an answer lists as sources of an entitlement.
    static let sourceLimit = 50

    /// The purchases behind one entitlement: first those that allow it on the device, then those that allow it on other
    /// devices, each group by the latest end; then ended ones, the latest end first.
    func sources(of entitlement: String, on device: DeviceID?) -> [Right] {
        let all = self.all.filter { $0.entitlement == entitlement }
        let sorted = all.sorted { left, right in
            guard left.isAllowed(on: device) == right.isAllowed(on: device) else { return left.isAllowed(on: device) }
            guard left.isAllowed == right.isAllowed else { return left.isAllowed }
            guard left.until == right.until else {
                guard let first = left.until else { return true }
                guard let second = right.until else { return false }
                return first > second
            }
            return left.transactionID < right.transactionID
        }
        return Array(sorted.prefix(Self.sourceLimit))
    }
}

extension EntitlementAccessReply {
    init(_ entitlement: String, _ sources: [Right], on device: DeviceID?, sandbox: Bool?) {
        let isElsewhere = sources.first.map { $0.isAllowed && !$0.isAllowed(on: device) } ?? false
        self.init(
            entitlement: entitlement, until: sources.first?.until,
            why: isElsewhere ? .otherDevice : sources.first?.why ?? .neverHad,
            sources: sources.map(EntitlementReply.init), sandbox: sandbox)
    }
}

extension EntitlementReply {
    init(_ right: Right) {
        self.init(
            entitlement: right.entitlement, productId: right.productID, kind: right.kind, state: right.state,
            why: right.why, since: right.since, expiresAt: right.until, transactionId: right.transactionID)
        plan = right.planID?.text
        deviceId = right.deviceID?.text
        deviceIds = right.deviceIDs?.map(\.text)
        willRenew = right.willRenew
        originalTransactionId = right.originalID?.text
    }
}

/// Like their `Codable` forms: apps read them often, and TillJSON writes them in a fraction of the time.
extension EntitlementsReply {
    var encoded: [UInt8] {
        JSONWriter { json in
            json.objects("data", data) { right, json in right.write(&json) }
            if let sandbox { json.bool("sandbox", sandbox) }
        }.bytes
    }
}

extension EntitlementReply {
    fileprivate func write(_ json: inout JSONWriter) {
        if let deviceId { json.text("deviceId", deviceId) }
        if let deviceIds { json.texts("deviceIds", deviceIds) }
        json.text("entitlement", entitlement)
        if let expiresAt { json.text("expiresAt", expiresAt.rfc3339) }
        json.text("kind", kind.rawValue)
        if let originalTransactionId { json.text("originalTransactionId", originalTransactionId) }
        if let plan { json.text("plan", plan) }
        json.text("productId", productId)
        json.object("sentence") { json in
            json.text("en", sentence.en)
            json.text("zh", sentence.zh)
        }
        json.text("since", since.rfc3339)
        json.text("state", state)
        json.text("transactionId", transactionId)
        json.text("why", why)
        if let willRenew { json.bool("willRenew", willRenew) }
    }
}
