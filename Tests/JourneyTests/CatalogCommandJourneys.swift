import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON

/// `till catalog check` as a process, against an emulated store that it asks over a socket.
@Suite("The catalogue against a store's products (L2)") struct CatalogCommandJourneys {
    private static let prefix = Shop.bundleID + "."

    private func withStore(_ journey: (ServerProcess, _ url: String) async throws -> Void) async throws {
        try await ServerProcess.withFiles { files in
            let router = files.emulator.router
            let listener = try Listener(
                configuration: ListenerConfiguration(), bodyLimit: router.bodyLimit(method:path:),
                handler: router.respond(to:))
            func product(_ id: String, _ type: String, _ amount: Int) -> String {
                """
                {"id": "\(Self.prefix + id)", "type": "\(type)", "names": {"en": "\(id)", "zh": "\(id)"},
                 "price": {"amount": \(amount), "currency": "CNY"}, \
                \(type == "Consumable" ? #""points": {"points": 60}"# : #""entitlement": "pro""#)}
                """
            }
            let products = [
                product("points60", "Consumable", 600), product("points300", "Consumable", 3_000),
                product("pro", "Non-Consumable", 9_800), product("lessons", "Consumable", 600),
            ]
            try Data(#"{"products": [\#(products.joined(separator: ","))]}"#.utf8)
                .write(to: files.folder.appendingPathComponent("catalog.json"))
            do {
                try await journey(files, "http://127.0.0.1:\(listener.port)")
            } catch {
                await listener.stop(grace: 1)
                throw error
            }
            await listener.stop(grace: 1)
        }
    }

    /// Puts exactly these products on sale. Ids that were removed before may return.
    private func stock(_ products: [JSONValue], _ files: ServerProcess) async throws {
        let request = HTTPRequest(
            method: .put, path: "/emulator/products", query: [("force", "true")],
            body: Array(JSONValue.object(["products": .array(products)]).encoded().utf8))
        let reply = try Reply(await files.emulator.respond(to: request))
        try #require(reply.status == 200, "\(reply.body)")
    }

    /// A product that the store sells, and changes to it.
    private static func sold(
        _ id: String, _ type: String = "Consumable", tier: Int64, _ changes: [String: JSONValue] = [:]
    ) -> JSONValue {
        let usual: [String: JSONValue] = [
            "id": .string(prefix + id), "type": .string(type), "tier": .int(tier), "state": "APPROVED",
            "localizations": [["locale": "en-US", "displayName": .string(id), "description": "for learners"]],
        ]
        return .object(usual.merging(changes) { $1 })
    }

    /// `code product` of each finding, sorted. The exit code must fit them.
    private func findings(_ files: ServerProcess, _ more: [String]) async throws -> [String] {
        let process = try TillProcess.start(
            ["catalog", "check", "--config", files.configurationFile, "--json", "--lang", "en"] + more)
        let (output, code) = await process.finish()
        try #require(!output.isEmpty, "\(process.complaints)")
        let list = try JSONValue(decoding: output).at("findings").list
        #expect(code == (list.isEmpty ? 0 : 1), "\(process.complaints)")
        return list.map { "\($0.at("code").text) \($0.at("productId").text.replacing(Self.prefix, with: ""))" }.sorted()
    }

    @Test("Each fault of the store is found by its name, mended there, and no longer found; then it ends with 0 (L2)")
    func mended() async throws {
        try await withStore { files, url in
            let state: [String: JSONValue] = ["state": "MISSING_METADATA", "reviewScreenshot": false]
            var store: [String: JSONValue] = [
                "points60": Self.sold("points60", tier: 1, state),
                "pro": Self.sold(
                    "pro", "Non-Consumable", tier: 15, ["prices": ["CHN": ["amount": 9_990, "currency": "CNY"]]]),
                "old": Self.sold("old", tier: 1), "lessons": Self.sold("lessons", tier: 1),
            ]
            try await stock(Array(store.values), files)
            var expected: Set<String> = [
                "missing_screenshot points60", "not_returned_by_the_store points60", "unknown_id points300",
                "price_off_the_table pro", "missing_from_the_catalogue old",
            ]
            #expect(try await findings(files, ["--store", url]) == expected.sorted())
            // The same store, as the configuration names it.
            let apple: [String: JSONValue] = [
                "bundleId": .string(Shop.bundleID), "environments": ["Sandbox"], "roots": ["root.pem"],
                "emulator": .string(url),
            ]
            try files.configure("apple", .object(apple))
            #expect(try await findings(files, []) == expected.sorted())

            let mends: [(product: String, JSONValue?, cured: Set<String>)] = [
                (
                    "points60", Self.sold("points60", tier: 1),
                    ["missing_screenshot points60", "not_returned_by_the_store points60"]
                ),
                ("points300", Self.sold("points300", tier: 5), ["unknown_id points300"]),
                ("pro", Self.sold("pro", "Non-Consumable", tier: 15), ["price_off_the_table pro"]),
                ("old", nil, ["missing_from_the_catalogue old"]),
            ]
            for (product, mended, cured) in mends {
                store[product] = mended
                try await stock(Array(store.values), files)
                expected.subtract(cured)
                #expect(try await findings(files, []) == expected.sorted(), "\(product)")
            }
            #expect(expected.isEmpty)
        }
    }

    @Test("A product of another type and a store that is none are faults too (L2)")
    func otherFaults() async throws {
        try await withStore { files, url in
            let store = [
                Self.sold("points60", tier: 1), Self.sold("points300", tier: 5),
                Self.sold("pro", "Non-Consumable", tier: 15), Self.sold("lessons", "Non-Consumable", tier: 1),
            ]
            try await stock(store, files)
            #expect(try await findings(files, ["--store", url]) == ["wrong_type lessons"])
            let other = try TillProcess.start(
                ["catalog", "check", "--config", files.configurationFile, "--store", url + "/nowhere", "--lang", "en"])
            let (_, code) = await other.finish()
            #expect(code == 1 && other.complaints.contains("is no emulated store"), "\(other.complaints)")
        }
    }
}
