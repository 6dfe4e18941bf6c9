import Testing
import TillBilling
import TillCrypto
import TillJSON
import TillLedger
import TillSQLite

@testable import till

@Suite("till report and till compare") struct ReportCommandTests {
    private static let product = "com.example.learn.points60"

    /// A configuration, and a ledger with two sales of CNY 6 on 2026-09-21.
    private func withLedger(
        smallBusiness: String = "false",
        _ body: (_ directory: TemporaryDirectory, _ server: SQLiteDatabase) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        try directory.write(
            "catalog.json",
            """
            {"products": [{"id": "\(Self.product)", "type": "Consumable", "names": {"en": "60 points", "zh": "60 学点"},
              "price": {"amount": 600, "currency": "CNY"}, "points": {"points": 60}}]}
            """)
        try directory.write(
            "till.json",
            """
            {"database": "sqlite:till.db", "catalog": "catalog.json", "finance": {"smallBusiness": \(smallBusiness)},
             "apple": {"bundleId": "com.example.learn", "environments": ["Sandbox", "Production"], "appAppleId": 1}}
            """)
        let ledger = try SQLiteDatabase.open(path: directory.path + "/till.db", role: .server, options: .init(.ledger))
        try await ledger.write { connection in
            for number in 1...3 {
                let at = Instant(seconds: 1_790_000_000 + Int64(number))
                _ = try TransactionTable(connection).insert(
                    PaidTransaction(
                        id: TransactionID("\(number)"), originalID: TransactionID("\(number)"),
                        productID: ProductID(Self.product), quantity: 1,
                        environment: number == 3 ? .sandbox : .production, token: nil, purchasedAt: at, signedAt: at,
                        revokedAt: nil, isRenewal: false, isFromReceipt: false,
                        price: SignedPrice(milliunits: 6_000, currency: Currency("CNY")),
                        terms: TransactionTerms(type: .consumable, storefront: "CHN")),
                    state: .granted, quarantine: nil, orderRowID: nil, at: at)
            }
        }
        do {
            try await body(directory, ledger)
        } catch {
            await ledger.close()
            throw error
        }
        await ledger.close()
    }

    private func run(
        _ directory: TemporaryDirectory, _ arguments: String...
    ) async -> (code: ExitCode, out: String, error: String) {
        let recorder = Recorder()
        let program = Program(commands: Command.all, process: recorder.process())
        let config = ["--config", directory.path + "/till.json"]
        return (await program.run(arguments + config), recorder.out, recorder.error)
    }

    private static func file(units: Int = 2, sum: String = "8.82", share: String = "4.41") -> String {
        """
        Start Date\tEnd Date\tVendor Identifier\tQuantity\tPartner Share\tExtended Partner Share\t\
        Partner Share Currency\tSales or Return\tCountry Of Sale\tCustomer Price\tCustomer Currency
        08/30/2026\t09/26/2026\t\(product)\t\(units)\t\(share)\t\(sum)\tCNY\tS\tCN\t6.00\tCNY
        Total_Rows\t1
        Total_Amount\t\(sum)
        Total_Units\t\(units)

        """
    }

