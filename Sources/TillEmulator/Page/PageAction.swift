import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillPages

/// The actions of the page's forms. Each is one call of the control API.
enum PageAction: String, CaseIterable, Sendable {
    case buy
    case finish
    case approve
    case decline
    case refund
    case refundReversal
    case consumptionRequest
    case cancel
    case resume
    case billingFailure
    case recover
    case upgrade
    case consent
    case account
    case advance
    case clock
    case grace
    case notify
    case createProduct
    case editProduct
    case submitProduct
    case startReview
    case approveProduct
    case rejectProduct
    case requestChanges
    case removeFromSale
    case returnToSale

    var method: HTTPMethod {
        switch self {
        case .account, .clock, .grace, .notify: .put
        default: .post
        }
    }

    /// The control API's pattern; its parameter is the form's field `id`.
    var pattern: String {
        switch self {
        case .buy: "/emulator/purchases"
        case .finish, .approve, .decline, .refund, .refundReversal, .consumptionRequest:
            "/emulator/transactions/{id}/\(rawValue)"
        case .cancel, .resume, .billingFailure, .recover, .upgrade, .consent:
            "/emulator/subscriptions/{id}/\(rawValue)"
        case .account: "/emulator/accounts/{id}"
        case .advance, .clock: "/emulator/clock"
        case .grace: "/emulator/subscriptions/grace"
        case .notify: "/emulator/notifications"
        case .createProduct: "/emulator/products"
        case .editProduct: "/emulator/products/{id}/metadata"
        case .submitProduct, .startReview, .approveProduct, .rejectProduct, .requestChanges, .removeFromSale,
            .returnToSale:
            "/emulator/products/{id}/\(reviewStep?.rawValue ?? "")"
        }
    }

    /// The step of a product's review that the form takes; nil for other forms.
    var reviewStep: ProductReview.Step? {
        switch self {
        case .submitProduct: .submit
        case .startReview: .startReview
        case .approveProduct: .approve
        case .rejectProduct: .reject
        case .requestChanges: .requestChanges
        case .removeFromSale: .removeFromSale
        case .returnToSale: .returnToSale
        default: nil
        }
    }

    private enum Member {
        case text
        case integer
        case flag
    }

    /// The form's fields that become members of the body. Empty fields are omitted.
    private var members: [String: Member] {
        switch self {
        case .buy:
            [
                "bundleId": .text, "productId": .text, "quantity": .integer, "account": .text,
                "appAccountToken": .text, "outcome": .text,
            ]
        case .finish, .approve, .decline, .refund, .refundReversal, .consumptionRequest: [:]
        case .cancel, .resume, .billingFailure, .recover: [:]
        case .upgrade: ["productId": .text]
        case .consent: ["accept": .flag]
        case .account: ["asksToBuy": .flag, "mayPay": .flag, "paymentMethodWorks": .flag]
        case .advance: ["advance": .text]
        case .clock: ["pace": .text, "stopped": .flag]
        case .grace: ["days": .integer]
        case .notify: ["url": .text]
        case .createProduct:
            [
                "type": .text, "name": .text, "tier": .text, "reviewScreenshot": .flag, "subscriptionGroup": .text,
                "period": .text,
            ]
        case .editProduct: ["name": .text, "tier": .text, "reviewScreenshot": .flag]
        case .submitProduct: ["withAppVersion": .flag]
        case .removeFromSale: ["by": .text]
        case .startReview, .approveProduct, .rejectProduct, .requestChanges, .returnToSale: [:]
        }
    }

    /// The texts for customers in the form of a product; nil if its fields are empty.
    private static func localization(_ form: [String: String]) -> JSONValue? {
        let (name, description) = (form["displayName"] ?? "", form["description"] ?? "")
        guard !name.isEmpty || !description.isEmpty else { return nil }
        return [
            "locale": .string(form["locale"] ?? ""), "displayName": .string(name), "description": .string(description),
        ]
    }

    /// The call for a form.
    ///
    /// - Parameter now: the store's time, which determines the length of a month.
    /// - Returns: nil for an id that has no path in the control API.
    func call(_ form: [String: String], in language: Language, at now: Instant) -> HTTPRequest? {
        var body: [String: JSONValue] = [:]
        for (name, member) in members {
            guard let text = form[name], !text.isEmpty else { continue }
            // An invalid number is passed on unchanged, and the control API refuses it.
            body[name] =
                switch member {
                case .text: .string(text)
                case .integer: Int64(text).map { .int($0) } ?? .string(text)
                case .flag: text == "true" ? true : text == "false" ? false : .string(text)
                }
        }
        if self == .buy { body["receipt"] = false }
        if self == .notify, body.isEmpty { body["url"] = .null }
        switch (self, Self.localization(form)) {
        case (.createProduct, let texts):
            body["id"] = .string(form["productId"] ?? "")
            body["localizations"] = texts.map { [$0] }
        case (.editProduct, let texts?): body["localization"] = texts
        default: break
        }
        if self == .advance, let period = Self.period(form["advance"]) {
            body = ["to": .string(period.end(from: now).rfc3339)]
        }
        let id = form["id"] ?? ""
        // The path is decoded, so a slash in an id could lead to another route.
        guard !pattern.contains("{id}") || !id.isEmpty && !id.contains("/") else { return nil }
        return HTTPRequest(
            method: method, path: pattern.replacing("{id}", with: id),
            headers: HTTPHeaders([("Accept-Language", language.rawValue)]),
            body: body.isEmpty ? [] : JSONValue.object(body).encodedBytes())
    }

    private static func period(_ text: String?) -> SubscriptionPeriod? {
        switch text {
        case "month": .month
        case "year": .year
        default: nil
        }
    }

