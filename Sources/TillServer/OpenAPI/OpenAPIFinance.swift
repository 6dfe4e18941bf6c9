import TillAPI
import TillAppStore
import TillBilling
import TillJSON

extension OpenAPI {
    private static let fiscalYear = OpenAPIOperation.Parameter.query(
        "fiscalYear", OpenAPISchema.integer("Apple's: 2026 began on 2025-09-28.", 2_008...2_100),
        "The present one if neither this nor `from` and `to` are given.")
    private static let period = OpenAPIOperation.Parameter.query(
        "period", OpenAPISchema.integer("1 is October.", 1...12), "A month of that fiscal year; all if absent.")
    private static let environment = OpenAPIOperation.Parameter.query(
        "environment", ["type": "string", "enum": ["production", "sandbox"]],
        "Production if the server accepts it.")

    static let financeOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .get, path: Paths.financeReport, id: "readFinanceReport", tag: .finance,
            summary: "Say what Apple owes for each fiscal period",
            description: """
                Computed from what the ledger's transactions cost, by product, storefront and currency: the price \
                without the storefront's tax, split by the rates of the day of the sale. A refund lowers the period in \
                which it happens, at the rates of its sale. Whatever was paid counts, also what is in quarantine. What \
                Apple gives back for an upgraded subscription no interface shows; Apple's own report does. One report \
                is made at a time.
                """,
            caller: .backend,
            parameters: [
                .query("from", OpenAPIFinance.day, "The first day, instead of a fiscal year."),
                .query("to", OpenAPIFinance.day, "The last day, at most ten years after the first."), fiscalYear,
                period,
                environment,
                .header("Accept", ["type": "string"], "`text/csv` for comma-separated text: a line for each row."),
            ],
            answers: [
                OpenAPIOperation.Answer(
                    200, "The report.", "FinanceReport", example: OpenAPIFinance.reportExample
                ).or("text/csv")
            ],
            refusals: [.invalidField, .tooManyRequests]),
        OpenAPIOperation(
            method: .post, path: Paths.appleReports, id: "importAppleReport", tag: .finance,
            summary: "Import a financial report of Apple's",
            description: """
                The tab-separated text as App Store Connect gives it, unpacked. All of it is kept or, if a line can't \
                be read, nothing. The same text again changes nothing. Of two reports that tell of one country and \
                period the one that was imported later counts.
                """,
            caller: .backend,
            parameters: [
                .query("name", OpenAPISchema.name("What to call it.", maximum: 255), "The file's name, for people.")
            ],
            body: OpenAPIOperation.Body("AppleReportText", type: "text/tab-separated-values"),
            bodyLimit: Server.appleReportLimit,
            answers: [
                OpenAPIOperation.Answer(201, "Kept.", "ImportReply"),
                OpenAPIOperation.Answer(200, "It was here already.", "ImportReply"),
            ],
            refusals: [.reportUnusable]),
        OpenAPIOperation(
            method: .get, path: Paths.appleReports, id: "listAppleReports", tag: .finance,
            summary: "List the reports of Apple's that were imported", caller: .backend,
            parameters: [.limit, .cursor],
            answers: [OpenAPIOperation.Answer(200, "A page of them.", "AppleReportPage")], refusals: [.invalidField]),
        OpenAPIOperation(
            method: .get, path: Paths.reportComparison, id: "compareAppleReports", tag: .finance,
            summary: "Hold Apple's reports of a period against the ledger, line by line", caller: .backend,
            parameters: [fiscalYear, period, environment],
            answers: [OpenAPIOperation.Answer(200, "Every line of either side.", "Comparison")],
            refusals: [.invalidField, .tooManyRequests]),
        OpenAPIOperation(
            method: .get, path: Paths.fiscalCalendar, id: "readFiscalCalendar", tag: .finance,
            summary: "Read a year of Apple's fiscal calendar", caller: .backend,
            parameters: [
                .query("year", OpenAPISchema.integer("The fiscal year.", 2_008...2_100), "The present one if absent.")
            ],
            answers: [OpenAPIOperation.Answer(200, "Its twelve months.", "FiscalCalendar")],
            refusals: [.invalidField]),
        OpenAPIOperation(
            method: .get, path: Paths.priceTiers, id: "readPriceTiers", tag: .finance,
            summary: "Read Apple's classic price tiers, or those that fit a price", caller: .backend,
            parameters: [
                .query("tier", OpenAPISchema.text("`0` to `87`, `A`, `B`, `alt1` to `alt5`."), "Only this one."),
                .query("price", OpenAPISchema.text("A decimal like `6.00`."), "Only those at this price."),
                .query("currency", OpenAPISchema.text("ISO 4217."), "Of `price`."),
            ],
            answers: [OpenAPIOperation.Answer(200, "The tiers.", "Tiers")], refusals: [.invalidField, .notFound]),
        OpenAPIOperation(
            method: .get, path: Paths.proceeds, id: "readProceeds", tag: .finance,
            summary: "Say where the price of one unit goes",
            description: "Price ÷ tax divisor × rate, exact but for one rounding to the minor unit, a half up.",
            caller: .backend,
            parameters: [
                .query("price", OpenAPISchema.text("A decimal like `6.00`."), "What the customer pays."),
                .query("currency", OpenAPISchema.text("ISO 4217."), "Of the price."),
                .query("storefront", OpenAPISchema.text("ISO 3166-1, two letters or three."), "Where it is sold."),
                .query("at", OpenAPIFinance.day, "The day of the sale; today if absent."),
                .query(
                    "type", OpenAPISchema.words("What is sold.", ProductType.words),
                    "Only auto-renewables have a better rate after a year."),
                .query("paidDays", OpenAPISchema.integer("0 if absent.", 0...36_525), "Of paid service before this."),
                .query(
                    "smallBusiness", ["type": "boolean"], "In the Small Business Program; as configured if absent."),
            ],
            answers: [OpenAPIOperation.Answer(200, "The parts.", "Proceeds", example: OpenAPIFinance.proceedsExample)],
            refusals: [.invalidField]),
    ]
}

