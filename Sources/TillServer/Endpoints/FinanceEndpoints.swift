import TillAPI
import TillAppStore
import TillBilling
import TillJSON
import TillLedger

/// The proceeds that Apple owes, Apple's reports, and the rules behind both.
extension OpenAPI {
    static let financeEndpoints: [Endpoint] = [
        Endpoint(
            method: .get, path: Paths.financeReport, id: "readFinanceReport", tag: .finance,
            action: Server.readFinanceReport, summary: "Say what Apple owes for each fiscal period",
            description: """
                Computed from what the ledger's transactions cost, by product, storefront and currency: the price \
                without the storefront's tax, split by the rates of the day of the sale. A refund lowers the period in \
                which it happens, at the rates of its sale. Whatever was paid counts, also what is in quarantine. What \
                Apple gives back for an upgraded subscription no interface shows; Apple's own report does. One report \
                is made at a time.
                """,
            caller: .backend,
            parameters: [
                .query("from", .day("`2026-03-15`."), "The first day, instead of a fiscal year."),
                .query("to", .day("`2026-03-15`."), "The last day, at most ten years after the first."), fiscalYear,
                period, environment,
                .header("Accept", "`text/csv` for comma-separated text: a line for each row."),
            ],
            answers: [.ok("The report.", "FinanceReport").or("text/csv")], refusals: [.tooManyRequests]),
        Endpoint(
            method: .post, path: Paths.appleReports, id: "importAppleReport", tag: .finance,
            action: Server.importAppleReport, summary: "Import a financial report of Apple's",
            description: """
                The tab-separated text as App Store Connect gives it, unpacked. All of it is kept or, if a line can't \
                be read, nothing. The same text again changes nothing. Of two reports that tell of one country and \
                period the one that was imported later counts.
                """,
            caller: .backend,
            parameters: [
                .query("name", .name("What to call it.", 255), "The file's name, for people.")
            ],
            // The digest of the text already makes a repetition the same import.
            body: Endpoint.Request(body: "AppleReportText", type: "text/tab-separated-values"),
            bodyLimit: Ledger.appleReportLimit, isRepeatable: false,
            answers: [.created("Kept.", "ImportReply"), .ok("It was here already.", "ImportReply")],
            refusals: [.reportUnusable]),
        Endpoint(
            method: .get, path: Paths.appleReports, id: "listAppleReports", tag: .finance,
            action: Server.listAppleReports, summary: "List the reports of Apple's that were imported",
            caller: .backend, parameters: [.limit, .cursor], answers: [.ok("A page of them.", "AppleReportPage")]),
        Endpoint(
            method: .get, path: Paths.reportComparison, id: "compareAppleReports", tag: .finance,
            action: Server.compareAppleReports,
            summary: "Hold Apple's reports of a period against the ledger, line by line", caller: .backend,
            parameters: [fiscalYear, period, environment], answers: [.ok("Every line of either side.", "Comparison")],
            refusals: [.tooManyRequests]),
        Endpoint(
            method: .get, path: Paths.fiscalCalendar, id: "readFiscalCalendar", tag: .finance,
            action: Server.readFiscalCalendar, summary: "Read a year of Apple's fiscal calendar", caller: .backend,
            parameters: [
                .query("year", .integer("The fiscal year.", 2_008...2_100), "The present one if absent.")
            ],
            answers: [.ok("Its twelve months.", "FiscalCalendar")]),
        Endpoint(
            method: .get, path: Paths.priceTiers, id: "readPriceTiers", tag: .finance, action: Server.readPriceTiers,
            summary: "Read Apple's classic price tiers, or those that fit a price", caller: .backend,
            parameters: [
                .query("tier", "`0` to `87`, `A`, `B`, `alt1` to `alt5`.", "Only this one."),
                .query("price", "A decimal like `6.00`.", "Only those at this price."),
                .query("currency", "ISO 4217.", "Of `price`."),
            ],
            answers: [.ok("The tiers.", "Tiers")], refusals: [.notFound]),
        Endpoint(
            method: .get, path: Paths.proceeds, id: "readProceeds", tag: .finance, action: Server.readProceeds,
            summary: "Say where the price of one unit goes",
            description: "Price ÷ tax divisor × rate, exact but for one rounding to the minor unit, a half up.",
            caller: .backend,
            parameters: [
                .query("price", "A decimal like `6.00`.", "What the customer pays."),
                .query("currency", "ISO 4217.", "Of the price."),
                .query("storefront", "ISO 3166-1, two letters or three.", "Where it is sold."),
                .query("at", .day("`2026-03-15`."), "The day of the sale; today if absent."),
                .query(
                    "type", .words("What is sold.", ProductType.words),
                    "Only auto-renewables have a better rate after a year."),
                .query("paidDays", .integer("0 if absent.", 0...36_525), "Of paid service before this."),
                .query(
                    "smallBusiness", schema: ["type": "boolean"],
                    "In the Small Business Program; as configured if absent."),
            ],
            answers: [.ok("The parts.", "Proceeds")]),
    ]

