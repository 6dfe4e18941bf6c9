import Testing
import TillAppStore
import TillBilling
import TillJSON

@testable import till

@Suite("till convert")
struct ConvertTests {
    private func run(_ arguments: String...) async -> (code: ExitCode, out: String, error: String) {
        let recorder = Recorder()
        let program = Program(commands: Command.all, process: recorder.process())
        return (await program.run(["convert"] + arguments), recorder.out, recorder.error)
    }

    private func json(_ arguments: String...) async throws -> JSONValue {
        let recorder = Recorder()
        let program = Program(commands: Command.all, process: recorder.process())
        #expect(await program.run(["convert", "--json"] + arguments) == .done, "\(recorder.error)")
        return try JSONValue(decoding: recorder.out)
    }

    @Test("Plans of several devices are converted together, with the sample plans and no server (C4, C5, C6)")
    func conversion() async throws {
        let stated = try await json(
            "--balance-of", "basic_annual:29.99:2026-01-01:camera 1", "--balance-of",
            "basic_annual:29.99:2025-12-27T00:00:00Z:aa:bb:cc", "--balance-of", "basic_annual:29.99:1758585599",
            "--to", "premium_monthly", "--at", "2026-01-01T00:00:00Z")
        #expect(stated["seconds"]?.int == 30_163_145 && stated["days"]?.int == 349)
        #expect(stated["balance"]?["exact"]?.string == "256522461001/31536000")
        #expect(stated["expiresAt"]?.string == "2027-01-15T02:39:05.000Z")
        #expect(stated["change"]?.string == "upgrade")
        let current = stated["current"]?.array ?? []
        #expect(current.map { $0["deviceId"]?.string } == ["camera 1", "aa:bb:cc", nil])
        #expect(current.map { $0["startsAt"]?.string?.prefix(10) } == ["2026-01-01", "2025-12-27", "2025-09-22"])
    }

    @Test("It prints both languages, and an expired plan is worth nothing (C6)")
    func languages() async throws {
        let arguments = ["--balance-of", "basic_monthly:2.99:2026-01-01", "--to", "premium_monthly", "--at"]
        let english = await run(arguments[0], arguments[1], arguments[2], arguments[3], "--at", "2026-01-16")
        #expect(english.code == .done && english.error.isEmpty)
        #expect(english.out.hasPrefix("Basic Monthly: 2.99 USD × 15 d ÷ 30 d = 1.495 USD\nBalance = 1.495 USD\n"))
        #expect(english.out.contains("until 2026-02-21T09:59:30.000Z\n"))
        let chinese = await run(
            arguments[0], arguments[1], arguments[2], arguments[3], "--at", "2026-01-16", "--lang", "zh")
        #expect(chinese.out.hasPrefix("基础版月付：2.99 USD × 15 天 ÷ 30 天 = 1.495 USD\n余额 = 1.495 USD\n"))
        let late = try await json(arguments[0], arguments[1], "--to", "premium_monthly", "--at", "2026-03-01")
        #expect(late["seconds"]?.int == 0 && late["current"]?.array?.first?["remainingSeconds"]?.int == 0)
    }

    @Test("Plans are read from a given catalogue, and an invalid one is refused with the reason")
    func catalogue() async throws {
        let directory = try TemporaryDirectory()
        let plan = "{\"id\": \"week\", \"length\": \"P1W\"}"
        func product(_ plan: String) -> String {
            """
            {"products": [{"id": "com.example.week", "type": "Consumable", "names": {"en": "Week", "zh": "周"}, \
            "price": {"amount": 700, "currency": "CNY"}, "plan": \(plan)}]}
            """
        }
        let file = try directory.write("catalog.json", product(plan))
        let stated = try await json(
            "--catalog", file, "--balance-of", "week:7:2026-01-01", "--to", "com.example.week", "--at", "2026-01-02")
        #expect(stated["seconds"]?.int == 6 * 86_400 && stated["change"]?.string == "extend")
        for (plan, complaint) in [
            ("{\"id\": \"week\", \"length\": \"P1X\"}", "plan.length: must be a plan length such as P1M"),
            ("{\"id\": \"week\", \"lenght\": \"P1W\"}", "there is no such key. Did you mean length?"),
            ("{\"id\": \"we ek\", \"length\": \"P1W\"}", "The plan of com.example.week is not usable"), ("7", "plan"),
        ] {
            let wrong = try directory.write("wrong.json", product(plan))
            let result = await run("--catalog", wrong, "--to", "week")
            #expect(result.code == .refused && result.error.contains(complaint), "\(result.error)")
        }
        #expect(await run("--catalog", "/nowhere", "--to", "week").code == .refused)
    }