extension OpenAPIOperation.Answer {
    /// The same as another type of text, for whoever accepts that.
    func or(_ type: String) -> OpenAPIOperation.Answer {
        var answer = self
        answer.otherTypes = [type]
        return answer
    }
}

enum OpenAPIFinance {
    static let day: JSONValue = ["type": "string", "format": "date", "description": "`2026-03-15`."]

    private static func money(_ amount: Int64) -> JSONValue { ["amount": .int(amount), "currency": "CNY"] }

    private static func split(_ gross: Int64, _ tax: Int64, _ commission: Int64, _ proceeds: Int64) -> JSONValue {
        [
            "gross": money(gross), "tax": money(tax), "commission": money(commission), "proceeds": money(proceeds),
        ]
    }

    static let reportExample: JSONValue = [
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
    ]

    static let proceedsExample: JSONValue = [
        "price": money(600), "storefront": "CHN", "at": "2026-01-16", "type": "Consumable", "taxDivisor": "1.0203",
        "taxUnknown": false, "rate": "0.7", "rateClass": "standard", "gross": money(600), "tax": money(12),
        "net": money(588), "commission": money(176), "proceeds": money(412),
    ]
}

extension OpenAPI {
    private static func day(_ description: String) -> JSONValue {
        ["type": "string", "format": "date", "description": .string(description)]
    }

    static let financeSchemas: [String: JSONValue] = reportSchemas.merging(comparisonSchemas) { first, _ in first }
        .merging(ruleSchemas) { first, _ in first }

