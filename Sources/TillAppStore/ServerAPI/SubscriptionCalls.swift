import TillBilling
import TillJSON

/// Subscriptions (facts/server-api §3: 3, 7, 8, 9).
extension ServerAPI {
    /// Get All Subscription Statuses.
    ///
    /// - Parameters:
    ///   - id: any transaction of the customer.
    ///   - statuses: limits the result to these; an empty list means all.
    public func subscriptionStatuses(
        of id: TransactionID, only statuses: [SubscriptionStatus] = [], in environment: StoreEnvironment? = nil
    ) async throws(ServerAPIError) -> EnvironmentResult<SubscriptionStatuses> {
        let target = try valid { () throws(InvalidRequestError) in
            var target = try RequestPath("/inApps/v1/subscriptions").segment(id.text, "transactionId")
            guard statuses.count <= 20 else { throw InvalidRequestError("status", .tooLong) }
            try target.query("status", each: statuses.map { String($0.rawValue) })
            return target
        }
        var call = ServerAPICall(.subscriptionStatuses, .get, target.text)
        call.responseLimit = ServerAPICall.pageLimit
        let asked = call
        return try await find(in: environment) { (environment) throws(ServerAPIError) in
            try await ask(asked, in: environment) { (fields) throws(ServerAPIError) in
                try SubscriptionStatuses(fields)
            }
        }
    }

    /// Extend a Subscription Renewal Date. It cannot be undone, and Apple grants at most two extensions in 365 days
    /// (facts/server-api §4.4). Apple does not state that a repeated request identifier is harmless here: after an
    /// outage, check the subscription before repeating the request.
    ///
    /// - Parameter id: the subscription's original transaction.
    public func extendRenewal(
        of id: TransactionID, by request: RenewalExtension, in environment: StoreEnvironment
    ) async throws(ServerAPIError) -> RenewalExtensionResult {
        let target = try Self.target("/inApps/v1/subscriptions/extend", id, "originalTransactionId")
        let body = try valid { () throws(InvalidRequestError) in try request.body() }
        return try await ask(ServerAPICall(.extendRenewal, .put, target.text, body: body), in: environment) {
            (fields) throws(ServerAPIError) in try RenewalExtensionResult(fields)
        }
    }

    /// Extend Subscription Renewal Dates for All Active Subscribers of a product. Apple needs hours or days for it; a
    /// repeated request with the same identifier has no further effect.
    ///
    /// - Returns: the request's identifier, which its status is requested by.
    @discardableResult
    public func extendAllRenewals(
        by request: MassRenewalExtension, in environment: StoreEnvironment
    ) async throws(ServerAPIError) -> UniqueID {
        let body = try valid { () throws(InvalidRequestError) in try request.body() }
        let call = ServerAPICall(.massExtension, .post, "/inApps/v1/subscriptions/extend/mass", body: body)
        return try await ask(call, in: environment) { (fields) throws(ServerAPIError) in
            try fields.required("requestIdentifier", fields.string("requestIdentifier").flatMap { UniqueID($0) })
        }
    }

    /// Get Status of Subscription Renewal Date Extensions.
    public func massExtensionStatus(
        of request: UniqueID, product: ProductID, in environment: StoreEnvironment
    ) async throws(ServerAPIError) -> MassExtensionStatus {
        let target = try valid { () throws(InvalidRequestError) in
            try RequestPath("/inApps/v1/subscriptions/extend/mass").segment(product.text, "productId")
                .segment(request.description, "requestIdentifier")
        }
        return try await ask(ServerAPICall(.massExtensionStatus, .get, target.text), in: environment) {
            (fields) throws(ServerAPIError) in try MassExtensionStatus(fields)
        }
    }
}

/// The subscriptions of a customer by group (StatusResponse).
public struct SubscriptionStatuses: Sendable, Hashable {
    public struct Group: Sendable, Hashable {
        public let id: String?
        public let subscriptions: [Subscription]
    }

    public struct Subscription: Sendable, Hashable {
        public let originalTransactionID: TransactionID?
        public let status: SubscriptionStatus?
        public let transaction: SignedTransaction?
        public let renewalInfo: SignedRenewalInfo?
    }

    public let groups: [Group]
    public let bundleID: String?
    /// Absent in the sandbox.
    public let appAppleID: Int64?
    /// The environment's name in Apple's response.
    public let environment: String?

