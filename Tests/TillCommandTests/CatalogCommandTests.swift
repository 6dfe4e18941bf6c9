import Foundation
import Testing
import TillBilling
import TillJSON

@testable import till

@Suite("till catalog check (L2)") struct CatalogCommandTests {
    private static func product(
        _ id: String, type: String = "Consumable", amount: Int = 600, currency: String = "CNY"
    ) -> String {
        """
        {"id": "\(id)", "type": "\(type)", "names": {"en": "\(id)", "zh": "\(id)"},
         "price": {"amount": \(amount), "currency": "\(currency)"}, "points": {"points": 60}}
        """
    }

    private static let approved = #""state": "APPROVED""#
    private static let texts = #""localizations": [{"locale": "en-US", "displayName": "A", "description": "B"}]"#

    private func run(
        catalog: [String], store: [String], _ more: [String] = [], language: String = "en"
    ) async throws -> (code: ExitCode, out: String, error: String) {
        let directory = try TemporaryDirectory()
        let configuration = try directory.write(
            "till.json",
            """
            {"database": "sqlite:a.db", "catalog": {"products": [\(catalog.joined(separator: ","))]},
             "apple": {"bundleId": "com.example", "environments": ["Sandbox"]}}
            """)
        let products = try directory.write("products.json", "{\"products\": [\(store.joined(separator: ","))]}")
        let recorder = Recorder()
        let program = Program(commands: Command.all, process: recorder.process())
        let code = await program.run(
            ["catalog", "check", "--config", configuration, "--products", products, "--lang", language] + more)
        return (code, recorder.out, recorder.error)
    }

    private func findings(_ catalog: [String], _ store: [String]) async throws -> [String] {
        let ran = try await run(catalog: catalog, store: store, ["--json"])
        let list = try #require(try JSONValue(decoding: ran.out)["findings"]?.array, "\(ran.error)")
        #expect(ran.code == (list.allSatisfy { $0["severity"]?.string == "warning" } ? .done : .refused))
        let chinese = try await run(catalog: catalog, store: store, ["--json"], language: "zh")
        let translated = try #require(try JSONValue(decoding: chinese.out)["findings"]?.array, "\(chinese.error)")
        #expect(translated.map { $0["code"] } == list.map { $0["code"] })
        for (finding, translation) in zip(list, translated) {
            for text in ["finding", "cure"] {
                let (english, other) = (finding[text]?.string ?? "", translation[text]?.string ?? "")
                #expect(!english.isEmpty && !english.unicodeScalars.contains(where: Self.isHan), "\(english)")
                #expect(other != english && other.unicodeScalars.contains(where: Self.isHan), "\(other)")
            }
        }
        return list.map { "\($0["code"]?.string ?? "") \($0["productId"]?.string ?? "")" }
    }

    private static func isHan(_ scalar: Unicode.Scalar) -> Bool { (0x4E00...0x9FFF).contains(scalar.value) }

    @Test("A catalogue that agrees with the store has no findings and ends with 0")
    func agrees() async throws {
        let store = [#"{"id": "p60", "tier": 1, \#(Self.approved), \#(Self.texts)}"#]
        #expect(try await findings([Self.product("p60")], store).isEmpty)
        let ran = try await run(catalog: [Self.product("p60")], store: store)
        #expect(ran.code == .done && ran.out.contains("The catalogue and the store agree."))
    }

    @Test("Each fault has a name and a cure in English and Chinese, and the command ends with 1")
    func faults() async throws {
        let sold = #"{"id": "p60", "tier": 1, \#(Self.approved), \#(Self.texts)}"#
        // Missing in the store, and missing in the catalogue.
        #expect(try await findings([Self.product("p60"), Self.product("p6O")], [sold]) == ["unknown_id p6O"])
        let other = #"{"id": "p300", "tier": 5, \#(Self.approved), \#(Self.texts)}"#
        #expect(try await findings([Self.product("p60")], [sold, other]) == ["missing_from_the_catalogue p300"])
        #expect(
            try await findings([Self.product("p60", type: "Non-Consumable")], [sold]) == ["wrong_type p60"])
        // ¥9.9 is on no tier.
        #expect(try await findings([Self.product("p60", amount: 990)], [sold]) == ["price_off_the_table p60"])
        let off = #"{"id": "p60", "prices": {"CHN": {"amount": 990, "currency": "CNY"}}, \#(Self.approved)}"#
        #expect(try await findings([Self.product("p60")], [off]) == ["price_off_the_table p60"])
        #expect(
            try await findings([Self.product("p60"), Self.product("p60")], [sold]) == ["duplicate_id p60"])
        let state = #""state": "MISSING_METADATA", "reviewScreenshot": false"#
        let incomplete = #"{"id": "p1", "tier": 1, \#(state), \#(Self.texts)}"#
        #expect(
            try await findings([Self.product("p60"), Self.product("p1")], [sold, incomplete])
                == ["missing_screenshot p1", "not_returned_by_the_store p1"])
        let first = #"{"id": "p60", "tier": 1, "state": "READY_TO_SUBMIT", \#(Self.texts)}"#
        #expect(try await findings([Self.product("p60")], [first]) == ["first_product_without_app_version p60"])
    }

    @Test("C1: a price in a currency without known price points is accepted with a warning; ¥9.9 stays a finding")
    func uncheckedPrices() async throws {
        let prices =
            #""prices": {"CHN": {"amount": 600, "currency": "CNY"}, "BRA": {"amount": 990, "currency": "BRL"}}"#
        let store = [#"{"id": "p60", \#(prices), \#(Self.approved), \#(Self.texts)}"#]
        #expect(try await findings([Self.product("p60")], store) == ["price_not_checked p60"])
        let inReais = Self.product("p60", amount: 990, currency: "BRL")
        #expect(try await findings([inReais], store) == ["price_not_checked p60", "price_not_checked p60"])
        let english = try await run(catalog: [inReais], store: store)
        #expect(english.code == .done)
        for text in [
            "warning: price_not_checked  p60  p60 costs 9.90 BRL in BRA: no price points are known in BRL",
            "The catalogue lists p60 at 9.90 BRL: no price points are known in BRL", "with the price that App Store",
            "The catalogue and the store agree.",
        ] { #expect(english.out.contains(text), "\(text): \(english.out)") }
        let chinese = try await run(catalog: [inReais], store: store, language: "zh")
        #expect(chinese.code == .done && chinese.out.contains("警告：price_not_checked  p60"))
        #expect(chinese.out.contains("没有 BRL 的价格点资料，未经核对即接受"), "\(chinese.out)")
        // A price that is known to be on no tier is no warning.
        let both = try await run(catalog: [Self.product("p60", amount: 990)], store: store)
        #expect(both.code == .refused && both.out.contains("\nprice_off_the_table  p60"), "\(both.out)")
        #expect(!both.out.contains("agree"))
    }

    @Test("The old free subscription stands on both sides without a finding")
    func history() async throws {
        let sold = #"{"id": "p60", "tier": 1, \#(Self.approved), \#(Self.texts)}"#
        let old = #"{"id": "news", "type": "Free Subscription", "tier": 0, \#(Self.approved), \#(Self.texts)}"#
        let listed = Self.product("news", type: "Free Subscription", amount: 0)
        #expect(try await findings([Self.product("p60"), listed], [sold, old]).isEmpty)
        #expect(try await findings([Self.product("p60")], [sold, old]).isEmpty)
    }

    @Test("Findings are printed in English and Chinese, with their names and cures")
    func languages() async throws {
        let store = [#"{"id": "p60", "tier": 1, \#(Self.approved), \#(Self.texts)}"#]
        let catalog = [Self.product("p6O"), Self.product("p60", type: "Non-Consumable")]
        let english = try await run(catalog: catalog, store: store)
        #expect(english.code == .refused)
        for text in ["unknown_id  p6O", "Did you mean p60?", "wrong_type  p60", "Correct the catalogue."] {
            #expect(english.out.contains(text), "\(text): \(english.out)")
        }
        let chinese = try await run(catalog: catalog, store: store, language: "zh")
        for text in ["unknown_id  p6O", "是否想写 p60？", "请更正商品目录"] {
            #expect(chinese.out.contains(text), "\(text): \(chinese.out)")
        }
    }

    @Test("Without a store, with two, with an unreachable one or another action it says what is missing")
    func usage() async throws {
        let directory = try TemporaryDirectory()
        let configuration = try directory.write(
            "till.json",
            """
            {"database": "sqlite:a.db", "catalog": \(sampleCatalog),
             "apple": {"bundleId": "com.example", "environments": ["Sandbox"]}}
            """)
        func run(_ arguments: [String]) async -> (ExitCode, String) {
            let recorder = Recorder()
            let program = Program(commands: Command.all, process: recorder.process())
            let code = await program.run(["catalog"] + arguments + ["--config", configuration, "--lang", "en"])
            return (code, recorder.error)
        }
        for (arguments, code, text) in [
            (["check"], ExitCode.wrongUsage, "apple.emulator"),
            (["check", "--store", "http://127.0.0.1:9", "--products", "a"], .wrongUsage, "not both"),
            (["chek"], .wrongUsage, "check"),
            (["check", "--store", "http://127.0.0.1:9"], .refused, "can't be reached"),
            (["check", "--products", directory.path + "/none"], .refused, "no such file"),
        ] as [([String], ExitCode, String)] {
            let (found, error) = await run(arguments)
            #expect(found == code && error.contains(text), "\(arguments): \(error)")
        }
    }
}