    @Test("till report reads the ledger beside a running server, for people, programs and spreadsheets (C3)")
    func report() async throws {
        try await withLedger { directory, _ in
            let reported = await run(directory, "report", "--fiscal-year", "2026", "--period", "12")
            #expect(reported.code == .done && reported.error.isEmpty, "\(reported.error)")
            for text in ["FY2026 period 12 (Sep)", "2026-10-29", "12.00", "8.82", "CHN"] {
                #expect(reported.out.contains(text), "\(reported.out)")
            }
            let chinese = await run(directory, "report", "--lang", "zh")
            #expect(chinese.out.contains("2026 财年第 12 期"))
            let json = try JSONValue(decoding: await run(directory, "report", "--json").out)
            let total = json["periods"]?.array?.first?["totals"]?.array?.first
            #expect(json["environment"]?.string == "production" && json["from"]?.string == "2025-09-28")
            #expect(total?["expectedPayment"]?["amount"]?.int == 882 && total?["unitsSold"]?.int == 2)
            let csv = await run(directory, "report", "--from", "2026-09-21", "--to", "2026-09-22", "--csv")
            #expect(
                csv.out.split(separator: "\r\n").count == 2 && csv.out.contains(",CHN,CNY,2,0,12.00,0.24,2.94,8.82,"))
            let sandbox = try JSONValue(
                decoding: await run(directory, "report", "--environment", "sandbox", "--json").out)
            #expect(sandbox["periods"]?.array?.first?["totals"]?.array?.first?["unitsSold"]?.int == 1)
            #expect(await run(directory, "report", "--fiscal-year", "2020").out == "Nothing was sold or refunded.\n")
        }
    }

    @Test("till compare compares Apple's file with the ledger: 0 if all is equal, 1 with the lines if not (C3)")
    func compare() async throws {
        try await withLedger { directory, _ in
            let equal = try directory.write("equal.txt", Self.file())
            let reported = await run(directory, "compare", equal)
            #expect(reported.code == .done && reported.out.contains("equal 1"), "\(reported.out)\(reported.error)")
            let json = try JSONValue(decoding: await run(directory, "compare", "--json", equal).out)
            let comparison = json["comparisons"]?.array?.first
            #expect(comparison?["isEqual"]?.bool == true && comparison?["period"]?["period"]?.int == 12)
            let other = try directory.write("other.txt", Self.file(units: 3, sum: "13.23"))
            let differing = await run(directory, "compare", other)
            #expect(differing.code == .refused && differing.out.contains("units differ"), "\(differing.out)")
            #expect(await run(directory, "compare", other, "--lang", "zh").out.contains("数量不同"))
            let csv = await run(directory, "compare", other, "--csv")
            #expect(csv.out.contains("unitsDiffer,3,2,13.23,8.82,CNY,4.41"), "\(csv.out)")
            // Two files are added up: five units at Apple.
            #expect(await run(directory, "compare", equal, other, "--csv").out.contains("unitsDiffer,5,2,"))
        }
    }

    @Test("An unreadable file is reported with its lines in both languages, and wrong usage as such")
    func unusable() async throws {
        try await withLedger { directory, _ in
            let bad = try directory.write("bad.txt", Self.file(share: "four"))
            let english = await run(directory, "compare", bad)
            #expect(english.code == .refused && english.out.isEmpty)
            #expect(english.error.contains("bad.txt, line 2: four is no amount."), "\(english.error)")
            #expect(await run(directory, "compare", bad, "--lang", "zh").error.contains("第 2 行：“four”不是金额。"))
            #expect(await run(directory, "compare", directory.path + "/none.txt").error.contains("no such file"))
            for arguments in [
                ["compare"], ["report", "--from", "2026-01-01"], ["report", "--period", "13"],
                ["report", "--from", "2026-01-02", "--to", "2026-01-01"], ["report", "--json", "--csv"],
                ["report", "--from", "soon", "--to", "later"], ["report", "--fiscal-year", "1999"],
                ["report", "--from", "2026-01-01", "--to", "2026-01-02", "--period", "1"],
            ] {
                let recorder = Recorder()
                let program = Program(commands: Command.all, process: recorder.process())
                let code = await program.run(arguments + ["--config", directory.path + "/till.json"])
                #expect(code == .wrongUsage && !recorder.error.isEmpty, "\(arguments): \(recorder.error)")
            }
            try directory.write("other.json", try directory.read("till.json").replacing("till.db", with: "none.db"))
            let recorder = Recorder()
            let program = Program(commands: Command.all, process: recorder.process())
            #expect(await program.run(["report", "--config", directory.path + "/other.json"]) == .refused)
            #expect(recorder.error.contains("there is no database"))
        }
    }

    @Test(
        "The Small Business Program is configured: always, never, or from one day to another",
        arguments: [
            ("false", 882), ("true", 1_034), ("\"true\"", 1_034), ("\"2026-09-21\"", 1_034), ("\"2026-09-22\"", 882),
            ("\"2021-01-01/2026-09-21\"", 1_034), ("\"2021-01-01/2026-09-20\"", 882),
        ])
    func smallBusiness(_ setting: String, _ expected: Int64) async throws {
        try await withLedger(smallBusiness: setting) { directory, _ in
            let json = try JSONValue(decoding: await run(directory, "report", "--json").out)
            let total = json["periods"]?.array?.first?["totals"]?.array?.first
            #expect(total?["expectedPayment"]?["amount"]?.int == expected)
        }
    }

    @Test(
        "An invalid program is refused with what is expected",
        arguments: ["1", "\"soon\"", "\"2026-02-30\"", "\"2026-02-02/2026-02-01\"", "\"a/b/c\"", "[]"])
    func wrongProgram(_ setting: String) async throws {
        try await withLedger(smallBusiness: setting) { directory, _ in
            let result = await run(directory, "report")
            #expect(
                result.code == .refused && result.error.contains("finance.smallBusiness: must be true"),
                "\(result.error)"
            )
        }
    }
}
