import TillBilling
import TillHTTP
import TillPages

extension EmulatorPage {
    /// `GET /emulator/page/product?id=`.
    func showProduct(_ visit: PageVisit) async throws -> HTML? {
        let id = ProductID(visit.request.queryValue("id") ?? "")
        let found = try await store.ask { connection -> (product: StoreProduct, isFirst: Bool)? in
            guard let product = try ProductTable.find(id, connection) else { return nil }
            let states = try ProductTable.states(connection)
            return (product, !states.contains(where: ProductReview.hasBeenApproved))
        }
        return found.map { ProductPage(visit: visit, product: $0.product, isFirst: $0.isFirst).html }
    }
}

/// One product as App Store Connect shows it: its state, the steps that the state allows, and its metadata.
struct ProductPage {
    let visit: PageVisit
    let product: StoreProduct
    /// Whether no product of the app was ever approved, so that this one has to be submitted with an app version.
    let isFirst: Bool

    private var localize: Localizer { visit.localize }
    private var isHistory: Bool { product.kind == .freeSubscription }

    var html: HTML {
        EmulatorFrame.page(title: product.name, visit, in: .products) {
            element("p", .class("up")) { element("a", .href(.storeProducts)) { localize("← Products", "← 商品") } }
            EmulatorFrame.head(product.name, isLive: false, localize) {
                element("span", .class("pill", product.state.styleClass), Attribute("id", "state")) {
                    product.state.title(localize)
                }
            }
            HTML.facts {
                HTML.fact(localize("Product id", "商品 ID")) { HTML.code(product.id.text, limit: 100) }
                HTML.fact(localize("Type", "类型")) { product.kind.title(localize) }
                HTML.fact(localize("Price", "价格")) { price }
                HTML.fact(localize("Review screenshot", "审核截图")) {
                    product.hasReviewScreenshot ? localize("uploaded", "已上传") : localize("missing", "缺少")
                }
                HTML.fact(localize("Languages", "语言")) {
                    HTML.untrusted(product.localizations.map(\.locale).joined(separator: ", "), limit: 200)
                }
            }
            if isHistory {
                HTML.emptyState(
                    localize(
                        "Apple discontinued free subscriptions. This one stays as it is: it can be neither edited nor "
                            + "bought.", "Apple 已停用免费订阅。此商品保持原样，既不能修改，也不能购买。"))
            } else {
                review
                ProductForm(visit: visit).editing(product)
            }
        }
    }

    /// In China and the USA, which the tiers are quoted in.
    @HTMLBuilder private var price: HTML {
        for storefront in ["CHN", "USA"] {
            if let price = product.prices[storefront] {
                element("span", .class("where")) { storefront }
                " \(price) "
            }
        }
    }

    // MARK: Review

    private var review: HTML {
        let missing = ProductReview.missing(product)
        let isBefore = product.state == .missingMetadata || product.state == .readyToSubmit
        return element("section", .class("card"), Attribute("aria-labelledby", "review-title")) {
            element("h2", Attribute("id", "review-title")) { localize("Review", "审核") }
            if isBefore, !missing.isEmpty {
                element("p", .class("error"), Attribute("id", "missing")) {
                    localize("Missing: ", "缺少：") + missing.map(name(ofMissing:)).joined(separator: localize(", ", "、"))
                }
            } else if product.isWithAppVersion {
                element("p", .class("under")) {
                    localize("Submitted together with an app version.", "已随 App 版本一起提交。")
                }
            }
            let steps = isBefore && !missing.isEmpty ? [] : ProductReview.steps(from: product.state)
            if steps.isEmpty {
                element("p", .class("under")) { localize("This state allows no step.", "此状态下没有可进行的操作。") }
            }
            element("div", .class("actions")) {
                for step in steps { form(step) }
            }
        }
    }

    private func name(ofMissing member: String) -> String {
        switch member {
        case "reviewScreenshot": localize("review screenshot", "审核截图")
        case "localizations": localize("name and description for customers", "面向客户的名称与描述")
        default: localize("price", "价格")
        }
    }

    @HTMLBuilder private func form(_ step: ProductReview.Step) -> HTML {
        let id = product.id.text
        switch step {
        case .submit:
            HTML.button(
                .submitProduct, localize("Submit with an app version", "随 App 版本一起提交"), id, id: id, to: visit.here,
                fields: [("withAppVersion", "true")])
            if !isFirst {
                HTML.button(
                    .submitProduct, localize("Submit alone", "单独提交"), id, id: id, to: visit.here,
                    fields: [("withAppVersion", "false")])
            }
        case .startReview: button(.startReview, localize("Start review", "开始审核"))
        case .approve:
            button(
                .approveProduct,
                product.state == .pendingBinaryApproval
                    ? localize("Approve the app version", "批准 App 版本") : localize("Approve", "批准"))
        case .reject: button(.rejectProduct, localize("Reject", "拒绝"))
        case .requestChanges: button(.requestChanges, localize("Request changes", "要求修改"))
        case .removeFromSale:
            HTML.button(
                .removeFromSale, localize("Remove from sale", "下架"), id, id: id, to: visit.here,
                fields: [("by", "developer")])
            HTML.button(
                .removeFromSale, localize("Removed by Apple", "由 Apple 下架"), id, id: id, to: visit.here,
                fields: [("by", "Apple")])
        case .returnToSale: button(.returnToSale, localize("Return to sale", "重新上架"))
        }
    }

