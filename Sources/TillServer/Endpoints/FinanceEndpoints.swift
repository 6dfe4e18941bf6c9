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
            action: Server.readFinanceReport, summary: "Compute the proceeds that Apple owes for each fiscal period",
            description: """
                Computed from the prices of the ledger's transactions, by product, storefront and currency: the price \
                without the storefront's tax, split at the rates of the day of the sale. A refund reduces the period \
                in which it happens, at the rates of its sale. Every paid transaction counts, including those in \
                quarantine. Money that Apple returns for an upgraded subscription appears only in Apple's own report. \
                The server computes one report at a time.
                """,
            caller: .backend,
            parameters: [
                .query("from", .day("`2026-03-15`."), "The first day, instead of a fiscal year."),
                .query("to", .day("`2026-03-15`."), "The last day, at most ten years after the first."), fiscalYear,
                period, environment,
                .header("Accept", "`text/csv` for comma-separated text, one line for each row."),
            ],
            answers: [.ok("The report.", "FinanceReport").or("text/csv")], refusals: [.tooManyRequests]),
        Endpoint(
            method: .post, path: Paths.appleReports, id: "importAppleReport", tag: .finance,
            action: Server.importAppleReport, summary: "Import a financial report from Apple",
            description: """
                The tab-separated text from App Store Connect, decompressed. The report is stored completely or, if a \
                line cannot be read, not at all. Importing the same text again changes nothing. If two reports cover \
                the same country and period, the one imported later counts.
                """,
            caller: .backend,
            parameters: [
                .query("name", .name("The report's display name.", 255), "The file's name, for display.")
            ],
            // The digest of the text already makes a repetition the same import.
            body: Endpoint.Request(body: "AppleReportText", type: "text/tab-separated-values"),
            bodyLimit: Ledger.appleReportLimit, isRepeatable: false,
            answers: [.created("Imported.", "ImportReply"), .ok("Imported before.", "ImportReply")],
            refusals: [.reportUnusable]),
        Endpoint(
            method: .get, path: Paths.appleReports, id: "listAppleReports", tag: .finance,
            action: Server.listAppleReports, summary: "List the imported reports",
            caller: .backend, parameters: [.limit, .cursor], answers: [.ok("The reports.", "AppleReportPage")]),
        Endpoint(
            method: .get, path: Paths.reportComparison, id: "compareAppleReports", tag: .finance,
            action: Server.compareAppleReports,
            summary: "Compare Apple's reports of a period with the ledger, line by line", caller: .backend,
            parameters: [fiscalYear, period, environment], answers: [.ok("The comparison.", "Comparison")],
            refusals: [.tooManyRequests]),
        Endpoint(
            method: .get, path: Paths.fiscalCalendar, id: "readFiscalCalendar", tag: .finance,
            action: Server.readFiscalCalendar, summary: "Read a year of Apple's fiscal calendar", caller: .backend,
            parameters: [
                .query("year", .integer("The fiscal year.", 2_008...2_100), "The current one if absent.")
            ],
            answers: [.ok("The twelve months of the year.", "FiscalCalendar")]),
        Endpoint(
            method: .get, path: Paths.priceTiers, id: "readPriceTiers", tag: .finance, action: Server.readPriceTiers,
            summary: "Read Apple's classic price tiers, or those that match a price", caller: .backend,
            parameters: [
                .query("tier", "`0` to `87`, `A`, `B`, `alt1` to `alt5`.", "Only this tier."),
                .query("price", "A decimal like `6.00`.", "Only tiers at this price."),
                .query("currency", "ISO 4217.", "The currency of `price`."),
            ],
            answers: [.ok("The tiers.", "Tiers")]),
        Endpoint(
            method: .get, path: Paths.proceeds, id: "readProceeds", tag: .finance, action: Server.readProceeds,
            summary: "Split the price of one unit into tax, commission and proceeds",
            description: "Price ÷ tax divisor × rate, exact except for one rounding to the minor unit, half up.",
            caller: .backend,
            parameters: [
                .query("price", "A decimal like `6.00`.", "The price that the customer pays."),
                .query("currency", "ISO 4217.", "The currency of the price."),
                .query("storefront", "ISO 3166-1, two letters or three.", "The storefront of the sale."),
                .query("at", .day("`2026-03-15`."), "The day of the sale; today if absent."),
                .query(
                    "type", .oneOf("The product's type.", ProductType.names),
                    "Only auto-renewable subscriptions have a higher rate after a year of paid service."),
                .query("paidDays", .integer("0 if absent.", 0...36_525), "Days of paid service before this sale."),
                .query(
                    "smallBusiness", schema: ["type": "boolean"],
                    "Whether the developer is in the Small Business Program; as configured if absent."),
            ],
            answers: [.ok("The parts of the price.", "Proceeds")]),
    ]

    private static let fiscalYear = Endpoint.Parameter.query(
        "fiscalYear", .integer("Apple's fiscal year; 2026 began on 2025-09-28.", 2_008...2_100),
        "The current one if neither this nor `from` and `to` are given.")
    private static let period = Endpoint.Parameter.query(
        "period", .integer("1 is October.", 1...12), "The month of that fiscal year; all if absent.")
    private static let environment = Endpoint.Parameter.query(
        "environment", schema: ["type": "string", "enum": ["production", "sandbox"]],
        "The environment; production by default if the server accepts it.")

    static let financeBodies: BodyTable = [
        Body("FinanceReport", FinanceReportReply.self, "Proceeds that Apple owes."): [
            "environment": .environment("The environment of the purchases."), "from": .day("The first day."),
            "to": .day("The last day."), "periods": "Periods with a sale or a refund, oldest first.",
            "unpriced": "Transactions outside the periods because Apple signed no price: receipts carry none.",
            "unusable": "The number of sales and refunds too large to add up; 0 is expected.",
        ],
        Body("FinancePeriod", FinancePeriodReply.self, "One month of Apple's fiscal calendar."): [
            "fiscalYear": "2026 began on 2025-09-28.", "period": .integer("1 is October.", 1...12), "label": "`Oct`.",
            "start": .day("A Sunday."), "end": .day("A Saturday."),
            "paymentDate": .day("The expected payment date: 33 days after the end."),
            "isWhole": "Whether the report covers all days of the period.",
            "rows": "Figures by product, storefront and currency.", "totals": "The sums of all rows by currency.",
        ],
        Body("FinanceSplit", FinanceSplitReply.self, "The parts of an amount: gross = tax + commission + proceeds."):
            [:],
        Body("FinanceRow", FinanceRowReply.self, "The figures of a product in one storefront and currency."): [
            "productId": "The product.", "storefront": "ISO 3166-1 alpha-3; absent if Apple signed none.",
            "currency": "ISO 4217.", "unitsSold": "The number of units sold.",
            "unitsRefunded": "The number of units in transactions that were refunded in whole or in part.",
            "isTaxUnknown": "Whether the tax is unknown and counted as zero.",
        ],
        Body("FinanceTotal", FinanceTotalReply.self, "The sums of a period in one currency."): [
            "currency": "ISO 4217.", "unitsSold": "The number of units sold.",
            "unitsRefunded": "The number of units refunded.",
            "isTaxUnknown": "Whether the tax of a row is unknown.",
        ],
        Body("Unpriced", UnpricedReply.self, "Sales and refunds without a price."): [
            "productId": "The product.", "transactions": "The number of transactions.",
        ],
        Body("AppleReportText", "Tab-separated text, UTF-8.", schema: ["type": "string"]): [:],
        .page("AppleReportPage", of: AppleReportReply.self): [:],
        Body("AppleReport", AppleReportReply.self, "An imported financial report."): [
            "sha256": "The SHA-256 digest of the text, hexadecimal.", "name": "The display name.",
            "importedAt": "The time of the import.", "importedBy": "The caller who imported it.",
            "start": .day("The first day that its lines cover."), "end": .day("The last day that its lines cover."),
            "lines": "The number of lines.",
        ],
        Body("ImportReply", ImportReply.self, "The result of an import."): [
            "remarks": "Unusual lines; every line was read and imported."
        ],
        Body("ReportFinding", ReportFindingReply.self, "A remark about a line or about the whole file."): [
            "code": .oneOf("A stable code. New codes may be added.", FinancialReportDefect.self),
            "line": "The line's number in the file, from 1; absent for a remark about the whole file.",
        ],
        Body("Comparison", ComparisonReply.self, "Apple's reports of a period compared with the ledger."): [
            "environment": .environment("The environment of the purchases."),
            "reports": "The reports of the period, newest first.",
            "isEqual": "Whether at least one report exists and no line differs.",
            "differences": "The number of lines that differ.",
            "lines": "All lines of both sides.", "totals": "The sums of all lines by currency.",
        ],
        Body(
            "ComparisonLine", ComparisonLineReply.self, "A product at a price in a country, sales and refunds apart."
        ): [
            "verdict": .oneOf("The result of comparing the two sides.", ReportComparison.Verdict.self),
            "productId": "The product.", "country": "ISO 3166-1 alpha-2; absent if neither side names one.",
            "kind": .oneOf("Whether the line counts sales or refunds.", ["sale", "refund"]),
        ],
        Body("ComparisonSide", ComparisonSideReply.self, "One side of a line."): ["units": "The number of units."],
        Body("ComparisonTotal", ComparisonTotalReply.self, "The sums of all lines of a currency, refunds subtracted."):
            [
                "currency": "ISO 4217."
            ],
        Body("FiscalCalendar", FiscalCalendarReply.self, "A fiscal year."): [
            "fiscalYear": "2026 began on 2025-09-28.", "weeks": .integer("52 or 53.", 52...53),
            "start": .day("The first day."), "end": .day("The last day."), "periods": "The twelve months of the year.",
        ],
        Body("FiscalPeriod", FiscalPeriodReply.self, "One month of the fiscal year."): [
            "fiscalYear": "2026 began on 2025-09-28.", "period": .integer("1 is October.", 1...12), "label": "`Oct`.",
            "quarter": .integer("The quarter of the fiscal year.", 1...4), "weeks": .integer("Four or five.", 4...5),
            "start": .day("A Sunday."), "end": .day("A Saturday."),
            "paymentDate": .day("The expected payment date: 33 days after the end, a Thursday."),
        ],
        Body("Tiers", TiersReply.self, "Tiers of the classic table."): [
            "validFrom": .day("The first day on which the table is valid."),
            "tiers": "All tiers, or those that match the request.",
            "standing": .oneOf("How the requested price relates to the table.", TiersReply.standings),
            "isOffered": "Whether App Store Connect offers the price; absent if unknown.",
        ],
        Body("NearestTiers", NearestTiersReply.self, "The nearest tiers below and above a price."): [:],
        Body("Tier", TierReply.self, "A tier."): [
            "tier": "`0` to `87`, `A`, `B`, `alt1` to `alt5`.",
            "name": "The tier's name in the language of `Accept-Language`.",
            "prices": "The price in each currency of the table.",
            "proceeds": "The proceeds at 70 % in each currency for which the table lists them.",
        ],
        Body("Proceeds", ProceedsReply.self, "The parts of a price: gross = tax + net, net = commission + proceeds."): [
            "storefront": "ISO 3166-1 alpha-3.", "at": .day("The day of the sale."),
            "type": "The product's type in Apple's spelling: `Consumable`.",
            "taxDivisor": "Price ÷ divisor is the price without tax: `1.0203`.",
            "taxUnknown": "Whether the tax is unknown and counted as zero.",
            "rate": "The developer's share: `0.7`.",
            "rateClass": .oneOf("The rule that determines the rate.", RateClass.self),
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
