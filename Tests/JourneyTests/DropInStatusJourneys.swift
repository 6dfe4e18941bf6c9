import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillSQLite
import TillServer
import TillTestDatabases

@Suite("The statuses of POST /verifyReceipt") struct DropInStatusJourneys {
    private func verdict(_ shop: Shop, _ receipt: String) async throws -> JSONValue {
        try await DropInJourneys.verify(shop, receipt).body
    }

    @Test(
        "Malformed is 21002, forged, altered or another app's 21003, a GET 21000: always HTTP 200",
        arguments: Reach.allCases)
    func refusals(_ reach: Reach) async throws {
        try await Shop.open(reach) { shop in
            let payment = try await shop.pay(token: nil)
            let genuine = try #require(Base64.decode(payment.receipt))
            for text in ["", "AAAA", "not base64!", "A_-=", payment.signed, String(payment.receipt.dropLast(400))] {
                #expect(try await verdict(shop, text) == ["status": 21002], "\(text.prefix(20))")
            }
            // The result of decoding `+` in a form.
            let spoilt = payment.receipt.replacingOccurrences(of: "+", with: " ")
            #expect(try await verdict(shop, spoilt) == ["status": 21002])
            let odd: [JSONValue] = [
                [:], ["receipt-data": 5], ["receipt-data": nil], [], "text", ["receipt_data": "AAAA"],
            ]
            for body in odd {
                let reply = try await shop.send(.post, "/verifyReceipt", body, as: .anonymous)
                #expect(reply.status == 200 && reply.body == ["status": 21002])
            }
            for body in ["receipt-data=AAAA", "{", ""] {
                let request = HTTPRequest(method: .post, path: "/verifyReceipt", body: Array(body.utf8))
                let response = try await shop.deliver(request)
                #expect(response.status == 200)
                #expect(try JSONValue(decoding: response.body) == ["status": 21002])
            }
            let forged = try #require(try Issuer.forged(receipt: genuine, at: shop.time.now) { RandomBytes.make(16) })
            #expect(try await verdict(shop, Base64.encode(forged)) == ["status": 21003])
            var altered = genuine
            let product = Array(Shop.points60.utf8)
            let at = try #require(altered.indices.first { altered[$0...].starts(with: product) })
            altered[at + product.count - 2] ^= 1
            #expect(try await verdict(shop, Base64.encode(altered)) == ["status": 21003])
            let other = try await shop.ask(
                .post, "/emulator/purchases", ["bundleId": "com.example.other", "productId": .string(Shop.points60)])
            #expect(try await verdict(shop, other["receipt"].text) == ["status": 21003])
            for method in [HTTPMethod.get, .put, .delete] {
                let reply = try await shop.send(method, "/verifyReceipt", as: .anonymous)
                #expect(reply.status == 200 && reply.body == ["status": 21000])
                #expect(try await shop.send(method, "/verifyReceipt/", as: .anonymous).body == ["status": 21000])
            }
            let wrapped = payment.receipt.enumerated()
                .map { $0.offset % 64 == 63 ? "\($0.element)\r\n" : "\($0.element)" }.joined()
            #expect(try await verdict(shop, wrapped).at("status") == 0)
        }
    }

    @Test(
        "The receipt's own environment counts: 21007 if only production is accepted, 21008 if only sandbox is (T8)")
    func environments() async throws {
        try await Shop.open(environments: [.production]) { shop in
            let payment = try await shop.pay(token: nil)
            #expect(try await verdict(shop, payment.receipt) == ["status": 21007])
        }
        try await Shop.open(environments: [.production, .sandbox]) { shop in
            let payment = try await shop.pay(token: nil)
            #expect(try await verdict(shop, payment.receipt).at("environment") == "Sandbox")
        }
        try await withProduction { store, server in
            let paid = HTTPRequest(
                method: .post, path: "/emulator/purchases",
                body: Array("{\"bundleId\":\"\(Shop.bundleID)\",\"productId\":\"\(Shop.points60)\"}".utf8))
            let receipt = try Reply(await store.respond(to: paid))["receipt"]
            let ask = HTTPRequest(
                method: .post, path: "/verifyReceipt",
                body: Array(JSONValue.object(["receipt-data": receipt]).encoded().utf8))
            #expect(try Reply(await server([.sandbox]).respond(to: ask)).body == ["status": 21008])
            let accepted = try Reply(await server([.production]).respond(to: ask))
            #expect(accepted["status"] == 0 && accepted["environment"] == "Production")
            #expect(accepted["receipt"].at("receipt_type") == "Production")
            #expect(accepted["receipt"].at("adam_id") == 690_661_663)
        }
    }

    /// An emulated store that signs production receipts, and servers that trust it.
    private func withProduction(
        _ body: (Emulator, (Set<TillBilling.StoreEnvironment>) throws -> Server) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = EmulatorConfiguration()
        configuration.environment = .production
        configuration.app = EmulatedApp(bundleID: Shop.bundleID)
        configuration.products = Shop.sampleProducts
        configuration.keys = Shop.receiptKeys
        let time = TestClock()
        let storeFile = try Emulator.openDatabase(path: folder.appendingPathComponent("store.db").path)
        let place = try LedgerPlace(in: folder)
        let ledger = try place.open()
        let store = try await Emulator(
            configuration: configuration, database: storeFile, clock: { time.now }, entropy: RandomBytes.make,
            send: { _, _ async throws(HTTPError) in throw HTTPError(.cannotConnect, "no server listens") })
        try await body(store) { environments in
            var reported = Shop.usualConfiguration
            reported.apple.environments = environments
            reported.apple.roots = [store.issuer.rootCertificate]
            return try Server(
                configuration: reported, database: ledger, clock: { time.now }, entropy: RandomBytes.make)
        }
        await ledger.close()
        await storeFile.close()
        try place.remove()
    }

