import TillBilling
import TillHTTP
import TillPages

extension EmulatorPage {
    /// `GET /emulator/page/products?from=`.
    func showProducts(_ visit: PageVisit) async throws -> HTML? {
        let from = visit.request.queryValue("from").flatMap { Int64($0) }.map { min(max($0, 0), 1_000_000) } ?? 0
        let size = Self.pageSize
        let products = try await store.ask { try PageQueries.products(from: from, limit: size + 1, $0) }
        return CatalogPage(visit: visit, from: from, products: products).html
    }
}

/// The store's products with their prices.
struct CatalogPage {
    let visit: PageVisit
    let from: Int64
    /// One more than is shown, if there are more.
    let products: [StoreProduct]

    /// The storefronts whose prices are in the table; the App Store has 175.
    private static let priceLimit = 12

    private var localize: Localizer { visit.localize }
    private var size: Int { EmulatorPage.pageSize }

    var html: HTML {
        EmulatorFrame.page(title: localize("Products", "商品"), visit, in: .products) {
            EmulatorFrame.head(localize("Products", "商品"), isLive: false, localize) {}
            if products.isEmpty {
                HTML.emptyState(localize("The store has no products.", "商店没有商品。"))
            } else {
                HTML.table(
                    "catalogue", label: localize("Products", "商品"),
                    columns: [
                        localize("Product", "商品"), localize("Type", "类型"), localize("State", "状态"),
                        localize("Prices", "价格"),
                        localize("Actions", "操作"),
                    ]
                ) {
                    for product in products.prefix(size) { row(product) }
                }
            }
            pager
            ProductForm(visit: visit).creation
        }
    }

    private func row(_ product: StoreProduct) -> HTML {
        HTML.row {
            HTML.cell("product") {
                element("a", .href(.product(product.id.text))) { HTML.untrusted(product.name, limit: 100) }
                element("div", .class("under")) { HTML.code(product.id.text, limit: 100) }
                for offer in product.offers.prefix(8) {
                    element("div", .class("under")) {
                        HTML.offer(
                            StoreTransaction.Offer(
                                kind: offer.kind, identifier: offer.identifier, discount: offer.discount,
                                period: offer.period?.text), localize)
                    }
                }
            }
            HTML.cell("kind") {
                product.kind.title(localize)
                if let terms = product.subscription {
                    element("div", .class("under")) {
                        terms.period.title(localize)
                        localize(", group ", "，订阅组 ")
                        HTML.code(terms.groupID, limit: 64)
                        localize(", level \(terms.level)", "，等级 \(terms.level)")
                    }
                }
                if product.isFamilyShareable {
                    element("div", .class("under")) { localize("Family Sharing", "支持家人共享") }
                }
            }
            HTML.cell("status") {
                element("span", .class("pill", product.state.styleClass)) { product.state.title(localize) }
            }
            HTML.cell("prices") { prices(product) }
            HTML.cell("does") {
                if product.kind != .freeSubscription {
                    element("a", .href(.buying(product.id.text))) { localize("Buy", "购买") }
                }
            }
        }
    }

    private func prices(_ product: StoreProduct) -> HTML {
        let sorted = product.prices.sorted { $0.key < $1.key }
        return element("ul", .class("plain")) {
            for (storefront, price) in sorted.prefix(Self.priceLimit) {
                element("li") {
                    element("span", .class("where")) { HTML.untrusted(storefront, limit: 10) }
                    " "
                    element("span", .class("amount")) { price.description }
                }
            }
            if sorted.count > Self.priceLimit {
                element("li", .class("under")) {
                    localize("and \(sorted.count - Self.priceLimit) more", "另有 \(sorted.count - Self.priceLimit) 个地区")
                }
            }
        }
    }

    private var pager: HTML {
        guard from > 0 || products.count > size else { return .empty }
        return element("nav", .class("pager"), .label(localize("More", "翻页"))) {
            if from > 0 { element("a", .href(.storeProducts)) { localize("First", "回到开头") } }
            if products.count > size {
                element("a", Attribute("rel", "next"), .href(.products(from: from + Int64(size)))) {
                    localize("More products", "更多商品")
                }
            }
        }
    }
}
