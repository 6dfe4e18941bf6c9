import Testing
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger
import TillServer

@Suite("The record of a refused proof lists every check") struct RefusalRecordJourneys {
    @Test("An altered proof leaves a record that names the failed check, at both addresses (P9, U9)")
    func kept() async throws {
        try await Shop.open { shop in
            let payment = try await shop.pay(token: nil)
            let altered = String(payment.signed.dropLast(6)) + "AAAAAA"
            #expect(try await shop.submit(altered, as: .user("eve")).status == 422)
            let notice = try await shop.send(
                .post, "/v1/notifications/apple", ["signedPayload": .string(altered)], as: .anonymous)
            #expect((400..<500).contains(notice.status))
            let entries = try await shop.ledger.read { try RefusedProofTable($0).list(claiming: nil, limit: 9) }
            #expect(entries.count == 2)
            let records = try entries.map { try JSONValue(decoding: #require($0.record)) }
            #expect(records.last?["failed"] == "signature" && records.last?["verdict"] == "bad_signature")
            #expect(records.last?["certificates"]?.array?.count == 3)
            #expect(records.first?["failed"] == "kind", "a transaction is no notification")
        }
    }

    @Test("A good proof with wrong data beside it has no failed check to record (O3)")
    func goodProof() async throws {
        try await Shop.open { shop in
            let payment = try await shop.pay(token: nil)
            let reply = try await shop.send(
                .post, "/v1/transactions",
                ["signedTransaction": .string(payment.signed), "productId": .string(Shop.points300)], as: .user("ann"))
            #expect(reply["code"].text == "product_mismatch")
            let entries = try await shop.ledger.read { try RefusedProofTable($0).list(claiming: nil, limit: 9) }
            #expect(entries.count == 1 && entries.first?.record == nil)
        }
    }

    @Test("The dashboard shows the checks to an operator (U9)")
    func shown() async throws {
        let token = "op_0123456789abcdef"
        let change: (inout ServerConfiguration) -> Void = {
            $0.operators = [SecretKey(id: "anna", sha256: Digest.sha256.hash(token.utf8))]
        }
        try await Shop.open(change: change) { shop in
            let payment = try await shop.pay(token: nil)
            _ = try await shop.submit(String(payment.signed.dropLast(6)) + "AAAAAA", as: .user("eve"))
            let headers = HTTPHeaders([
                (name: "Host", value: "127.0.0.1"), (name: "Authorization", value: "Bearer \(token)"),
            ])
            let page = try await shop.deliver(
                HTTPRequest(method: .get, path: "/dashboard/refusals", headers: headers))
            let text = String(decoding: page.body, as: UTF8.self)
            #expect(page.status == 200)
            #expect(text.contains("Every check") && text.contains("✗ ") && text.contains("✓ "))
        }
    }
}
