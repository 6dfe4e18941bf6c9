import TillBilling
import TillCrypto
import TillHTTP
import TillPages

/// The emulated store's web page: `GET /emulator`, and forms that make calls of the control API.
///
/// The store has no password, because it runs on its developer's machine. A web page in the developer's browser could
/// attack it in two ways. If the page's name resolves to this machine, it could read and press everything (DNS
/// rebinding); so the `Host` of a request must be a name of this machine. And it could send a form blindly (CSRF); so a
/// form must come from the store's own pages, which browsers state in `Origin` and `Sec-Fetch-Site`, two headers that
/// no page can change.
struct EmulatorPage: Sendable {
    let store: Store
    let configuration: EmulatorConfiguration
    /// The control API. A form's action is a call of it, so there is only one way to change the store.
    let control: Router

    static let pageSize = 20
    static let formLimit = 16 << 10
    static let languageCookie = "till_emulator_language"
    static let messageCookie = "till_emulator_said"

    func add(to routes: inout ControlRoutes) {
        let language = ControlMember(
            "lang", .choice(["en", "zh"]), LocalizedText(en: "the page's language", zh: "页面语言"))
        let before = ControlMember(
            "before", .integer(1...Int64.max),
            LocalizedText(en: "the number before which older items are listed", zh: "只列出早于此编号的项目"))
        routes.onPage(
            .get, "/emulator",
            LocalizedText(en: "The store's web page: clock, purchases and accounts.", zh: "商店的网页：时钟、购买和账户。"),
            query: [
                ControlMember(
                    "after", .text(limit: 200),
                    LocalizedText(en: "the account name after which the list starts", zh: "从此名称之后的账户开始")),
                before,
                ControlMember(
                    "product", .text(limit: 200), LocalizedText(en: "the product chosen in the form", zh: "表单中选定的商品")),
                language,
            ], page(showStore))
        routes.onPage(
            .get, "/emulator/page/account", LocalizedText(en: "The web page of an account.", zh: "账户的网页。"),
            query: [
                ControlMember(
                    "name", .text(limit: 200), required: true, LocalizedText(en: "the account name", zh: "账户名")),
                before,
                language,
            ], page(showAccount))
        routes.onPage(
            .get, "/emulator/page/products", LocalizedText(en: "The web page of the products.", zh: "商品的网页。"),
            query: [
                ControlMember(
                    "from", .integer(0...Int64.max), LocalizedText(en: "the number of products to skip", zh: "跳过的商品数")),
                language,
            ], page(showProducts))
        routes.onPage(
            .get, "/emulator/page/product", LocalizedText(en: "The web page of a product.", zh: "一件商品的网页。"),
            query: [
                ControlMember(
                    "id", .text(limit: 200), required: true, LocalizedText(en: "the product id", zh: "商品 ID")),
                language,
            ], page(showProduct))
        routes.onPage(
            .get, "/emulator/page/notifications",
            LocalizedText(en: "The web page of sent and pending notifications.", zh: "已发送和待发送通知的网页。"),
            query: [before, language], page(showNotifications))
        routes.onPage(
            .post, "/emulator/actions/{action}",
            LocalizedText(
                en: "The action of a page's form, carried out as a call of the control API.", zh: "网页表单的操作，即对控制接口的一次调用。"
            ),
            bodyLimit: Self.formLimit
        ) { request, parameters in await perform(request, parameters["action"]) }
        routes.onPage(
            .get, "/emulator/page/style.css", LocalizedText(en: "The style sheet of the web pages.", zh: "网页样式表。"),
            asset("text/css; charset=utf-8", "\(Stylesheet.text)\(EmulatorStyle.text)"))
        routes.onPage(
            .get, "/emulator/page/live.js", LocalizedText(en: "The script of the web pages.", zh: "网页脚本。"),
            asset("text/javascript; charset=utf-8", "\(LiveScript.text)"))
    }

    // MARK: Origin and language

    /// A form without a stated origin is refused: clients other than browsers use the control API.
    func isFromOwnPage(_ request: HTTPRequest) -> Bool {
        PageProtection.isFromOwnPage(
            site: request.headers["Sec-Fetch-Site"], origin: request.headers["Origin"], host: request.headers["Host"])
            ?? false
    }

    /// The language chosen with the switch, or by default the browser's.
    func language(of request: HTTPRequest) -> Language {
        chosenLanguage(request) ?? request.emulatorCookie(Self.languageCookie).flatMap(Language.init(rawValue:))
            ?? Language(preference: request.headers["Accept-Language"] ?? "")
    }