    @Test(
        "Unparsable arguments are wrong usage, impossible ones are refused; both with the reason",
        arguments: [
            ([], 2, "--to is missing"), (["--to", "premium_monthly", "--at", "soon"], 2, "--at must be a time"),
            (["--to", "premium_monthly", "--at", "2026-02-30"], 2, "--at must be a time"),
            (["--to", "premium_monthly", "--at", "-1"], 2, "--at"),
            (["--to", "premium_monthy"], 1, "Did you mean premium_monthly?"),
            (["--to", "zzzzzzzz"], 1, "known: basic_monthly, basic_annual"),
            (["--to", "premium_monthly", "--balance-of", "basic_monthly:2.99"], 2, "PLAN:PRICE:PAID_AT"),
            (["--to", "premium_monthly", "--balance-of", "basic_monthly:2.999:2026-01-01"], 2, "a price in USD"),
            (["--to", "premium_monthly", "--balance-of", "basic_monthly:-1:2026-01-01"], 2, "a price in USD"),
            (["--to", "premium_monthly", "--balance-of", "basic_monthly:1:never:cam"], 2, "a time like"),
            (["--to", "premium_monthly", "--balance-of", "x:1:2026-01-01"], 1, "there is no plan x"),
            (["--to", "basic_monthly_auto"], 1, "there is no plan"),
            (
                ["--to", "premium_monthly", "--at", "2026-01-01", "--balance-of", "basic_monthly:1:2026-01-02"], 1,
                "after the purchase"
            ),
            (["--to", "premium_monthly", "--quantity", "11"], 2, "--quantity"),
        ] as [([String], Int32, String)])
    func unusable(_ arguments: [String], _ code: Int32, _ reason: String) async {
        let recorder = Recorder()
        let result = await Program(commands: Command.all, process: recorder.process()).run(["convert"] + arguments)
        #expect(result.rawValue == code && recorder.out.isEmpty)
        #expect(recorder.error.contains(reason), "\(recorder.error)")
    }

    @Test("till init can start with the eight products of the plans (C4)")
    func sample() async throws {
        let directory = try TemporaryDirectory()
        let recorder = Recorder()
        let program = Program(commands: Command.all, process: recorder.process())
        #expect(await program.run(["init", directory.path, "--sample", "plans"]) == .done)
        let configuration = try Configuration.load(file: directory.path + "/till.json")
        #expect(configuration.apple.bundleID == "com.example.cloud" && configuration.catalog.findings.isEmpty)
        let products = configuration.catalog.products
        #expect(products.map(\.price.amount) == [299, 2_999, 699, 6_999, 299, 2_999, 699, 6_999])
        #expect(products.filter { $0.type == .autoRenewable }.count == 4)
        #expect(products.allSatisfy { $0.id.text.hasPrefix("com.example.cloud.") && $0.plan != nil })
    }
}

@Suite("The published schema of the catalogue")
struct CatalogSchemaTests {
    @Test("it has exactly the parser's keys, and allows no others")
    func sameKeys() throws {
        let schema = try publishedSchema()["$defs"]
        for (name, keys) in [
            ("catalog", ["products"]), ("product", ConfigurationReader.productNames),
            ("plan", ConfigurationReader.planNames),
        ] {
            let object = schema?[name]
            #expect(Set(object?["properties"]?.object?.keys.map { $0 } ?? []) == Set(keys), "\(name)")
            #expect(object?["additionalProperties"] == false)
        }
        let types = schema?["product"]?["properties"]?["type"]?["enum"]?.array?.compactMap(\.string)
        #expect(types == ProductType.allCases.map(\.rawValue))
    }
}
