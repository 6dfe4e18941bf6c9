import TillAppStore
import TillBilling
import TillHTTP

/// A higher price for everybody who subscribes to a product.
extension ControlEndpoint {
    func addPriceIncreases(to routes: inout ControlRoutes) {
        routes.on(
            .post, "/emulator/products/{id}/priceIncrease",
            Text(
                en: "The developer raises the price of a subscription, and its subscribers are told: 256 at once, "
                    + "the others in the seconds after.",
                zh: "开发者提高订阅价格并通知订阅者：先通知 256 位，其余在随后几秒内通知。"),
            body: [
                ControlMember(
                    "price", .object(ControlMember.money), required: true, Text(en: "the new one", zh: "新价格")),
                ControlMember(
                    "storefront", .text(limit: 3), Text(en: "where; the store's own if absent", zh: "地区，省略则为商店默认地区")),
                .bundleID,
                ControlMember(
                    "needsConsent", .bool, Text(en: "by Apple's thresholds if absent", zh: "省略则按 Apple 的界限判断")),
                ControlMember(
                    "effectiveDate", .instant, Text(en: "the next renewal if absent", zh: "生效时间，省略则为下次续期")),
            ],
            answer: ControlAnswer(
                "ProductPriceIncrease",
                [
                    ControlMember("productId", .text(limit: 100), required: true, Text(en: "of what", zh: "商品")),
                    ControlMember("storefront", .text(limit: 3), required: true, Text(en: "where", zh: "地区")),
                    ControlMember(
                        "price", .object(ControlMember.money), required: true, Text(en: "from now on", zh: "新价格")),
                    ControlMember(
                        "told", .integer(0...Int64(ProductPriceIncrease.batch)), required: true,
                        Text(en: "how many subscribers were told", zh: "已通知的订阅者数")),
                    ControlMember(
                        "complete", .bool, required: true, Text(en: "whether that is all of them", zh: "是否已全部通知")),
                ])
        ) { call in
            let raised = try await store.raisePrice(
                of: ProductID(String(call.id.prefix(100))),
                bundleID: call.body.text("bundleId") ?? configuration.app.bundleID,
                storefront: call.body.storefront("storefront") ?? configuration.storefront,
                to: money(call.body, "price"), needsConsent: call.body.bool("needsConsent"),
                effective: call.body.instant("effectiveDate")
            ).answered()
            return .json([
                "productId": .string(raised.productID.text), "storefront": .string(raised.storefront),
                "price": raised.price.json, "told": .int(raised.told), "complete": .bool(raised.isComplete),
            ])
        }
    }
}
