import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP
import TillPages

/// What the page's forms can do. Each is one call of the control API, of the same name.
enum PageAction: String, CaseIterable, Sendable {
    case buy
    case finish
    case approve
    case decline
    case refund
    case cancel
    case resume
    case billingFailure
    case recover
    case advance
    case notify

    var method: HTTPMethod { self == .notify ? .put : .post }

    /// The control API's pattern; its parameter is the form's field `id`.
    var pattern: String {
        switch self {
        case .buy: "/emulator/purchases"
        case .finish, .approve, .decline, .refund: "/emulator/transactions/{id}/\(rawValue)"
        case .cancel, .resume, .billingFailure, .recover: "/emulator/subscriptions/{id}/\(rawValue)"
        case .advance: "/emulator/clock"
        case .notify: "/emulator/notifications"
        }
    }

    /// The form's fields that become members of the body. One that is empty is left out.
    private var members: [String] {
        switch self {
        case .buy: ["bundleId", "productId", "quantity", "account", "appAccountToken", "outcome"]
        case .finish, .approve, .decline, .refund, .cancel, .resume, .billingFailure, .recover: []
        case .advance: ["advance"]
        case .notify: ["url"]
        }
    }

    /// The call that a form stands for.
    func call(_ form: [String: String], in language: Language) -> HTTPRequest {
        var body: [String: JSONValue] = [:]
        for name in members {
            guard let text = form[name], !text.isEmpty else { continue }
            // What is no number is passed on as it is: the control API knows best what to say about it.
            body[name] = name == "quantity" ? Int64(text).map { .int($0) } ?? .string(text) : .string(text)
        }
        if self == .buy { body["receipt"] = false }
        if self == .notify, body.isEmpty { body["url"] = .null }
        // A path comes decoded; a slash in an id must not lead to another route.
        let id = (form["id"] ?? "").filter { $0 != "/" }
        return HTTPRequest(
            method: method, path: pattern.replacing("{id}", with: id.isEmpty ? "0" : id),
            headers: HTTPHeaders([("Accept-Language", language.rawValue)]),
            body: body.isEmpty ? [] : Array(JSONValue.object(body).encoded().utf8))
    }

    /// What is said when it is done.
    func success(_ answer: JSONValue, _ say: Reader) -> String {
        let number = answer["transactionId"]?.string ?? ""
        switch self {
        case .buy: return Self.sold(answer["outcome"]?.string ?? "", number, say)
        case .finish: return say("Transaction \(number) left the queue.", "交易 \(number) 已离开队列。")
        case .approve: return say("Transaction \(number) is paid.", "交易 \(number) 已付款。")
        case .decline: return say("Transaction \(number) was declined.", "交易 \(number) 已被拒绝。")
        case .refund: return say("Transaction \(number) was refunded.", "交易 \(number) 已退款。")
        case .cancel: return say("The subscription will not renew.", "订阅不再续期。")
        case .resume: return say("The subscription will renew again.", "订阅将继续续期。")
        case .billingFailure: return say("Charges for the subscription fail from now on.", "此订阅的扣款从现在起会失败。")
        case .recover: return say("Charges for the subscription go through again.", "此订阅的扣款恢复正常。")
        case .advance: return say("The clock was advanced.", "时钟已前进。")
        case .notify: return say("Notifications go there from now on.", "此后通知发往该地址。")
        }
    }

    private static func sold(_ outcome: String, _ number: String, _ say: Reader) -> String {
        switch outcome {
        case "purchased": say("Bought: transaction \(number).", "已购买：交易 \(number)。")
        case "deferred": say("Transaction \(number) waits for a parent.", "交易 \(number) 在等待家长批准。")
        case "interrupted":
            say("Transaction \(number) was interrupted: approve it to let it go through.", "交易 \(number) 被中断：批准后即可完成。")
        case "scheduled": say("The change of plan takes effect at the next renewal.", "套餐变更将在下次续期时生效。")
        case "cancelled": say("The customer cancelled. Nothing was charged.", "顾客已取消，未扣款。")
        default: say("The payment failed. Nothing was charged.", "付款失败，未扣款。")
        }
    }
}

/// One sentence about what came of a form. It travels in a cookie, and not in an address, where anybody could write it.
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
    /// `POST /emulator/actions/{action}`: does it, and leads back to the page with what came of it.
    func act(_ request: HTTPRequest, _ name: String) async -> HTTPResponse {
        let say = Reader(language: language(of: request))
        guard request.isAddressedHere else { return misdirected(say) }
        guard isFromOwnPage(request) else { return .storePage(403, EmulatorFrame.foreign(say), say) }
        let items = (try? PercentEncoding.items(request.body)) ?? []
        let form = Dictionary(items.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        guard let action = PageAction(rawValue: name) else {
            let visit = PageVisit(request: request, say: say, message: nil, control: control)
            return .storePage(404, EmulatorFrame.nothing(visit), say)
        }
        let answer = await control.respond(to: action.call(form, in: say.language))
        let json = (try? JSONValue(decoding: answer.body)) ?? .null
        let message =
            (200...299).contains(answer.status)
            ? PageMessage(isGood: true, action.success(json, say))
            : PageMessage(isGood: false, json["title"]?.string ?? say("That did not work.", "操作未成功。"))
        var response = HTTPResponse(status: 303, headers: HTTPHeaders(PageProtection.headers))
        let back = form["to"].flatMap { PageLink(wanted: $0, under: "/emulator") } ?? .store
        response.headers.add("Location", back.text)
        response.headers.add("Cache-Control", "no-store")
        response.setEmulatorCookie(Self.messageCookie, message.cookie, seconds: 60)
        return response
    }
}
