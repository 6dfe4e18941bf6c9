import TillAppStore
import TillBilling
import TillHTTP

/// What the store sells.
extension ControlEndpoint {
    func addProducts(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/products", Text(en: "What the store sells.", zh: "商店出售的商品。")
        ) { _ in
            .json(["data": .array(try await store.products().map(ProductText.json))])
        }
        routes.on(
            .put, "/emulator/products", Text(en: "Replaces what the store sells.", zh: "更换商店出售的商品。"),
            body: [
                ControlMember("products", .list([]), required: true, Text(en: "all of them", zh: "全部商品"))
            ]
        ) { call in
            let products = try ProductText.products(call.body)
            try await store.replaceProducts(products)
            return .json(["data": .array(products.map(ProductText.json))])
        }
    }
}