    private func button(_ action: PageAction, _ title: String) -> HTML {
        HTML.button(action, title, product.id.text, id: product.id.text, to: visit.here)
    }
}

/// The forms of a product, as App Store Connect has them: reference name, product id, type, price tier, texts for
/// customers and the screenshot for App Review.
struct ProductForm {
    let visit: PageVisit

    private var localize: Localizer { visit.localize }

    /// Creates a product.
    var creation: HTML {
        card("new-title", localize("New product", "新建商品")) {
            HTML.form(.createProduct, "grid", to: visit.here) {
                field("name", localize("Reference name", "参考名称"), "", limit: "64")
                field("productId", localize("Product id (final)", "商品 ID（不可更改）"), "", limit: "100")
                HTML.choice(
                    "type", localize("Type", "类型"), ProductType.sold.map { ($0.rawValue, $0.title(localize)) },
                    chosen: ProductType.consumable.rawValue)
                tiers(withBlank: false)
                texts
                screenshot(chosen: "false", withBlank: false)
                field(
                    "subscriptionGroup", localize("Subscription group (auto-renewable only)", "订阅组（仅自动续期订阅）"), "",
                    limit: "64")
                HTML.choice(
                    "period", localize("Period (auto-renewable only)", "周期（仅自动续期订阅）"),
                    [("", "–")] + SubscriptionPeriod.allCases.map { ($0.rawValue, $0.title(localize)) }, chosen: "")
                submit(localize("Create", "新建"), "create-product")
            }
        }
    }

    /// Changes a product; empty fields leave it as it is.
    func editing(_ product: StoreProduct) -> HTML {
        card("edit-title", localize("Metadata", "元数据")) {
            element("p", .class("under")) { localize("Empty fields stay as they are.", "留空的项目保持不变。") }
            HTML.form(.editProduct, "grid", to: visit.here) {
                HTML.hidden("id", product.id.text)
                field("name", localize("Reference name", "参考名称"), product.name, limit: "64")
                tiers(withBlank: true)
                texts
                screenshot(chosen: "", withBlank: true)
                submit(localize("Save", "保存"), "save-product")
            }
        }
    }

    private func card(_ id: StaticString, _ title: String, @HTMLBuilder content: () -> HTML) -> HTML {
        element("section", .class("card"), Attribute("aria-labelledby", id)) {
            element("h2", Attribute("id", id)) { title }
            content()
        }
    }

    private func field(_ name: StaticString, _ title: String, _ value: String, limit: StaticString) -> HTML {
        HTML.field(name, title, value, Attribute("type", "text"), Attribute("maxlength", limit))
    }

    private func tiers(withBlank: Bool) -> HTML {
        let tiers = PriceTierTable.latest?.tiers ?? []
        let named = tiers.map { tier in
            let prices = ["CNY", "USD"].compactMap { tier.prices[Currency($0)]?.description }
            return (value: tier.id, title: "\(localize(tier.name)) (\(prices.joined(separator: ", ")))")
        }
        return HTML.choice(
            "tier", localize("Price tier", "价格档"),
            (withBlank ? [(value: "", title: localize("unchanged", "不变"))] : []) + named, chosen: withBlank ? "" : "1")
    }

    private var texts: HTML {
        element("div", .class("wide", "grid")) {
            field("displayName", localize("Display name", "显示名称"), "", limit: "4000")
            field("description", localize("Description", "描述"), "", limit: "4000")
            field("locale", localize("Locale of both", "上述文字的语言"), "zh-Hans", limit: "20")
        }
    }

    private func screenshot(chosen: String, withBlank: Bool) -> HTML {
        HTML.choice(
            "reviewScreenshot", localize("Review screenshot", "审核截图"),
            (withBlank ? [("", localize("unchanged", "不变"))] : []) + [
                ("false", localize("not uploaded", "未上传")), ("true", localize("uploaded", "已上传")),
            ], chosen: chosen)
    }

    private func submit(_ title: String, _ id: StaticString) -> HTML {
        element("div", .class("wide", "buttons")) {
            element("button", Attribute("type", "submit"), Attribute("id", id), .class("primary")) { title }
        }
    }
}