    /// The message after a success.
    func success(_ answer: JSONValue, _ localize: Localizer) -> String {
        let number = answer["transactionId"]?.string ?? ""
        switch self {
        case .buy: return Self.sold(answer["outcome"]?.string ?? "", number, localize)
        case .finish: return localize("Transaction \(number) is finished.", "交易 \(number) 已完成（finish）。")
        case .approve: return localize("Transaction \(number) is paid.", "交易 \(number) 已付款。")
        case .decline: return localize("Transaction \(number) was declined.", "交易 \(number) 已被拒绝。")
        case .refund: return localize("Transaction \(number) was refunded.", "交易 \(number) 已退款。")
        case .refundReversal: return localize("The refund of \(number) was reversed.", "交易 \(number) 的退款已撤销。")
        case .consumptionRequest:
            return localize(
                "A refund of \(number) was requested. The decision follows in 12 hours.",
                "已申请退还交易 \(number)，12 小时后决定。")
        case .cancel: return localize("The subscription will not renew.", "订阅不再续订。")
        case .resume: return localize("The subscription will renew again.", "订阅将继续续订。")
        case .billingFailure: return localize("Charges for the subscription will fail.", "此订阅此后的扣款会失败。")
        case .recover: return localize("Charges for the subscription succeed again.", "此订阅的扣款恢复正常。")
        case .upgrade:
            return Self.sold(
                answer["outcome"]?.string ?? "", answer["transaction"]?["transactionId"]?.string ?? "", localize)
        case .consent: return localize("The customer's answer was recorded.", "客户已答复。")
        case .account: return localize("The account was changed.", "账户已更改。")
        case .advance: return localize("The clock was advanced.", "时钟已前进。")
        case .clock: return localize("The clock was set.", "时钟已设定。")
        case .grace: return localize("The billing grace period was set.", "宽限期已设定。")
        case .notify: return localize("The receiver URL was set.", "接收地址已设定。")
        case .createProduct, .editProduct, .submitProduct, .startReview, .approveProduct, .rejectProduct,
            .requestChanges, .removeFromSale, .returnToSale:
            let id = answer["id"]?.string ?? ""
            let state = answer["state"]?.string.flatMap(ProductState.init(rawValue:))?.title(localize) ?? ""
            return localize("\(id): \(state).", "\(id)：\(state)。")
        }
    }

    private static func sold(_ outcome: String, _ number: String, _ localize: Localizer) -> String {
        switch outcome {
        case "purchased": localize("Bought: transaction \(number).", "已购买：交易 \(number)。")
        case "deferred": localize("Transaction \(number) waits for a parent's approval.", "交易 \(number) 在等待家长批准。")
        case "interrupted":
            localize("Transaction \(number) was interrupted. Approve it to complete it.", "交易 \(number) 被中断：批准后即可完成。")
        case "scheduled": localize("The change of plan takes effect at the next renewal.", "套餐将在下次续订时更换。")
        case "cancelled": localize("The customer cancelled. Nothing was charged.", "客户已取消，未扣款。")
        default: localize("The payment failed. Nothing was charged.", "付款失败，未扣款。")
        }
    }
}

/// The message about a form's result. It travels in a cookie, because any site could write it into an address.
struct PageMessage: Sendable {
    let isGood: Bool
    let text: String

    init(isGood: Bool, _ text: String) {
        self.isGood = isGood
        self.text = String(decoding: text.utf8.prefix(1_200), as: UTF8.self)
    }

    init?(cookie: String) {
        let parts = cookie.split(separator: ".", maxSplits: 1)
        guard cookie.utf8.count <= 2_000, parts.count == 2, parts[0] == "good" || parts[0] == "bad",
            let bytes = Base64.decode(String(parts[1]), .url), let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        self.init(isGood: parts[0] == "good", text)
    }

    var cookie: String { "\(isGood ? "good" : "bad").\(Base64.encode(Array(text.utf8), .url))" }
}

extension EmulatorPage {
    /// `POST /emulator/actions/{action}`: performs the action and redirects to the page with its message.
    func perform(_ request: HTTPRequest, _ name: String) async -> HTTPResponse {
        let localize = Localizer(language: language(of: request))
        guard request.isAddressedHere else { return misdirected(localize) }
        guard isFromOwnPage(request) else { return .storePage(403, EmulatorFrame.foreign(localize), localize) }
        let items = (try? PercentEncoding.items(request.body)) ?? []
        let form = Dictionary(items.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        guard let action = PageAction(rawValue: name) else {
            let visit = PageVisit(request: request, localize: localize, message: nil, control: control)
            return .storePage(404, EmulatorFrame.notFound(visit), localize)
        }
        let message = await done(action, form, localize)
        var response = HTTPResponse(status: 303, headers: HTTPHeaders(PageProtection.headers))
        let back = form["to"].flatMap { PageLink(wanted: $0, under: "/emulator") } ?? .store
        response.headers.add("Location", back.text)
        response.headers.add("Cache-Control", "no-store")
        response.setEmulatorCookie(Self.messageCookie, message.cookie, seconds: 60)
        return response
    }

    private func done(_ action: PageAction, _ form: [String: String], _ localize: Localizer) async -> PageMessage {
        let failed = localize("The action failed.", "操作未成功。")
        guard let call = action.call(form, in: localize.language, at: store.now) else {
            return PageMessage(isGood: false, failed)
        }
        let answer = await control.respond(to: call)
        let json = (try? JSONValue(decoding: answer.body)) ?? .null
        guard (200...299).contains(answer.status) else {
            return PageMessage(isGood: false, json["title"]?.string ?? failed)
        }
        return PageMessage(isGood: true, action.success(json, localize))
    }
}
