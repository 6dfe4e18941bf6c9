import Testing
import TillBilling
import TillJSON

@testable import till

@Suite("till tiers, till proceeds, till calendar")
struct FinanceCommandTests {
    private func run(_ line: String) async -> (code: ExitCode, out: String, error: String) {
        let recorder = Recorder()
        let program = Program(commands: Command.all, process: recorder.process())
        return (await program.run(line.split(separator: " ").map(String.init)), recorder.out, recorder.error)
    }

    private func json(_ line: String) async throws -> JSONValue {
        let result = await run(line + " --json")
        #expect(result.code == .done && result.error.isEmpty, "\(result.error)")
        return try JSONValue(decoding: result.out)
    }

    @Test("It converts price to tier and tier to price, and names the neighbours of ¥9.9, which is on no tier (C1)")
    func tiers() async throws {
        let six = try await json("tiers 6 cny")
        #expect(six["standing"]?.string == "onTiers" && six["isOffered"] == true)
        #expect(six["tiers"]?.array?.map { $0["tier"]?.string } == ["1"])
        let none = try await json("tiers 9.9 CNY")
        #expect(none["standing"]?.string == "onNoTier" && none["isOffered"] == .null)
        #expect(none["tiers"]?.array?.isEmpty == true && none["price"]?["amount"]?.int == 990)
        #expect(none["nearest"]?["below"]?["prices"]?["CNY"]?["amount"]?.int == 800)
        #expect(none["nearest"]?["above"]?["tier"]?.string == "2")
        let stated = await run("tiers 9.9 CNY")
        #expect(
            stated.out.hasPrefix("9.90 CNY is on no tier.") && stated.out.contains("nearest above: Tier 2, 12.00 CNY"))
        #expect(await run("tiers 9.9 CNY --lang zh").out.hasPrefix("9.90 CNY 不在任何档位上"))
        for (price, standing, offered) in [
            ("4.89 USD", "pricePoint", JSONValue.bool(true)), ("4.85 USD", "notOffered", .bool(false)),
            ("5 BRL", "unknownCurrency", .null),
        ] {
            let reported = try await json("tiers \(price)")
            #expect(reported["standing"]?.string == standing && reported["isOffered"] == offered)
        }
        let tier = try await json("tiers --tier ALT1")
        #expect(tier["prices"]?["CNY"]?["amount"]?.int == 800 && tier["name"]?.string == "Alternate Tier 1")
        #expect(tier["proceeds"]?["CNY"]?["amount"]?.int == 549)
        let table = try await json("tiers")
        #expect(table["validFrom"]?.string == "2019-10-03" && table["tiers"]?.array?.count == 95)
        #expect(await run("tiers").out.split(separator: "\n").count == 97)
    }

    @Test("It prints a price's tax, commission and proceeds in minor units (C2)")
    func proceeds() async throws {
        let yuan = try await json("proceeds --price 6 --currency CNY --storefront CHN --at 2026-03-14")
        #expect(yuan["proceeds"]?["amount"]?.int == 412 && yuan["proceeds"]?["currency"]?.string == "CNY")
        #expect(yuan["gross"]?["amount"]?.int == 600 && yuan["tax"]?["amount"]?.int == 12)
        #expect(yuan["commission"]?["amount"]?.int == 176 && yuan["net"]?["amount"]?.int == 588)
        #expect(yuan["taxDivisor"]?.string == "1.0203" && yuan["rate"]?.string == "0.7")
        #expect(yuan["taxUnknown"] == false && yuan["roundedUpPrice"] == .null && yuan["at"]?.string == "2026-03-14")
        for (line, amount, rateClass) in [
            ("--price 6 --currency CNY --storefront CHN --at 2026-03-15", 441, "standard"),
            ("--price 6 --currency CNY --storefront CHN --at 2026-03-15 --small-business", 517, "smallBusiness"),
            (
                "--price 6 --currency CNY --storefront CHN --at 2026-03-14 --type auto-renewable --paid-days 365", 500,
                "afterOneYear"
            ),
            ("--price 6 --currency CNY --storefront CHN --at 2026-03-14T16:00:00Z", 441, "standard"),
            ("--price 6 --currency CNY --storefront CHN --at 2026-03-14T14:59:59Z", 412, "standard"),
            ("--price 0.99 --currency USD --storefront usa --at 2026-03-15", 70, "standard"),
        ] as [(String, Int64, String)] {
            let reported = try await json("proceeds \(line)")
            #expect(
                reported["proceeds"]?["amount"]?.int == amount && reported["rateClass"]?.string == rateClass, "\(line)")
        }
        #expect(try await json("proceeds --price 1 --currency EUR --storefront FRA")["taxUnknown"] == true)
        let words = await run("proceeds --price 6 --currency CNY --storefront CHN --at 2026-03-14 --lang zh")
        #expect(words.out.hasPrefix("2026-03-14 在 CHN 售价 6.00 CNY：开发者得 4.12 CNY\n"))
    }

    @Test("It prints the fiscal months of a year, of the current year, and the one of a day (C3)")
    func calendar() async throws {
        let year = try await json("calendar --year 2026")
        #expect(year["fiscalYear"]?.int == 2026 && year["weeks"]?.int == 52 && year["periods"]?.array?.count == 12)
        #expect(year["start"]?.string == "2025-09-28" && year["end"]?.string == "2026-09-26")
        let march = year["periods"]?.array?[5]
        #expect(march?["label"]?.string == "Mar" && march?["start"]?.string == "2026-03-01")
        #expect(march?["end"]?.string == "2026-03-28" && march?["paymentDate"]?.string == "2026-04-30")
        #expect(march?["period"]?.int == 6 && march?["quarter"]?.int == 2 && march?["weeks"]?.int == 4)
        #expect(try await json("calendar --on 2026-03-28") == march)
        // The tests' clock is at 2026-09-21.
        #expect(try await json("calendar")["fiscalYear"]?.int == 2026)
        let words = await run("calendar --year 2028 --lang zh").out.split(separator: "\n")
        #expect(words.count == 14 && words[0] == "2028 财年，共 53 周")
    }

    @Test(
        "Unparsable arguments are wrong usage, unknown ones are refused; both with the reason",
        arguments: [
            ("tiers 6", 2, "CURRENCY is missing"), ("tiers 6 YUAN", 2, "is no currency"),
            ("tiers x CNY", 2, "PRICE must be"),
            ("tiers 6 CNY --tier 1", 2, "not both"), ("tiers --tier 88", 1, "there is no tier 88"),
            ("tiers 6 CNY 7", 2, "unexpected argument"), ("proceeds", 2, "--price is missing"),
            ("proceeds --price 6", 2, "--currency is missing"),
            ("proceeds --price 6 --currency CNY", 2, "--storefront is missing"),
            ("proceeds --price 6 --currency CNY --storefront CN", 1, "Did you mean CHN?"),
            ("proceeds --price 6 --currency CNY --storefront CHNA", 1, "Did you mean CHN?"),
            ("proceeds --price 6.001 --currency CNY --storefront CHN", 2, "--price must be an amount of CNY"),
            ("proceeds --price 6 --currency CNY --storefront CHN --at soon", 2, "--at must be a day"),
            ("proceeds --price 6 --currency CNY --storefront CHN --paid-days 400", 2, "auto-renewable only"),
            ("proceeds --price 6 --currency CNY --storefront CHN --type auto", 2, "Did you mean auto-renewable?"),
            ("calendar --year 0", 2, "--year must be"), ("calendar --on 2026-02-30", 2, "--on must be a day"),
            ("calendar --on 2026-02-01 --year 2026", 2, "not both"), ("calendar 2026", 2, "unexpected argument"),
        ])
    func refusals(_ line: String, _ code: Int, _ complaint: String) async {
        let result = await run(line)
        #expect(result.code.rawValue == Int32(code) && result.error.contains(complaint), "\(result.error)")
        #expect(result.out.isEmpty)
    }
}