    private static let fiscalYear = Endpoint.Parameter.query(
        "fiscalYear", .integer("Apple's: 2026 began on 2025-09-28.", 2_008...2_100),
        "The present one if neither this nor `from` and `to` are given.")
    private static let period = Endpoint.Parameter.query(
        "period", .integer("1 is October.", 1...12), "A month of that fiscal year; all if absent.")
    private static let environment = Endpoint.Parameter.query(
        "environment", schema: ["type": "string", "enum": ["production", "sandbox"]],
        "Production if the server accepts it.")

    static let financeBodies: BodyTable = [
        Body("FinanceReport", FinanceReportReply.self, "What Apple owes."): [
            "environment": .environment("Whose purchases."), "from": .day("The first day."),
            "to": .day("The last day."), "periods": "Those in which something was sold or refunded, oldest first.",
            "unpriced": "What is in none of them, because Apple signed no price: receipts have none.",
            "unusable": "Sales and refunds too large for any sum; there should be none.",
        ],
        Body("FinancePeriod", FinancePeriodReply.self, "One month of Apple's fiscal calendar."): [
            "fiscalYear": "2026 began on 2025-09-28.", "period": .integer("1 is October.", 1...12), "label": "`Oct`.",
            "start": .day("A Sunday."), "end": .day("A Saturday."),
            "paymentDate": .day("When Apple is expected to pay: 33 days after the end."),
            "isWhole": "Whether all of its days were asked for.", "rows": "By product, storefront and currency.",
            "totals": "All rows of a currency.",
        ],
        Body("FinanceSplit", FinanceSplitReply.self, "Where money went: gross = tax + commission + proceeds."): [:],
        Body("FinanceRow", FinanceRowReply.self, "A product in a storefront."): [
            "productId": "The product.", "storefront": "ISO 3166-1 alpha-3; absent where Apple did not say.",
            "currency": "ISO 4217.", "unitsSold": "Units.",
            "unitsRefunded": "Units of refunded transactions, also of a part.",
            "isTaxUnknown": "Whether the tax is unknown and was taken for nothing.",
        ],
        Body("FinanceTotal", FinanceTotalReply.self, "All that a period comes to in one currency."): [
            "currency": "ISO 4217.", "unitsSold": "Units.", "unitsRefunded": "Units.",
            "isTaxUnknown": "Whether the tax of a row is unknown.",
        ],
        Body("Unpriced", UnpricedReply.self, "Sales and refunds without a price."): [
            "productId": "The product.", "transactions": "How many.",
        ],
        Body("AppleReportText", "Tab-separated text, UTF-8.", schema: ["type": "string"]): [:],
        .page("AppleReportPage", of: AppleReportReply.self): [:],
        Body("AppleReport", AppleReportReply.self, "A report that was imported."): [
            "sha256": "Of the text, hexadecimal.", "name": "For people.", "importedAt": "When.",
            "importedBy": "By whom.", "start": .day("The first day its lines tell of."), "end": .day("The last one."),
            "lines": "How many.",
        ],
        Body("ImportReply", ImportReply.self, "What was kept."): ["remarks": "What is odd; every line was read."],
        Body("ReportFinding", ReportFindingReply.self, "Something about a line."): [
            "code": .words("Stable. More may come.", FinancialReportDefect.self),
            "line": "In the file, from 1; absent for what is about all of it.",
        ],
        Body("Comparison", ComparisonReply.self, "Apple's reports of a period beside the ledger."): [
            "environment": .environment("Whose purchases."), "reports": "Those that tell of it, the newest first.",
            "isEqual": "Whether there are reports, and no line differs.", "differences": "How many lines differ.",
            "lines": "Every line of either side.", "totals": "All lines of a currency.",
        ],
        Body(
            "ComparisonLine", ComparisonLineReply.self, "A product at a price in a country, sales and refunds apart."
        ): [
            "verdict": .words("How the sides stand to each other.", ReportComparison.Verdict.self),
            "productId": "The product.", "country": "ISO 3166-1 alpha-2; absent where nobody said.",
            "kind": .words("Which.", ["sale", "refund"]),
        ],
        Body("ComparisonSide", ComparisonSideReply.self, "One side of a line."): ["units": "Units."],
        Body("ComparisonTotal", ComparisonTotalReply.self, "All lines of a currency, refunds subtracted."): [
            "currency": "ISO 4217."
        ],
        Body("FiscalCalendar", FiscalCalendarReply.self, "A fiscal year."): [
            "fiscalYear": "2026 began on 2025-09-28.", "weeks": .integer("52 or 53.", 52...53),
            "start": .day("The first day."), "end": .day("The last day."), "periods": "Its twelve months.",
        ],
        Body("FiscalPeriod", FiscalPeriodReply.self, "A month of it."): [
            "fiscalYear": "2026 began on 2025-09-28.", "period": .integer("1 is October.", 1...12), "label": "`Oct`.",
            "quarter": .integer("Of the fiscal year.", 1...4), "weeks": .integer("Four or five.", 4...5),
            "start": .day("A Sunday."), "end": .day("A Saturday."),
            "paymentDate": .day("33 days after the end, a Thursday."),
        ],
        Body("Tiers", TiersReply.self, "Tiers of the classic table."): [
            "validFrom": .day("The day from which the table held."), "tiers": "All, or those that fit.",
            "standing": .words("What is known of the price asked for.", TiersReply.standings),
            "isOffered": "By App Store Connect; absent if nobody knows.",
        ],
        Body("NearestTiers", NearestTiersReply.self, "The tiers on both sides of a price."): [:],
        Body("Tier", TierReply.self, "A tier."): [
            "tier": "`0` to `87`, `A`, `B`, `alt1` to `alt5`.", "name": "In the language of `Accept-Language`.",
            "prices": "In each currency of the table.", "proceeds": "At 70 %, where the table says so.",
        ],
        Body("Proceeds", ProceedsReply.self, "Where a price goes: gross = tax + net, net = commission + proceeds."): [
            "storefront": "ISO 3166-1 alpha-3.", "at": .day("The day of the sale."),
            "type": "As Apple writes it: `Consumable`.", "taxDivisor": "Price ÷ divisor is without tax: `1.0203`.",
            "taxUnknown": "Whether the tax is unknown and was taken for nothing.",
            "rate": "The developer's part: `0.7`.", "rateClass": .words("Why that rate.", RateClass.self),
        ],
    ]

