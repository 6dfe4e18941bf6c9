import TillBilling
import TillJSON

/// What Apple is told before it decides about a refund (facts/server-api §3: 6, 6b; §5): within twelve hours of a
/// CONSUMPTION_REQUEST, and only with the customer's consent.
extension ServerAPI {
    /// Send Consumption Information.
    ///
    /// - Returns: the environment that took it.
    @discardableResult
    public func sendConsumption(
        _ information: ConsumptionInformation, of id: TransactionID, in environment: Environment? = nil
    ) async throws(ServerAPIFault) -> Environment {
        let body = try valid { () throws(InvalidRequest) in try information.body() }
        return try await send(body, "/inApps/v2/transactions/consumption", of: id, in: environment)
    }

    /// The deprecated version, with its finer questions.
    @discardableResult
    public func sendConsumptionV1(
        _ information: ConsumptionInformationV1, of id: TransactionID, in environment: Environment? = nil
    ) async throws(ServerAPIFault) -> Environment {
        let body = try valid { () throws(InvalidRequest) in try information.body() }
        return try await send(body, "/inApps/v1/transactions/consumption", of: id, in: environment)
    }

    private func send(
        _ body: JSONValue, _ path: String, of id: TransactionID, in environment: Environment?
    ) async throws(ServerAPIFault) -> Environment {
        var call = ServerAPICall(.consumption, .put, try Self.target(path, id).text, body: body)
        call.success = 202
        let told = call
        return try await find(in: environment) { (environment) throws(ServerAPIFault) in
            try await tell(told, in: environment)
        }.environment
    }
}

/// ConsumptionRequest (since 1.19), for products of all types.
public struct ConsumptionInformation: Sendable, Hashable {
    public enum Delivery: String, Sendable, CaseIterable {
        case delivered = "DELIVERED"
        case qualityIssue = "UNDELIVERED_QUALITY_ISSUE"
        case wrongItem = "UNDELIVERED_WRONG_ITEM"
        case serverOutage = "UNDELIVERED_SERVER_OUTAGE"
        case undelivered = "UNDELIVERED_OTHER"
    }

    public enum RefundPreference: String, Sendable, CaseIterable {
        case decline = "DECLINE"
        case grantFull = "GRANT_FULL"
        case grantProrated = "GRANT_PRORATED"
    }

    /// Whether the customer agreed that Apple is told. Without it nothing is sent.
    public var hasConsent: Bool
    public var delivery: Delivery
    /// Whether the customer could try before buying.
    public var hadSample: Bool
    /// How much was used, in thousandths of a percent: 0 to 100000.
    public var percentage: Int?
    public var preference: RefundPreference?
    /// What the purchase is: the rules of a prorated refund differ. Not sent; nil leaves those rules to Apple.
    public var productType: ProductType?

    public init(
        hasConsent: Bool, delivery: Delivery, hadSample: Bool, percentage: Int? = nil,
        preference: RefundPreference? = nil, productType: ProductType? = nil
    ) {
        self.hasConsent = hasConsent
        self.delivery = delivery
        self.hadSample = hadSample
        self.percentage = percentage
        self.preference = preference
        self.productType = productType
    }

    /// As it is sent, or which rule forbids that.
    public func body() throws(InvalidRequest) -> JSONValue {
        let field = "consumptionPercentage"
        guard hasConsent else { throw InvalidRequest("customerConsented", .noConsent) }
        if let percentage {
            guard (0...100_000).contains(percentage) else { throw InvalidRequest(field, .outOfRange) }
            guard delivery == .delivered || percentage == 0 else { throw InvalidRequest(field, .contradiction) }
        }
        if preference == .grantProrated {
            if percentage == 0 { throw InvalidRequest(field, .contradiction) }
            // Apple knows itself how much of a period is over (4000209).
            let isOfPeriod = productType.map { $0 == .autoRenewable }
            if isOfPeriod == true, percentage != nil { throw InvalidRequest(field, .contradiction) }
            if isOfPeriod == false, percentage == nil { throw InvalidRequest(field, .missing) }
        }
        var body: [String: JSONValue] = [
            "customerConsented": true, "deliveryStatus": .string(delivery.rawValue),
            "sampleContentProvided": .bool(hadSample),
        ]
        if let percentage { body[field] = .int(Int64(percentage)) }
        if let preference { body["refundPreference"] = .string(preference.rawValue) }
        return .object(body)
    }
}
