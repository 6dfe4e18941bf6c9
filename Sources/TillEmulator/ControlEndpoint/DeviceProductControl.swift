import TillAppStore
import TillBilling
import TillHTTP

/// The products an app asks for, as the storefront of the device's account sees them.
extension ControlEndpoint {
    func addDeviceProducts(to routes: inout ControlRoutes) {
        let summary = Text(
            en: "Products as the account's storefront sees them; what is not on sale there is invalid.",
            zh: "账户所在地区看到的商品；该地区未出售的列入 invalid。")
        routes.on(
            .get, "/emulator/devices/{id}/products", summary,
            query: [
                .bundleID,
                ControlMember(
                    "ids", .text(limit: Self.idsLimit), required: true,
                    Text(en: "at most 1,000, with commas between them", zh: "最多 1,000 个，以逗号分隔")),
            ], answer: OfferedProductText.answer
        ) { call in
            let ids = (call.query("ids") ?? "").split(separator: ",").map(String.init)
            return try await offeredProducts(ids, call)
        }
        routes.on(
            .post, "/emulator/devices/{id}/products", summary,
            body: [
                .bundleID,
                ControlMember("ids", .texts, required: true, Text(en: "at most 1,000", zh: "最多 1,000 个")),
            ], answer: OfferedProductText.answer
        ) { call in
            let ids = (call.body.value("ids")?.array ?? []).map(\.string)
            return try await offeredProducts(ids.map { $0 ?? "" }, call)
        }
    }

    /// A thousand ids of a hundred letters, with commas.
    private static let idsLimit = 101_000

    private func offeredProducts(_ ids: [String], _ call: ControlCall) async throws -> HTTPResponse {
        guard ids.count <= OfferedProducts.limit, ids.allSatisfy({ (1...200).contains($0.utf8.count) }) else {
            throw RequestBody.wrong(
                "ids", "at most \(OfferedProducts.limit) texts of 1 to 200 bytes",
                "最多 \(OfferedProducts.limit) 个 1 到 200 字节的文本")
        }
        let offered = try await store.offeredProducts(ids, on: deviceID(call)).answered()
        return .json([
            "storefront": DeviceText.json(storefront: offered.storefront),
            "data": .array(offered.products.map(OfferedProductText.json)),
            "invalid": .array(offered.invalid.map { .string($0) }),
        ])
    }
}
