import TillBilling
import TillJSON

/// Consumption information for Apple's decision about a refund (facts/server-api §3: 6, 6b; §5): sent within twelve
/// hours of a CONSUMPTION_REQUEST, and only with the customer's consent.
extension ServerAPI {
    /// Send Consumption Information.
    ///
    /// - Returns: the environment that accepted it.
    @discardableResult
    public func sendConsumption(
        _ information: ConsumptionInformation, of id: TransactionID, in environment: StoreEnvironment? = nil
    ) async throws(ServerAPIError) -> StoreEnvironment {
        let body = try valid { () throws(InvalidRequestError) in try information.body() }
        return try await send(body, "/inApps/v2/transactions/consumption", of: id, in: environment)
    }

    /// The deprecated version, with more detailed questions.
    @discardableResult
    public func sendConsumptionV1(
        _ information: ConsumptionInformationV1, of id: TransactionID, in environment: StoreEnvironment? = nil
    ) async throws(ServerAPIError) -> StoreEnvironment {
        let body = try valid { () throws(InvalidRequestError) in try information.body() }
        return try await send(body, "/inApps/v1/transactions/consumption", of: id, in: environment)
    }

    private func send(
        _ body: JSONValue, _ path: String, of id: TransactionID, in environment: StoreEnvironment?
    ) async throws(ServerAPIError) -> StoreEnvironment {
        var call = ServerAPICall(.consumption, .put, try Self.target(path, id).text, body: body)
        call.success = 202
        let told = call
        return try await find(in: environment) { (environment) throws(ServerAPIError) in
            try await perform(told, in: environment)
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

    /// Whether the customer consented to sending this information to Apple. Without consent it is not sent.
    public var hasConsent: Bool
    public var delivery: Delivery
    /// Whether the customer could try the content before buying.
    public var hadSample: Bool
    /// The consumed part, in thousandths of a percent: 0 to 100000.
    public var percentage: Int?
    public var preference: RefundPreference?
    /// The type of the product; the rules for a prorated refund depend on it. Not sent; nil skips those rules here, and
    /// Apple applies them.
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

    /// The body to send.
    ///
    /// - Throws: the rule that the information breaks.
    public func body() throws(InvalidRequestError) -> JSONValue {
        let field = "consumptionPercentage"
        guard hasConsent else { throw InvalidRequestError("customerConsented", .noConsent) }
        if let percentage {
            guard (0...100_000).contains(percentage) else { throw InvalidRequestError(field, .outOfRange) }
            guard delivery == .delivered || percentage == 0 else { throw InvalidRequestError(field, .contradiction) }
        }
        if preference == .grantProrated {
            if percentage == 0 { throw InvalidRequestError(field, .contradiction) }
            // Apple computes the elapsed part of a period itself (error 4000209).
            let isOfPeriod = productType.map { $0 == .autoRenewable }
            if isOfPeriod == true, percentage != nil { throw InvalidRequestError(field, .contradiction) }
            if isOfPeriod == false, percentage == nil { throw InvalidRequestError(field, .missing) }
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

/// ConsumptionRequestV1, deprecated. All fields except the preference are sent; each starts as `undeclared`.
public struct ConsumptionInformationV1: Sendable, Hashable {
    public enum Consumption: Int64, Sendable, CaseIterable {
        case undeclared = 0
        case none = 1
        case partial = 2
        /// Points given to another user count as consumed.
        case full = 3
    }

    public enum Platform: Int64, Sendable, CaseIterable {
        case undeclared = 0
        case apple = 1
        case other = 2
    }

    public enum Delivery: Int64, Sendable, CaseIterable {
        case delivered = 0
        case qualityIssue = 1
        case wrongItem = 2
        case serverOutage = 3
        case inGameCurrencyChange = 4
        case other = 5
    }

    /// The age of the account, in days.
    public enum Tenure: Int64, Sendable, CaseIterable {
        case undeclared = 0
        case upTo3 = 1
        case upTo10 = 2
        case upTo30 = 3
        case upTo90 = 4
        case upTo180 = 5
        case upTo365 = 6
        case longer = 7

        public init(days: Int) {
            let bounds = [3, 10, 30, 90, 180, 365]
            self = Tenure(rawValue: Int64(1 + (bounds.firstIndex { days <= $0 } ?? bounds.count))) ?? .undeclared
        }
    }

    public enum PlayTime: Int64, Sendable, CaseIterable {
        case undeclared = 0
        case upTo5Minutes = 1
        case upTo1Hour = 2
        case upTo6Hours = 3
        case upTo24Hours = 4
        case upTo4Days = 5
        case upTo16Days = 6
        case longer = 7

        public init(minutes: Int) {
            let bounds = [5, 60, 360, 1_440, 5_760, 23_040]
            self = PlayTime(rawValue: Int64(1 + (bounds.firstIndex { minutes <= $0 } ?? bounds.count))) ?? .undeclared
        }
    }

    /// US dollars over the account's lifetime.
    public enum Dollars: Int64, Sendable, CaseIterable {
        case undeclared = 0
        case zero = 1
        case below50 = 2
        case below100 = 3
        case below500 = 4
        case below1000 = 5
        case below2000 = 6
        case from2000 = 7

        public init(cents: Int64) {
            let bounds: [Int64] = [1, 50_00, 100_00, 500_00, 1_000_00, 2_000_00]
            self = Dollars(rawValue: Int64(1 + (bounds.firstIndex { cents < $0 } ?? bounds.count))) ?? .undeclared
        }
    }

    public enum Account: Int64, Sendable, CaseIterable {
        case undeclared = 0
        case active = 1
        case suspended = 2
        case terminated = 3
        case limited = 4
    }

    public enum RefundPreference: Int64, Sendable, CaseIterable {
        case undeclared = 0
        case grant = 1
        case decline = 2
        case none = 3
    }

    /// Whether the customer consented to sending this information to Apple. Without consent it is not sent.
    public var hasConsent: Bool
    public var hadSample: Bool
    public var delivery = Delivery.delivered
    public var consumption = Consumption.undeclared
    public var platform = Platform.undeclared
    /// Sent as an empty text if it is nil.
    public var appAccountToken: UniqueID?
    public var tenure = Tenure.undeclared
    public var playTime = PlayTime.undeclared
    public var purchased = Dollars.undeclared
    public var refunded = Dollars.undeclared
    public var account = Account.undeclared
    public var preference: RefundPreference?

    public init(hasConsent: Bool, hadSample: Bool) {
        self.hasConsent = hasConsent
        self.hadSample = hadSample
    }

    func body() throws(InvalidRequestError) -> JSONValue {
        guard hasConsent else { throw InvalidRequestError("customerConsented", .noConsent) }
        var body: [String: JSONValue] = [
            "accountTenure": .int(tenure.rawValue), "appAccountToken": .string(appAccountToken?.description ?? ""),
            "consumptionStatus": .int(consumption.rawValue), "customerConsented": true,
            "deliveryStatus": .int(delivery.rawValue), "lifetimeDollarsPurchased": .int(purchased.rawValue),
            "lifetimeDollarsRefunded": .int(refunded.rawValue), "platform": .int(platform.rawValue),
            "playTime": .int(playTime.rawValue), "sampleContentProvided": .bool(hadSample),
            "userStatus": .int(account.rawValue),
        ]
        if let preference { body["refundPreference"] = .int(preference.rawValue) }
        return .object(body)
    }
}