    private func chosenLanguage(_ request: HTTPRequest) -> Language? {
        request.method == .post ? nil : request.queryValue("lang").flatMap(Language.init(rawValue:))
    }

    // MARK: Showing

    /// Shows a page if the request's `Host` is a name of this machine.
    private func page(_ show: @escaping @Sendable (PageVisit) async throws -> HTML?) -> Router.Handler {
        { request, _ in
            let localize = Localizer(language: language(of: request))
            guard request.isAddressedHere else { return misdirected(localize) }
            let message = request.emulatorCookie(Self.messageCookie).flatMap(PageMessage.init(cookie:))
            let visit = PageVisit(
                request: request, localize: localize, message: message, control: control, hasFaults: store.faults != nil
            )
            var response: HTTPResponse
            do {
                if let page = try await show(visit) {
                    response = .storePage(200, page, localize)
                } else {
                    response = .storePage(404, EmulatorFrame.notFound(visit), localize)
                }
            } catch {
                let problem = ControlError(fault: error)
                response = .storePage(problem.status, EmulatorFrame.errorPage(problem, visit), localize)
                if problem.isRetryable { response.headers.add("Retry-After", "1") }
            }
            if let chosen = chosenLanguage(request) {
                response.setEmulatorCookie(Self.languageCookie, chosen.rawValue, seconds: 365 * 86_400)
            }
            // A message is shown once.
            if message != nil { response.setEmulatorCookie(Self.messageCookie, nil, seconds: 0) }
            return response
        }
    }

    func misdirected(_ localize: Localizer) -> HTTPResponse {
        .storePage(421, EmulatorFrame.misdirected(localize), localize)
    }

    private func asset(_ type: String, _ text: String) -> Router.Handler {
        let tag = "\"\(Base64.encode(Digest.sha256.hash(text.utf8).prefix(12), .url))\""
        return { request, _ in
            var headers = HTTPHeaders(PageProtection.headers)
            headers.add("ETag", tag)
            headers.add("Cache-Control", "no-cache")
            if request.headers["If-None-Match"] == tag { return HTTPResponse(status: 304, headers: headers) }
            headers.add("Content-Type", type)
            return HTTPResponse(status: 200, headers: headers, body: Array(text.utf8))
        }
    }
}

/// One request for a page.
struct PageVisit: Sendable {
    let request: HTTPRequest
    let localize: Localizer
    /// The result of the form sent before.
    let message: PageMessage?
    let control: Router
    /// Whether fault injection is on.
    var hasFaults = false

    /// The page that a form returns to: the one it is on.
    var here: PageLink { PageLink(path: request.path, query: request.query) }

    /// `?before=`, the row from which lists continue with older ones; an invalid value starts at the newest.
    var before: Int64? { request.queryValue("before").flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil } }

    /// Whether the control API has the call of a form; a button without one is hidden.
    func serves(_ action: PageAction) -> Bool {
        let wanted = Self.shape(action.pattern)
        return control.routes.contains { $0.method == action.method && Self.shape($0.pattern) == wanted }
    }

    /// A pattern without its parameters' names.
    private static func shape(_ pattern: String) -> [String] {
        pattern.split(separator: "/").map { $0.hasPrefix("{") ? "{}" : String($0) }
    }
}

extension HTTPResponse {
    static func storePage(_ status: Int, _ page: HTML, _ localize: Localizer) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: HTTPHeaders(PageProtection.headers(ofPageIn: localize.language.rawValue)),
            body: page.document())
    }

    /// A cookie that scripts can't read and that other sites' requests do not carry; nil deletes it.
    mutating func setEmulatorCookie(_ name: String, _ value: String?, seconds: Int64) {
        headers.add(
            "Set-Cookie", "\(name)=\(value ?? ""); Path=/emulator; HttpOnly; SameSite=Strict; Max-Age=\(seconds)")
    }
}

extension HTTPRequest {
    /// The first cookie with this name (RFC 6265 §5.4).
    func emulatorCookie(_ name: String) -> String? {
        for field in headers.fields where field.name.lowercased() == "cookie" {
            for pair in field.value.split(separator: ";").prefix(50) {
                let trimmed = pair.drop { $0 == " " }
                guard let equals = trimmed.firstIndex(of: "="), trimmed[..<equals] == name else { continue }
                return String(trimmed[trimmed.index(after: equals)...])
            }
        }
        return nil
    }
}
