import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON

/// Prices in a currency of which no price points are known.
@Suite("Prices that no table can check") struct UncheckedPriceJourneys {
    private static let prices: JSONValue = [
        "BRA": ["amount": 990, "currency": "BRL"], "CHN": ["amount": 600, "currency": "CNY"],
    ]

    private func call(_ method: HTTPMethod, _ path: String, _ body: JSONValue, _ files: ServerProcess) async throws
        -> Reply
    {
        try Reply(
            await files.emulator.respond(
                to: HTTPRequest(method: method, path: path, body: Array(body.encoded().utf8))))
    }

    @Test("C1: a price in reais is accepted by server and store, with a warning, and a purchase at it is granted")
    func reais() async throws {
        try await ServerProcess.withFiles { files in
            try Data(
                """
                {"products": [{"id": "\(Shop.points60)", "type": "Consumable",
                  "names": {"en": "60 points", "zh": "60 学点"}, "price": {"amount": 990, "currency": "BRL"},
                  "points": {"points": 60}}]}
                """.utf8
            ).write(to: files.folder.appendingPathComponent("catalog.json"))
            let product: JSONValue = ["id": .string(Shop.points60), "prices": Self.prices]
            let stored = try await call(.put, "/emulator/products", ["products": [product]], files)
            #expect(stored.status == 200, "\(stored)")
            let found = try Reply(
                await files.emulator.respond(to: HTTPRequest(method: .get, path: "/emulator/products/findings")))
            let price = found["data"].array?.filter { $0["code"] == "price_not_checked" } ?? []
            #expect(price.count == 1 && price.first?["severity"] == "warning", "\(found)")

            let (process, port) = try await files.start()
            let order = try await files.send(
                port, .post, "/v1/orders", ["productId": .string(Shop.points60)], as: .user("rio"))
            #expect(order.status == 201 && order["price"]["currency"] == "BRL", "\(order)")
            let paid = try await call(
                .post, "/emulator/purchases",
                [
                    "bundleId": .string(Shop.bundleID), "productId": .string(Shop.points60), "storefront": "BRA",
                    "appAccountToken": order["id"],
                ], files)
            let proof: JSONValue = ["signedTransaction": paid["signedTransaction"]]
            let reply = try await files.send(port, .post, "/v1/transactions", proof, as: .user("rio"))
            #expect(reply["outcome"].text == "granted", "\(reply)")
            process.send(SIGTERM)
            _ = await process.end()
            #expect(
                process.complaints.contains("the catalogue: no price points are known in BRL: the prices of "),
                "\(process.complaints)")
        }
    }
}
