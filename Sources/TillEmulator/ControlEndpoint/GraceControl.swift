import TillBilling
import TillHTTP
import TillJSON

/// The billing grace period, as a developer sets it in App Store Connect.
extension ControlEndpoint {
    func addGrace(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/subscriptions/grace",
            Text(en: "What subscribers have when a renewal can't be charged.", zh: "续期扣款失败时订阅者的宽限期。"),
            answer: Self.graceAnswer
        ) { _ in .json(Self.json(try await store.billingGracePeriod())) }
        routes.on(
            .put, "/emulator/subscriptions/grace",
            Text(
                en: "Sets what billing errors from now on are met with; who has a grace period keeps it.",
                zh: "设定此后扣款失败时的宽限期；已进入宽限期的不受影响。"),
            body: Self.graceMembers, answer: Self.graceAnswer
        ) { call in
            let period = try gracePeriod(call.body)
            try await store.setBillingGracePeriod(period)
            return .json(Self.json(period))
        }
    }

    private static let graceMembers: [ControlMember] = [
        ControlMember(
            "days", .integer(3...28), Text(en: "3, 16 or 28; null: no grace period", zh: "3、16 或 28；null 表示没有宽限期")),
        ControlMember(
            "scope", .choice(BillingGracePeriod.Scope.allCases.map(\.rawValue)),
            Text(
                en: "PAID_TO_PAID_ONLY: not from a free trial into the first paid period; ALL_RENEWALS if absent",
                zh: "PAID_TO_PAID_ONLY：不含从免费试用转入首个付费周期；省略则为 ALL_RENEWALS")),
    ]

    private static let graceAnswer = ControlAnswer("BillingGracePeriod", graceMembers)

    private func gracePeriod(_ body: RequestBody) throws(Problem) -> BillingGracePeriod? {
        let scope = try body.choice("scope", of: BillingGracePeriod.Scope.self)
        guard let days = try body.integer("days", in: 3...28) else {
            // A scope of nothing is more likely a mistake than a wish.
            guard scope == nil else { throw RequestBody.wrong("scope", "absent without days", "与 days 同用") }
            return nil
        }
        guard let length = BillingGracePeriod.Length(rawValue: days) else {
            throw RequestBody.wrong("days", "3, 16 or 28", " 3、16 或 28")
        }
        return BillingGracePeriod(length, scope: scope ?? .allRenewals)
    }

    private static func json(_ period: BillingGracePeriod?) -> JSONValue {
        guard let period else { return ["days": .null] }
        return ["days": .int(period.length.rawValue), "scope": .string(period.scope.rawValue)]
    }
}