    init(_ fields: ResponseFields) throws(ServerAPIError) {
        groups = try fields.required("data", fields.objects("data")).map { group throws(ServerAPIError) in
            let items = try group.objects("lastTransactions") ?? []
            return Group(
                id: try group.string("subscriptionGroupIdentifier"),
                subscriptions: try items.map { item throws(ServerAPIError) in
                    Subscription(
                        originalTransactionID: try item.string("originalTransactionId").map(TransactionID.init),
                        status: try item.int64("status").map { SubscriptionStatus(rawValue: Int($0)) },
                        transaction: try item.string("signedTransactionInfo").map(SignedTransaction.init),
                        renewalInfo: try item.string("signedRenewalInfo").map(SignedRenewalInfo.init))
                })
        }
        bundleID = try fields.string("bundleId")
        appAppleID = try fields.int64("appAppleId")
        environment = try fields.string("environment")
    }
}

/// Why a renewal date is extended (facts/server-api §4.4).
public enum ExtensionReason: Int64, Sendable, CaseIterable {
    case undeclared = 0
    case customerSatisfaction = 1
    case other = 2
    case outage = 3
}

/// An extension for one subscriber.
public struct RenewalExtension: Sendable, Hashable {
    /// 1 to 90.
    public var days: Int
    public var reason: ExtensionReason
    /// Chosen by the caller, at most 128 bytes; Apple returns it.
    public var requestIdentifier: String

    public init(days: Int, reason: ExtensionReason, requestIdentifier: String) {
        self.days = days
        self.reason = reason
        self.requestIdentifier = requestIdentifier
    }

    func body() throws(InvalidRequestError) -> JSONValue {
        try Self.check(days)
        guard !requestIdentifier.isEmpty else { throw InvalidRequestError("requestIdentifier", .missing) }
        guard requestIdentifier.utf8.count <= RequestPath.idLimit else {
            throw InvalidRequestError("requestIdentifier", .tooLong)
        }
        return [
            "extendByDays": .int(Int64(days)), "extendReasonCode": .int(reason.rawValue),
            "requestIdentifier": .string(requestIdentifier),
        ]
    }

    static func check(_ days: Int) throws(InvalidRequestError) {
        guard (1...90).contains(days) else { throw InvalidRequestError("extendByDays", .outOfRange) }
    }
}

/// An extension for all active subscribers of a product.
public struct MassRenewalExtension: Sendable, Hashable {
    /// 1 to 90.
    public var days: Int
    public var reason: ExtensionReason
    public var product: ProductID
    public var requestIdentifier: UniqueID
    /// ISO 3166-1 alpha-3, in capital letters; nil for all.
    public var storefronts: [String]?

    public init(
        days: Int, reason: ExtensionReason, product: ProductID, requestIdentifier: UniqueID,
        storefronts: [String]? = nil
    ) {
        self.days = days
        self.reason = reason
        self.product = product
        self.requestIdentifier = requestIdentifier
        self.storefronts = storefronts
    }

    func body() throws(InvalidRequestError) -> JSONValue {
        try RenewalExtension.check(days)
        guard product.isWellFormed else { throw InvalidRequestError("productId", .badText) }
        var body: [String: JSONValue] = [
            "extendByDays": .int(Int64(days)), "extendReasonCode": .int(reason.rawValue),
            "productId": .string(product.text), "requestIdentifier": .string(requestIdentifier.description),
        ]
        if let storefronts {
            let field = "storefrontCountryCodes"
            guard !storefronts.isEmpty else { throw InvalidRequestError(field, .missing) }
            guard storefronts.count <= 300 else { throw InvalidRequestError(field, .tooLong) }
            for code in storefronts {
                let isCode = code.utf8.count == 3 && code.utf8.allSatisfy { (0x41...0x5A).contains($0) }
                guard isCode else { throw InvalidRequestError(field, .badText) }
            }
            body[field] = .array(storefronts.map(JSONValue.string))
        }
        return .object(body)
    }
}

/// The result of one extension.
public struct RenewalExtensionResult: Sendable, Hashable {
    public let originalTransactionID: TransactionID?
    public let webOrderLineItemID: String?
    public let isSuccess: Bool
    /// The new end of the period.
    public let effectiveDate: Instant?

    init(_ fields: ResponseFields) throws(ServerAPIError) {
        originalTransactionID = try fields.string("originalTransactionId").map(TransactionID.init)
        webOrderLineItemID = try fields.string("webOrderLineItemId")
        isSuccess = try fields.required("success", fields.bool("success"))
        effectiveDate = try fields.instant("effectiveDate")
    }
}

/// The progress of a mass extension.
public struct MassExtensionStatus: Sendable, Hashable {
    public let requestIdentifier: String?
    public let isComplete: Bool
    /// This date and the counts are set once it is complete.
    public let completeDate: Instant?
    public let succeededCount: Int64?
    public let failedCount: Int64?

    init(_ fields: ResponseFields) throws(ServerAPIError) {
        requestIdentifier = try fields.string("requestIdentifier")
        isComplete = try fields.required("complete", fields.bool("complete"))
        completeDate = try fields.instant("completeDate")
        succeededCount = try fields.int64("succeededCount")
        failedCount = try fields.int64("failedCount")
    }
}