    private static let reportSchemas: [String: JSONValue] = [
        "FinanceReport": OpenAPISchema.object(
            "What Apple owes.",
            [
                "environment": OpenAPISchema.words("Whose purchases.", ["production", "sandbox"]),
                "from": day("The first day."), "to": day("The last day."),
                "periods": OpenAPISchema.list(
                    "Those in which something was sold or refunded, oldest first.", of: ref("FinancePeriod")),
                "unpriced": OpenAPISchema.list(
                    "What is in none of them, because Apple signed no price: receipts have none.",
                    of: ref("Unpriced")),
                "unusable": OpenAPISchema.integer("Sales and refunds too large for any sum; there should be none."),
            ]),
        "FinancePeriod": OpenAPISchema.object(
            "One month of Apple's fiscal calendar.",
            [
                "fiscalYear": OpenAPISchema.integer("2026 began on 2025-09-28."),
                "period": OpenAPISchema.integer("1 is October.", 1...12), "label": OpenAPISchema.text("`Oct`."),
                "start": day("A Sunday."), "end": day("A Saturday."),
                "paymentDate": day("When Apple is expected to pay: 33 days after the end."),
                "isWhole": OpenAPISchema.truth("Whether all of its days were asked for."),
                "rows": OpenAPISchema.list("By product, storefront and currency.", of: ref("FinanceRow")),
                "totals": OpenAPISchema.list("All rows of a currency.", of: ref("FinanceTotal")),
            ]),
        "FinanceSplit": OpenAPISchema.object(
            "Where money went: gross = tax + commission + proceeds.",
            ["gross": ref("Money"), "tax": ref("Money"), "commission": ref("Money"), "proceeds": ref("Money")]),
        "FinanceRow": OpenAPISchema.object(
            "A product in a storefront.",
            [
                "productId": OpenAPISchema.text("The product."),
                "storefront": OpenAPISchema.text("ISO 3166-1 alpha-3; absent where Apple did not say."),
                "currency": OpenAPISchema.text("ISO 4217."), "unitsSold": OpenAPISchema.integer("Units."),
                "unitsRefunded": OpenAPISchema.integer("Units of refunded transactions, also of a part."),
                "sales": ref("FinanceSplit"), "refunds": ref("FinanceSplit"), "netProceeds": ref("Money"),
                "isTaxUnknown": OpenAPISchema.truth("Whether the tax is unknown and was taken for nothing."),
            ], optional: ["storefront"]),
        "FinanceTotal": OpenAPISchema.object(
            "All that a period comes to in one currency.",
            [
                "currency": OpenAPISchema.text("ISO 4217."), "unitsSold": OpenAPISchema.integer("Units."),
                "unitsRefunded": OpenAPISchema.integer("Units."), "sales": ref("FinanceSplit"),
                "refunds": ref("FinanceSplit"), "expectedPayment": ref("Money"),
                "isTaxUnknown": OpenAPISchema.truth("Whether the tax of a row is unknown."),
            ]),
        "Unpriced": OpenAPISchema.object(
            "Sales and refunds without a price.",
            [
                "productId": OpenAPISchema.text("The product."), "transactions": OpenAPISchema.integer("How many."),
            ]),
    ]

    private static let comparisonSchemas: [String: JSONValue] = [
        "AppleReportText": ["type": "string", "description": "Tab-separated text, UTF-8."],
        "AppleReportPage": OpenAPISchema.page(of: "AppleReport"),
        "AppleReport": OpenAPISchema.object(
            "A report that was imported.",
            [
                "sha256": OpenAPISchema.text("Of the text, hexadecimal."), "name": OpenAPISchema.text("For people."),
                "importedAt": OpenAPISchema.time("When."), "importedBy": OpenAPISchema.text("By whom."),
                "start": day("The first day its lines tell of."), "end": day("The last one."),
                "lines": OpenAPISchema.integer("How many."),
            ]),
        "ImportReply": OpenAPISchema.object(
            "What was kept.",
            [
                "report": ref("AppleReport"),
                "remarks": OpenAPISchema.list("What is odd; every line was read.", of: ref("ReportFinding")),
            ]),
        "ReportFinding": OpenAPISchema.object(
            "Something about a line.",
            [
                "code": OpenAPISchema.words(
                    "Stable. More may come.", FinancialReportDefect.allCases.map(\.rawValue)),
                "line": OpenAPISchema.integer("In the file, from 1; absent for what is about all of it."),
                "sentence": ref("Text"), "cure": ref("Text"),
            ], optional: ["line"]),
        "Comparison": OpenAPISchema.object(
            "Apple's reports of a period beside the ledger.",
            [
                "environment": OpenAPISchema.words("Whose purchases.", ["production", "sandbox"]),
                "period": ref("FiscalPeriod"),
                "reports": OpenAPISchema.list("Those that tell of it, the newest first.", of: ref("AppleReport")),
                "isEqual": OpenAPISchema.truth("Whether there are reports, and no line differs."),
                "differences": OpenAPISchema.integer("How many lines differ."),
                "lines": OpenAPISchema.list("Every line of either side.", of: ref("ComparisonLine")),
                "totals": OpenAPISchema.list("All lines of a currency.", of: ref("ComparisonTotal")),
            ]),
        "ComparisonLine": OpenAPISchema.object(
            "A product at a price in a country, sales and refunds apart.",
            [
                "verdict": OpenAPISchema.words(
                    "How the sides stand to each other.", ReportComparison.Verdict.allCases.map(\.rawValue)),
                "productId": OpenAPISchema.text("The product."),
                "country": OpenAPISchema.text("ISO 3166-1 alpha-2; absent where nobody said."),
                "customerPrice": ref("Money"), "kind": OpenAPISchema.words("Which.", ["sale", "refund"]),
                "apple": ref("ComparisonSide"), "ledger": ref("ComparisonSide"),
            ], optional: ["country", "apple", "ledger"]),
        "ComparisonSide": OpenAPISchema.object(
            "One side of a line.", ["units": OpenAPISchema.integer("Units."), "proceeds": ref("Money")]),
        "ComparisonTotal": OpenAPISchema.object(
            "All lines of a currency, refunds subtracted.",
            [
                "currency": OpenAPISchema.text("ISO 4217."), "apple": ref("ComparisonSide"),
                "ledger": ref("ComparisonSide"), "difference": ref("Money"),
            ]),
    ]

