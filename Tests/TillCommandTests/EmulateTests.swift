import Foundation
import Testing
import TillJSON

@testable import till

@Suite("The arguments of till emulate")
struct EmulateTests {
    private static let storeKitFile = """
        {"identifier": "A", "settings": {"_storefront": "USA", "_locale": "en_US"}, "subscriptionGroups": [],
         "products": [{"productID": "coins", "type": "Consumable", "displayPrice": "0.99"}],
         "version": {"major": 4, "minor": 0}}
        """

    /// Runs the command in this process; the recorder's process stops at once.
    private func emulate(
        _ arguments: [String], language: String = "en"
    ) async -> (code: ExitCode, out: String, error: String) {
        let recorder = Recorder()
        let program = Program(commands: [.emulate], process: recorder.process())
        let code = await program.run(["emulate", "--lang", language] + arguments)
        return (code, recorder.out, recorder.error)
    }

    @Test("a .storekit file is loaded, its ignored members are listed on stderr; stdout stays one JSON document")
    func storeKit() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("Shop.storekit", Self.storeKitFile)
        let ran = await emulate([
            "--products", file, "--pace", "everyMinute", "--grace", "16", "--secret", "s", "--json",
        ])
        #expect(ran.code == .done, "\(ran.error)")
        #expect(try JSONValue(decoding: ran.out)["listening"]?.string?.hasPrefix("http://127.0.0.1:") == true)
        #expect(ran.error.contains("settings._locale"))
    }

    @Test("a list in Till's own form and a storefront are loaded")
    func ownForm() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("products.json", #"{"products": [{"id": "coins", "tier": 1}]}"#)
        let ran = await emulate(["--products", file, "--storefront", "USA", "--data", directory.path + "/store"])
        #expect(ran.code == .done && ran.error.isEmpty, "\(ran.error)")
        let again = await emulate(["--products", file, "--data", directory.path + "/store"])
        #expect(again.code == .done && again.error.contains("already exists"), "\(again.error)")
    }

    @Test("C1: prices in currencies without known price points are loaded with a warning in both languages")
    func uncheckedPrices() async throws {
        let directory = try TemporaryDirectory()
        let prices = #"{"BRA": {"amount": 990, "currency": "BRL"}, "IND": {"amount": 8900, "currency": "INR"}}"#
        let file = try directory.write("products.json", #"{"products": [{"id": "coins", "prices": \#(prices)}]}"#)
        let ran = await emulate(["--products", file])
        // Messages cut long paths, so a long TMPDIR gives no complete path here.
        let warning = "warning: \(shown(file)): no price points are known in BRL, INR"
        #expect(ran.code == .done && ran.error.contains(warning), "\(ran.error)")
        #expect(ran.error.contains("the prices of coins in these currencies are accepted unchecked"), "\(ran.error)")
        let chinese = await emulate(["--products", file], language: "zh")
        #expect(chinese.code == .done && chinese.error.contains("没有 BRL、INR 的价格点资料"), "\(chinese.error)")
        let known = try directory.write("known.json", #"{"products": [{"id": "coins", "tier": 1}]}"#)
        #expect(await emulate(["--products", known]).error.isEmpty)
    }

    @Test("problems are reported before a store is opened")
    func wrong() async throws {
        let directory = try TemporaryDirectory()
        let store = directory.path + "/store"
        let broken = try directory.write("broken.json", "{")
        let odd = try directory.write("odd.storekit", Self.storeKitFile.replacingOccurrences(of: "0.99", with: "cheap"))
        let missing = await emulate(["--products", directory.path + "/none", "--data", store])
        #expect(missing.code == .refused && missing.error.contains("there is no such file"))
        let notJSON = await emulate(["--products", broken, "--data", store])
        #expect(notJSON.code == .refused && notJSON.error.contains("broken.json: is not valid JSON (line 1, column 2)"))
        let price = await emulate(["--products", odd, "--data", store])
        #expect(
            price.code == .refused && price.error.contains("\"products[0].displayPrice\" must be"), "\(price.error)")
        let nowhere = await emulate(["--storefront", "UK", "--data", store])
        #expect(nowhere.code == .wrongUsage && nowhere.error.contains("Did you mean GBR?"), "\(nowhere.error)")
        let pace = await emulate(["--pace", "everyMinut", "--data", store])
        #expect(pace.code == .wrongUsage && pace.error.contains("everyMinute"))
        let grace = await emulate(["--grace", "7", "--data", store])
        #expect(grace.code == .wrongUsage && grace.error.contains("16"), "\(grace.error)")
        #expect(!FileManager.default.fileExists(atPath: store))
    }
}