    @Test("An old-style receipt is 21002, whatever its unsigned lines say: its signed part states no environment (T8)")
    func oldStyle() async throws {
        try await Shop.open { shop async throws in
            let info = Base64.encode(Array("{\n\t\"bid\" = \"\(Shop.bundleID)\";\n}".utf8))
            for line in ["\t\"environment\" = \"Sandbox\";\n", "\t\"environment\" = \"Production\";\n", ""] {
                let text = "{\n\t\"signature\" = \"AAAA\";\n\t\"purchase-info\" = \"\(info)\";\n\(line)}"
                #expect(try await verdict(shop, Base64.encode(Array(text.utf8))) == ["status": 21002])
            }
        }
    }

    @Test("An unreadable ledger gives 21005 instead of omitting a refund")
    func withoutLedger() async throws {
        try await Shop.open { shop in
            let payment = try await shop.pay(token: nil)
            let closed = try await self.closedLedger()
            var configuration = Shop.usualConfiguration
            configuration.apple.roots = [shop.emulator.issuer.rootCertificate]
            let server = try Server(
                configuration: configuration, database: closed, clock: { shop.time.now }, entropy: RandomBytes.make)
            let ask = HTTPRequest(
                method: .post, path: "/verifyReceipt",
                body: Array(JSONValue.object(["receipt-data": .string(payment.receipt)]).encoded().utf8))
            let reply = try Reply(await server.respond(to: ask))
            #expect(reply.status == 200 && reply.body == ["status": 21005])
        }
    }

    private func closedLedger() async throws -> SQLiteDatabase {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("till-\(UUID().uuidString).db").path
        let ledger = try SQLiteDatabase.open(path: path, role: .server, options: .init(.ledger))
        await ledger.close()
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        return ledger
    }

    @Test("A receipt with thousands of purchases is answered in full, in time that grows only with its size")
    func large() async throws {
        try await Shop.open { shop in
            let count = 2_000
            let text = Base64.encode(try Self.receipt(of: count, by: shop.emulator.issuer))
            #expect(text.utf8.count > 512 << 10)
            func time(_ receipt: String) async throws -> Duration {
                let start = ContinuousClock.now
                let reply = try await DropInJourneys.verify(shop, receipt)
                #expect(reply["status"] == 0)
                return ContinuousClock.now - start
            }
            let answer = try await DropInJourneys.verify(shop, text)
            #expect(answer["receipt"].at("in_app").list.count == count)
            #expect(answer["latest_receipt_info"].list.count == count)
            let small = try await time(Base64.encode(try Self.receipt(of: count / 8, by: shop.emulator.issuer)))
            let whole = try await time(text)
            #expect(whole < small * 24, "\(small) for an eighth, \(whole) for all")
        }
    }

    @Test("A body over 8 MiB is refused before it is read")
    func tooLarge() async throws {
        try await Shop.open(.socket) { shop async throws in
            for path in ["/verifyReceipt", "/postPay/ios"] {
                let request = HTTPRequest(
                    method: .post, path: path, headers: HTTPHeaders([("Content-Type", "application/json")]),
                    body: [UInt8](repeating: UInt8(ascii: " "), count: (8 << 20) + 1))
                let status = try? await shop.deliver(request).status
                #expect(status == 413 || status == nil)
                let fits = HTTPRequest(
                    method: .post, path: path, headers: HTTPHeaders([("Content-Type", "application/json")]),
                    body: [UInt8](repeating: UInt8(ascii: " "), count: 8 << 20))
                #expect(try await shop.deliver(fits).status == (path == "/verifyReceipt" ? 200 : 400))
            }
        }
    }

    /// A subscriber's receipt with that many periods, as the emulated store would sign it.
    static func receipt(of count: Int, by issuer: Issuer) throws -> [UInt8] {
        func attribute(_ type: Int64, _ value: [UInt8]) -> [UInt8] {
            DERWriter.sequence(DERWriter.integer(type), DERWriter.integer(1), DERWriter.octetString(value))
        }
        let start = Instant(seconds: 1_700_000_000)
        var attributes = [
            attribute(0, DERWriter.utf8String("ProductionSandbox")), attribute(2, DERWriter.utf8String(Shop.bundleID)),
            attribute(3, DERWriter.utf8String("1")), attribute(12, DERWriter.ia5String("2026-09-21T14:13:20Z")),
        ]
        for index in 0..<count {
            let date = start.adding(seconds: Int64(index) * 3_600)
            attributes.append(
                attribute(
                    17,
                    DERWriter.value(
                        tag: 0x31,
                        [
                            attribute(1701, DERWriter.integer(1)),
                            attribute(1702, DERWriter.utf8String(DropInJourneys.monthly)),
                            attribute(1703, DERWriter.utf8String(String(2_000_000_000_000_000 + index))),
                            attribute(1704, DERWriter.ia5String(AppleTime.receipt(date))),
                            attribute(1705, DERWriter.utf8String("2000000000000000")),
                            attribute(1706, DERWriter.ia5String(AppleTime.receipt(start))),
                            attribute(1707, DERWriter.integer(3)),
                            attribute(1708, DERWriter.ia5String(AppleTime.receipt(date.adding(seconds: 3_600)))),
                        ].flatMap { $0 })))
        }
        return try issuer.receipt(payload: DERWriter.value(tag: 0x31, attributes.flatMap { $0 }))
    }
}
