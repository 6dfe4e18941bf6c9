import TillAppStore
import TillBilling
import TillHTTP

/// The developer's information about a purchase before Apple decides about its refund (facts/server-api §3: 6, 6b).
extension ServerAPIEndpoint {
    /// Serves both versions. 202 is the only documented success. Information that the store did not request, or that
    /// arrives after its twelve hours, gets 202 too and changes nothing.
    func consumption(_ call: APICall) async throws -> HTTPResponse {
        let body = try call.body()
        let text = String(decoding: call.request.body, as: UTF8.self)
        _ = try await store.change { change -> ConsumptionOutcome in
            let transaction = try call.transaction(change.connection)
            let answer =
                call.route == .consumption
                ? try ConsumptionResponse(body, text: text, of: transaction.kind)
                : try ConsumptionResponse(v1: body, text: text, of: transaction.kind)
            return try Refunds.takeConsumption(transaction.number, answer, change)
        }
        return HTTPResponse(status: 202)
    }
}

extension ConsumptionResponse {
    /// ConsumptionRequest (facts/server-api §5). Apple has no error code of its own for an invalid percentage, or for a
    /// percentage of an undelivered purchase.
    fileprivate init(_ body: APIBody, text: String, of kind: ProductType) throws(APIError) {
        typealias Information = ConsumptionInformation
        try body.requireConsent()
        let delivery = try body.required("deliveryStatus", else: .invalidDeliveryStatus) { value in
            value.string.flatMap { Information.Delivery(rawValue: $0) }
        }
        _ = try body.required("sampleContentProvided", else: .invalidSampleContentProvided) { $0.bool }
        let percentage = try body.optional("consumptionPercentage", else: .generalBadRequest) { value in
            value.int.flatMap { (0...100_000).contains($0) ? $0 : nil }
        }
        guard delivery == .delivered || percentage ?? 0 == 0 else { throw APIError(.generalBadRequest) }
        let preference = try body.optional("refundPreference", else: .invalidRefundPreference) { value in
            value.string.flatMap { Information.RefundPreference(rawValue: $0) }
        }
        if preference == .grantProrated {
            if kind == .autoRenewable {
                guard percentage == nil else { throw APIError(.consumptionPercentageNotAllowed) }
            } else {
                guard let percentage, percentage > 0 else { throw APIError(.invalidRefundPreference) }
            }
        }
        let refundPreference: Preference =
            switch preference {
            case nil: .none
            case .decline: .decline
            case .grantFull: .grantFull
            case .grantProrated: .grantProrated
            }
        self.init(preference: refundPreference, consumed: percentage, wasDelivered: delivery == .delivered, text: text)
    }

    /// ConsumptionRequestV1: every member is required except the preference.
    fileprivate init(v1 body: APIBody, text: String, of kind: ProductType) throws(APIError) {
        typealias Information = ConsumptionInformationV1
        guard kind == .consumable || kind == .autoRenewable else {
            throw APIError(.invalidTransactionTypeNotSupported)
        }
        try body.requireConsent()
        let consumption = try body.choice(
            "consumptionStatus", Information.Consumption.self, else: .invalidConsumptionStatus)
        _ = try body.choice("platform", Information.Platform.self, else: .invalidPlatform)
        _ = try body.required("sampleContentProvided", else: .invalidSampleContentProvided) { $0.bool }
        let delivery = try body.choice("deliveryStatus", Information.Delivery.self, else: .invalidDeliveryStatus)
        _ = try body.required("appAccountToken", else: .invalidAppAccountToken) { value in
            value.string.flatMap { $0.isEmpty || UniqueID($0) != nil ? $0 : nil }
        }
        _ = try body.choice("accountTenure", Information.Tenure.self, else: .invalidAccountTenure)
        _ = try body.choice("playTime", Information.PlayTime.self, else: .invalidPlayTime)
        _ = try body.choice(
            "lifetimeDollarsPurchased", Information.Dollars.self, else: .invalidLifetimeDollarsPurchased)
        _ = try body.choice(
            "lifetimeDollarsRefunded", Information.Dollars.self, else: .invalidLifetimeDollarsRefunded)
        _ = try body.choice("userStatus", Information.Account.self, else: .invalidUserStatus)
        let preference = try body.optional("refundPreference", else: .invalidRefundPreference) { value in
            value.int.flatMap { Information.RefundPreference(rawValue: $0) }
        }
        let refundPreference: Preference =
            switch preference {
            case nil, .undeclared, .none?: .none
            case .grant: .grantFull
            case .decline: .decline
            }
        // This version has no figure for a partially used purchase.
        let consumed: Int64? =
            switch consumption {
            case .none: 0
            case .full: 100_000
            case .undeclared, .partial: nil
            }
        self.init(preference: refundPreference, consumed: consumed, wasDelivered: delivery == .delivered, text: text)
    }
}

extension APIBody {
    /// Without the customer's consent the developer may send no information (facts/server-api §5).
    fileprivate func requireConsent() throws(APIError) {
        guard members["customerConsented"]?.bool == true else { throw APIError(.invalidCustomerConsented) }
    }

    fileprivate func choice<Choice: RawRepresentable>(
        _ name: String, _ type: Choice.Type, else code: ServerAPIErrorCode
    ) throws(APIError) -> Choice where Choice.RawValue == Int64 {
        try required(name, else: code) { value in value.int.flatMap { Choice(rawValue: $0) } }
    }
}
