import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillJSON
import TillLedger

@testable import TillServer

@Suite("A shop that moves in asks Apple first") struct AskedFirstJourneys {
    private func unsigned(
        _ id: String, _ user: String, _ product: String = Shop.points60, quantity: Int64? = nil
    ) -> JSONValue {
        var row: [String: JSONValue] = [
            "userId": .string(user), "transactionId": .string(id), "productId": .string(product),
            "purchasedAt": "2026-01-02T03:04:05Z",
        ]
        if let quantity { row["quantity"] = .int(quantity) }
        return .object(row)
    }

    private func bases(_ shop: Shop) async throws -> [String: String] {
        let found = try await shop.ledger.read { connection in
            try connection.query(
                """
                SELECT t.id, b.basis, i.is_signed, p.kind FROM transactions t JOIN imported_purchases i ON \
                i.transaction_row_id = t.row_id JOIN proofs p ON p.transaction_row_id = t.row_id LEFT JOIN \
                ownership_basis b ON b.grant_row_id = t.row_id
                """, []
            ) { row in
                let proof = "\(row.integer("is_signed")) \(row.integer("kind"))"
                return (row.text("id"), "\(row.optionalText("basis") ?? "token") \(proof)")
            }
        }
        return Dictionary(found) { first, _ in first }
    }

    @Test("Rows without a signature rest on what Apple signs, or are refused by name (R7)", arguments: [false, true])
    func asked(_ isRevenueCat: Bool) async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let imports = ImportShop(shop: shop, verify: .first)
            let order = try await shop.openOrder(as: "ben")
            let (right, named) = (try await shop.pay(token: nil), try await shop.pay(token: order))
            let (dear, many) = (try await shop.pay(token: nil), try await shop.pay(token: nil, quantity: 3))
            let refunded = try await shop.pay(token: nil)
            #expect(try await shop.ask(.post, "/emulator/transactions/\(refunded.id)/refund").status == 200)
            func row(_ id: String, _ user: String, _ product: String = Shop.points60) -> JSONValue {
                guard isRevenueCat else { return unsigned(id, user, product) }
                return [
                    "rc_original_app_user_id": .string(user), "store": "app_store", "store_transaction_id": .string(id),
                    "product_identifier": .string(product), "start_time": "2026-01-02 03:04:05.000 UTC",
                    "is_sandbox": "true", "renewal_number": "1",
                ]
            }
            let rows = [
                row(right.id, "ann"), row(named.id, "ann"), row(dear.id, "ann", Shop.points300), row("5", "ann"),
                row(many.id, "ann"), row(refunded.id, "ann"),
            ]
            let expected = ImportShop.Ended(
                imported: 3,
                refused: [2: "names_another_user", 3: "differs_from_signature", 4: "unknown_to_apple"])
            let format = isRevenueCat ? ImportFormat.revenuecat : .till
            #expect(try await imports.check(rows, as: format) == expected)
            #expect(try await bases(shop).isEmpty)
            #expect(try await imports.move(rows, as: format).ended == expected)
            // Sixty, three times sixty, and nothing for what Apple has refunded.
            #expect(try await shop.points(of: "ann") == 240)
            let bases = try await bases(shop)
            #expect(bases[right.id] == "order_id 1 1" && bases[many.id] == "order_id 1 1", "\(bases)")
            #expect(bases.count == 3)
            // The same file again asks about what was refused, and not about what the ledger has.
            let asked = line.asked.count
            #expect(
                try await imports.move(rows, as: format).ended
                    == ImportShop.Ended(unchanged: 3, refused: expected.refused))
            #expect(line.asked.count == asked + 3)
            // Nothing is left to confirm afterwards.
            #expect(try await ReceiptConfirmations(shop.server.ledger).askAll() == 0)
            try await imports.audit()
        }
    }

    @Test("Each purchase of a receipt is asked about, and its signed transaction becomes the proof (R7)")
    func receipts() async throws {
        try await Shop.open(line: AppleProxy()) { shop in
            let imports = ImportShop(shop: shop, verify: .first)
            let payment = try await shop.pay("com.example.learn.pro", token: nil)
            let row: JSONValue = ["userId": "ann", "receipt": .string(payment.receipt)]
            #expect(try await imports.move([row], as: .receipts).ended == ImportShop.Ended(imported: 1))
            #expect(try await bases(shop) == [payment.id: "order_id 1 1"])
        }
    }

    @Test("While Apple does not answer, a row waits and is not recorded; a repetition goes on (R7)")
    func outage() async throws {
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let imports = ImportShop(shop: shop, verify: .first)
            let (asked, signed) = (try await shop.pay(token: nil), try await shop.pay(token: nil))
            let rows = [unsigned(asked.id, "ann"), ImportShop.signed(signed, "ben")]
            line.outage = AppleConnectionError(.timedOut)
            #expect(
                try await imports.check(rows, as: .till) == ImportShop.Ended(imported: 1, waiting: 1))
            #expect(try await imports.move(rows, as: .till).ended == ImportShop.Ended(imported: 1, waiting: 1))
            #expect(try await shop.points(of: "ann") == 0)
            line.outage = nil
            line.answer = AppleResponse(
                status: 429, headers: [.init("Content-Type", "application/json")],
                body: Array(#"{"errorCode":4290000}"#.utf8))
            #expect(try await imports.check(rows, as: .till).waiting == 1)
            line.answer = nil
            shop.time.advance(seconds: 7_200)
            #expect(
                try await imports.move(rows, as: .till).ended == ImportShop.Ended(imported: 1, unchanged: 1))
            #expect(try await shop.points(of: "ann") == 60)
            try await imports.audit()
        }
    }

    @Test("A server without a key refuses to ask first, and asks with one (R7)")
    func server() async throws {
        try await Shop.open { shop in
            let body: JSONValue = ["format": "till", "verify": "first", "rows": [["line": 1, "row": "{}"]]]
            let refused = try await shop.send(.post, "/v1/imports/check", body)
            #expect(refused["code"].text == "no_in_app_purchase_key", "\(refused.body)")
        }
        let line = AppleProxy()
        try await Shop.open(line: line) { shop in
            let text = JSONValue.string(unsigned("5", "ann").encoded())
            let body: JSONValue = ["format": "till", "verify": "first", "rows": [["line": 1, "row": text]]]
            let unknown = try await shop.send(.post, "/v1/imports/check", body)["data"].list
            #expect(unknown.first?.at("code").text == "unknown_to_apple")
            line.outage = AppleConnectionError(.timedOut)
            let waiting = try await shop.send(.post, "/v1/imports/check", body)["data"].list
            #expect(waiting.first?.at("outcome").text == "waiting" && waiting.first?.at("code").text == "outage")
        }
    }
}
