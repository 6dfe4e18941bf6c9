import TillBilling
import TillPages

/// The frame of all pages of the emulated store.
enum EmulatorFrame {
    enum Section: Hashable, CaseIterable {
        case store
        case products
        case notifications

        var link: PageLink {
            switch self {
            case .store: .store
            case .products: .storeProducts
            case .notifications: .storeNotifications
            }
        }

        func title(_ localize: Localizer) -> String {
            switch self {
            case .store: localize("Store", "商店")
            case .products: localize("Products", "商品")
            case .notifications: localize("Notifications", "通知")
            }
        }
    }

    static func page(
        title: String, _ visit: PageVisit, in section: Section?, isLive: Bool = false, @HTMLBuilder content: () -> HTML
    ) -> HTML {
        let localize = visit.localize
        return PageDocument.html(
            title: title, localize, stylesheet: .storeStylesheet, script: isLive ? .storeScript : nil
        ) {
            element("header", .class("bar")) {
                element("a", .class("brand"), .href(.store)) { localize("Till · Emulator", "Till · 模拟商店") }
                element("nav", .label(localize("Pages", "页面"))) {
                    for other in Section.allCases {
                        PageDocument.tab(other.title(localize), other.link, isCurrent: other == section)
                    }
                }
                element("div", .class("who")) {
                    PageDocument.languageSwitch(localize) {
                        PageLink(path: visit.request.path, query: visit.request.query, in: $0)
                    }
                }
            }
            element("main", Attribute("id", "main")) {
                if let message = visit.message { messageBanner(message) }
                if visit.hasFaults {
                    element("p", .class("faults"), Attribute("role", "note")) {
                        localize("Faults are configured: ", "已设定故障：")
                        element("a", .href(.storeFaults)) { localize("show the faults", "查看故障设定") }
                    }
                }
                content()
            }
            element("footer") {
                localize(
                    "All times are UTC. This store is emulated: no real charges are made.",
                    "所有时间均为 UTC。这是模拟商店：不会真的扣款。")
            }
        }
    }

    /// The title of a page, with a mark if it refreshes itself.
    static func head(_ title: String, isLive: Bool, _ localize: Localizer, @HTMLBuilder more: () -> HTML) -> HTML {
        element("div", .class("head")) {
            element("h1") { title }
            more()
            if isLive { HTML.live(localize) }
        }
    }

    private static func messageBanner(_ message: PageMessage) -> HTML {
        message.isGood
            ? element("p", .class("said"), Attribute("role", "status")) { HTML.untrusted(message.text) }
            : element("p", .class("error"), Attribute("role", "alert")) { HTML.untrusted(message.text) }
    }

    // MARK: Message pages

    static func notFound(_ visit: PageVisit) -> HTML {
        let localize = visit.localize
        return page(title: localize("Not found", "没有找到"), visit, in: nil) {
            element("h1") { localize("Not found", "没有找到") }
            element("p") { localize("The store has no item with this name.", "商店里没有这一项。") }
            element("p") { element("a", .href(.store)) { localize("Back to the store", "回到商店") } }
        }
    }

    static func errorPage(_ problem: ControlError, _ visit: PageVisit) -> HTML {
        let localize = visit.localize
        return page(title: localize("Not available", "无法提供"), visit, in: nil) {
            element("h1") { localize("Not available", "无法提供") }
            element("p") { HTML.untrusted(localize(problem.english, problem.chinese)) }
        }
    }

    static func misdirected(_ localize: Localizer) -> HTML {
        bare(
            localize("Wrong host", "主机名不符"),
            localize(
                "This host name is not accepted. Use 127.0.0.1 or localhost.",
                "不接受此主机名。请使用 127.0.0.1 或 localhost。"), localize)
    }

    static func foreign(_ localize: Localizer) -> HTML {
        bare(
            localize("Wrong origin", "来源不符"),
            localize(
                "This form was sent from another site's page. The action was not carried out.",
                "此表单来自其他网站的网页，未执行任何操作。"), localize)
    }

    private static func bare(_ title: String, _ sentence: String, _ localize: Localizer) -> HTML {
        PageDocument.html(title: title, localize, stylesheet: .storeStylesheet, script: nil) {
            element("main", Attribute("id", "main")) {
                element("h1") { title }
                element("p") { sentence }
            }
        }
    }
}

/// Addresses of the emulated store's pages.
extension PageLink {
    static let store = PageLink("/emulator")
    static let storeProducts = PageLink("/emulator/page/products")
    static let storeNotifications = PageLink("/emulator/page/notifications")
    static let storeStylesheet = PageLink("/emulator/page/style.css")
    static let storeScript = PageLink("/emulator/page/live.js")
    static let storeFaults = PageLink("/emulator/faults")

    static func accounts(after name: String) -> PageLink { PageLink("/emulator", [("after", name)]) }
    static func sales(before number: Int64) -> PageLink { PageLink("/emulator", [("before", String(number))]) }
    static func buying(_ product: String) -> PageLink { PageLink("/emulator", [("product", product)]) }

    static func account(_ name: String, before number: Int64? = nil) -> PageLink {
        guard let number else { return PageLink("/emulator/page/account", [("name", name)]) }
        return PageLink("/emulator/page/account", [("name", name), ("before", String(number))])
    }

    static func products(from count: Int64) -> PageLink {
        PageLink("/emulator/page/products", [("from", String(count))])
    }

    static func product(_ id: String) -> PageLink { PageLink("/emulator/page/product", [("id", id)]) }

    static func notifications(before number: Int64) -> PageLink {
        PageLink("/emulator/page/notifications", [("before", String(number))])
    }

    static func action(_ action: PageAction) -> PageLink {
        PageLink("/emulator/actions", last: action.rawValue)
    }
}