    static let financeExamples: [String: JSONValue] = [
        "FinanceReport": [
            "environment": "production", "from": "2025-09-28", "to": "2025-11-01",
            "periods": [
                [
                    "fiscalYear": 2_026, "period": 1, "label": "Oct", "start": "2025-09-28", "end": "2025-11-01",
                    "paymentDate": "2025-12-04", "isWhole": true,
                    "rows": [
                        [
                            "productId": "com.example.learn.points60", "storefront": "CHN", "currency": "CNY",
                            "unitsSold": 10, "unitsRefunded": 1, "sales": split(6_000, 120, 1_760, 4_120),
                            "refunds": split(600, 12, 176, 412), "netProceeds": money(3_708), "isTaxUnknown": false,
                        ]
                    ],
                    "totals": [
                        [
                            "currency": "CNY", "unitsSold": 10, "unitsRefunded": 1,
                            "sales": split(6_000, 120, 1_760, 4_120), "refunds": split(600, 12, 176, 412),
                            "expectedPayment": money(3_708), "isTaxUnknown": false,
                        ]
                    ],
                ]
            ],
            "unpriced": [["productId": "com.example.learn.points300", "transactions": 2]], "unusable": 0,
        ],
        "Proceeds": [
            "price": money(600), "storefront": "CHN", "at": "2026-01-16", "type": "Consumable", "taxDivisor": "1.0203",
            "taxUnknown": false, "rate": "0.7", "rateClass": "standard", "gross": money(600), "tax": money(12),
            "net": money(588), "commission": money(176), "proceeds": money(412),
        ],
    ]

    private static func money(_ amount: Int64) -> JSONValue { ["amount": .int(amount), "currency": "CNY"] }

    private static func split(_ gross: Int64, _ tax: Int64, _ commission: Int64, _ proceeds: Int64) -> JSONValue {
        ["gross": money(gross), "tax": money(tax), "commission": money(commission), "proceeds": money(proceeds)]
    }
}