    private static let ruleSchemas: [String: JSONValue] = [
        "FiscalCalendar": OpenAPISchema.object(
            "A fiscal year.",
            [
                "fiscalYear": OpenAPISchema.integer("2026 began on 2025-09-28."),
                "weeks": OpenAPISchema.integer("52 or 53.", 52...53), "start": day("The first day."),
                "end": day("The last day."),
                "periods": OpenAPISchema.list("Its twelve months.", of: ref("FiscalPeriod")),
            ]),
        "FiscalPeriod": OpenAPISchema.object(
            "A month of it.",
            [
                "fiscalYear": OpenAPISchema.integer("2026 began on 2025-09-28."),
                "period": OpenAPISchema.integer("1 is October.", 1...12), "label": OpenAPISchema.text("`Oct`."),
                "quarter": OpenAPISchema.integer("Of the fiscal year.", 1...4),
                "weeks": OpenAPISchema.integer("Four or five.", 4...5), "start": day("A Sunday."),
                "end": day("A Saturday."), "paymentDate": day("33 days after the end, a Thursday."),
            ]),
        "Tiers": OpenAPISchema.object(
            "Tiers of the classic table.",
            [
                "validFrom": day("The day from which the table held."),
                "tiers": OpenAPISchema.list("All, or those that fit.", of: ref("Tier")), "price": ref("Money"),
                "standing": OpenAPISchema.words("What is known of the price asked for.", TiersReply.standings),
                "isOffered": OpenAPISchema.truth("By App Store Connect; absent if nobody knows."),
                "nearest": ref("NearestTiers"),
            ], optional: ["price", "standing", "isOffered", "nearest"]),
        "NearestTiers": OpenAPISchema.object(
            "The tiers on both sides of a price.", ["below": ref("Tier"), "above": ref("Tier")],
            optional: ["below", "above"]),
        "Tier": OpenAPISchema.object(
            "A tier.",
            [
                "tier": OpenAPISchema.text("`0` to `87`, `A`, `B`, `alt1` to `alt5`."),
                "name": OpenAPISchema.text("In the language of `Accept-Language`."),
                "prices": byCurrency("In each currency of the table."),
                "proceeds": byCurrency("At 70 %, where the table says so."),
            ]),
        "Proceeds": OpenAPISchema.object(
            "Where a price goes: gross = tax + net, net = commission + proceeds.",
            [
                "price": ref("Money"), "storefront": OpenAPISchema.text("ISO 3166-1 alpha-3."),
                "at": day("The day of the sale."), "type": OpenAPISchema.text("As Apple writes it: `Consumable`."),
                "taxDivisor": OpenAPISchema.text("Price ÷ divisor is without tax: `1.0203`."),
                "taxUnknown": OpenAPISchema.truth("Whether the tax is unknown and was taken for nothing."),
                "rate": OpenAPISchema.text("The developer's part: `0.7`."),
                "rateClass": OpenAPISchema.words("Why that rate.", RateClass.allCases.map(\.rawValue)),
                "roundedUpPrice": ref("Money"), "gross": ref("Money"), "tax": ref("Money"), "net": ref("Money"),
                "commission": ref("Money"), "proceeds": ref("Money"),
            ], optional: ["roundedUpPrice"]),
    ]

    private static func byCurrency(_ description: String) -> JSONValue {
        ["type": "object", "description": .string(description), "additionalProperties": ref("Money")]
    }
}
