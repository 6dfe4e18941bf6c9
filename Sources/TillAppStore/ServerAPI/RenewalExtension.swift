import TillBilling
import TillJSON

/// Why subscribers are given days (facts/server-api §4.4).
public enum ExtensionReason: Int64, Sendable, CaseIterable {
    case undeclared = 0
    case customerSatisfaction = 1
    case other = 2
    case outage = 3
}

/// Days for one subscriber.
public struct RenewalExtension: Sendable, Hashable {
    /// 1 to 90.
    public var days: Int
    public var reason: ExtensionReason
    /// Of the caller's making, at most 128 bytes; Apple gives it back.
    public var requestIdentifier: String

    public init(days: Int, reason: ExtensionReason, requestIdentifier: String) {
        self.days = days
        self.reason = reason
        self.requestIdentifier = requestIdentifier
    }

    func body() throws(InvalidRequest) -> JSONValue {
        try Self.check(days)
        guard !requestIdentifier.isEmpty else { throw InvalidRequest("requestIdentifier", .missing) }
        guard requestIdentifier.utf8.count <= CallTarget.idLimit else {
            throw InvalidRequest("requestIdentifier", .tooLong)
        }
        return [
            "extendByDays": .int(Int64(days)), "extendReasonCode": .int(reason.rawValue),
            "requestIdentifier": .string(requestIdentifier),
        ]
    }

    static func check(_ days: Int) throws(InvalidRequest) {
        guard (1...90).contains(days) else { throw InvalidRequest("extendByDays", .outOfRange) }
    }
}

/// Days for all active subscribers of a product.
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

    func body() throws(InvalidRequest) -> JSONValue {
        try RenewalExtension.check(days)
        guard product.isWellFormed else { throw InvalidRequest("productId", .badText) }
        var body: [String: JSONValue] = [
            "extendByDays": .int(Int64(days)), "extendReasonCode": .int(reason.rawValue),
            "productId": .string(product.text), "requestIdentifier": .string(requestIdentifier.description),
        ]
        if let storefronts {
            let field = "storefrontCountryCodes"
            guard !storefronts.isEmpty else { throw InvalidRequest(field, .missing) }
            guard storefronts.count <= 300 else { throw InvalidRequest(field, .tooLong) }
            for code in storefronts {
                let isCode = code.utf8.count == 3 && code.utf8.allSatisfy { (0x41...0x5A).contains($0) }
                guard isCode else { throw InvalidRequest(field, .badText) }
            }
            body[field] = .array(storefronts.map(JSONValue.string))
        }
        return .object(body)
    }
}

/// What became of one extension.
public struct RenewalExtensionResult: Sendable, Hashable {
    public let originalTransactionID: TransactionID?
    public let webOrderLineItemID: String?
    public let isSuccess: Bool
    /// The new end of the period.
    public let effectiveDate: Instant?

    init(_ fields: AnswerFields) throws(AnswerMalformation) {
        originalTransactionID = try fields.string("originalTransactionId").map(TransactionID.init)
        webOrderLineItemID = try fields.string("webOrderLineItemId")
        isSuccess = try fields.required("success", fields.bool("success"))
        effectiveDate = try fields.instant("effectiveDate")
    }
}

/// How far a mass extension is.
public struct MassExtensionStatus: Sendable, Hashable {
    public let requestIdentifier: String?
    public let isComplete: Bool
    /// This and the counts only when it is complete.
    public let completeDate: Instant?
    public let succeededCount: Int64?
    public let failedCount: Int64?

    init(_ fields: AnswerFields) throws(AnswerMalformation) {
        requestIdentifier = try fields.string("requestIdentifier")
        isComplete = try fields.required("complete", fields.bool("complete"))
        completeDate = try fields.instant("completeDate")
        succeededCount = try fields.int64("succeededCount")
        failedCount = try fields.int64("failedCount")
    }
}
