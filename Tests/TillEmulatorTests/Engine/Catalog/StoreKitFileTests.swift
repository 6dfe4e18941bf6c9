import Testing
import TillBilling
import TillJSON

@testable import TillEmulator

@Suite("Xcode's StoreKit configuration file as an input")
struct StoreKitFileTests {
    private static let monthly: JSONValue = [
        "adHocOffers": [
            [
                "displayPrice": "1.99", "internalID": "A1", "numberOfPeriods": 3, "offerID": "stay",
                "paymentMode": "payAsYouGo", "referenceName": "Stay", "subscriptionPeriod": "P1M",
            ]
        ],
        "codeOffers": [
            [
                "displayPrice": "3.99", "eligibility": ["new", "expired"], "internalID": "C1", "isStackable": true,
                "paymentMode": "payUpFront", "referenceName": "spring", "subscriptionPeriod": "P3M",
            ]
        ],
        "displayPrice": "4.99", "familyShareable": true, "groupNumber": 2, "internalID": "S1",
        "introductoryOffer": [
            "internalID": "I1", "numberOfPeriods": 2, "paymentMode": "free", "subscriptionPeriod": "P1W",
        ],
        "localizations": [
            ["description": "All of it.", "displayName": "Plus", "locale": "en_US"],
            ["description": "", "displayName": "", "locale": "zh_CN"],
        ],
        "productID": "plus.monthly", "recurringSubscriptionPeriod": "P1M", "referenceName": "Plus, monthly",
        "subscriptionGroupID": "6F3A93AB", "type": "RecurringSubscription",
        "winbackOffers": [
            [
                "displayPrice": "0.99", "internalID": "W1", "isActive": true, "offerID": "back",
                "paymentMode": "payUpFront", "subscriptionPeriod": "P1M",
            ]
        ],
    ]

    /// As Xcode 16 writes it; the other versions are variations of it.
    private static func file(_ more: [String: JSONValue] = [:]) -> JSONValue {
        let plain: JSONValue = [
            "appPolicies": ["eula": "", "policies": [["locale": "en_US", "policyText": "", "policyURL": ""]]],
            "identifier": "0A1B2C3D",
            "nonRenewingSubscriptions": [
                [
                    "displayPrice": "9.99", "familyShareable": false, "internalID": "N1", "localizations": [],
                    "productID": "course", "referenceName": .null, "type": "NonRenewingSubscription",
                ]
            ],
            "products": [
                [
                    "displayPrice": "0.99", "familyShareable": false, "internalID": "P1", "localizations": [],
                    "productID": "coins", "referenceName": "Coins", "type": "Consumable",
                ],
                [
                    "displayPrice": "2.99", "familyShareable": true, "internalID": "P2", "localizations": [],
                    "productID": "pro", "referenceName": "Pro", "type": "NonConsumable",
                ],
            ],
            "settings": [
                "_askToBuyEnabled": false, "_failTransactionsEnabled": false, "_locale": "en_US", "_storefront": "USA",
                "_storeKitErrors": [], "_timeRate": 15,
            ],
            "subscriptionGroups": [
                ["id": "6F3A93AB", "localizations": [], "name": "Plus", "subscriptions": [monthly]]
            ],
            "version": ["major": 4, "minor": 0],
        ]
        return plain.with(more)
    }

    private func read(_ file: JSONValue) throws -> ProductFile { try ProductFile(Array(file.encoded().utf8)) }

    private static func dollars(_ cents: Int64) -> [String: Money] {
        ["USA": Money(amount: cents, currency: Currency("USD"))]
    }

    @Test("products of all four kinds are read with their details")
    func products() throws {
        let read = try read(Self.file())
        #expect(read.products.map(\.id.text) == ["coins", "pro", "course", "plus.monthly"])
        #expect(read.products.map(\.kind) == [.consumable, .nonConsumable, .nonRenewing, .autoRenewable])
        #expect(read.products.map(\.name) == ["Coins", "Pro", "course", "Plus, monthly"])
        #expect(read.products.map(\.prices) == [99, 299, 999, 499].map(Self.dollars))
        #expect(read.products.map(\.isFamilyShareable) == [false, true, false, true])
        let plus = try #require(read.products.last)
        #expect(
            plus.subscription == SubscriptionTerms(groupID: "6F3A93AB", groupName: "Plus", level: 2, period: .month))
        #expect(plus.localizations.map(\.locale) == ["en-US", "zh-CN"])
        #expect(plus.state == .approved)
    }

    @Test("offers of all four kinds are read; two free weeks are one free offer of two weeks")
    func offers() throws {
        let plus = try #require(try read(Self.file()).products.last)
        #expect(
            plus.offers == [
                ProductOffer(kind: .introductory, discount: .freeTrial, period: OfferPeriod(2, .week)),
                ProductOffer(
                    kind: .promotional, identifier: "stay", discount: .payAsYouGo, period: OfferPeriod(1, .month),
                    periods: 3, prices: Self.dollars(199)),
                ProductOffer(
                    kind: .code, identifier: "spring", discount: .payUpFront, period: OfferPeriod(3, .month),
                    prices: Self.dollars(399), customers: [.new, .expired]),
                ProductOffer(
                    kind: .winBack, identifier: "back", discount: .payUpFront, period: OfferPeriod(1, .month),
                    prices: Self.dollars(99)),
            ])
    }

    @Test("storefront and time rate are read from the settings, and every ignored member is listed")
    func settings() throws {
        let plain = try read(Self.file())
        #expect(plain.storefront == "USA" && plain.pace == .monthInThirtySeconds)
        #expect(
            plain.ignored == [
                "appPolicies", "nonRenewingSubscriptions[].internalID", "products[].internalID", "settings._locale",
                "subscriptionGroups[].subscriptions[].adHocOffers[].internalID",
                "subscriptionGroups[].subscriptions[].codeOffers[].internalID",
                "subscriptionGroups[].subscriptions[].codeOffers[].isStackable",
                "subscriptionGroups[].subscriptions[].internalID",
                "subscriptionGroups[].subscriptions[].introductoryOffer.internalID",
                "subscriptionGroups[].subscriptions[].winbackOffers[].internalID",
                "subscriptionGroups[].subscriptions[].winbackOffers[].isActive",
            ])
        let rates: [(Int64, RenewalPace?)] = [
            (0, .real), (10, .monthInOneHour), (13, .monthInFiveMinutes), (1_000, .everyFifteenMinutes),
            (1_005, .everyTwoSeconds), (1, nil), (77, nil),
        ]
        for (rate, pace) in rates {
            let read = try read(Self.file(["settings": ["_timeRate": .int(rate), "_askToBuyEnabled": true]]))
            #expect(read.pace == pace && read.storefront == nil)
            #expect(read.ignored.contains("settings._askToBuyEnabled"))
            #expect(read.ignored.contains("settings._timeRate") == (pace == nil))
        }
    }

    @Test(
        "version 1 without settings, version 5 with lists of offers and billing plans, and unknown members are read"
    )
    func versions() throws {
        let first = try read([
            "identifier": "A", "products": [], "subscriptionGroups": [], "version": ["major": 1, "minor": 0],
        ])
        #expect(first.products.isEmpty && first.storefront == nil && first.pace == nil && first.ignored.isEmpty)
        let yearly: JSONValue = [
            "billingPlans": [
                ["billingPlanType": "BILLED_UPFRONT", "displayPrice": "49.99", "isEnabled": true],
                [
                    "billingPlanType": "MONTHLY", "commitmentDisplayPrice": "59.88", "displayPrice": "4.99",
                    "isEnabled": true,
                ],
            ],
            "displayPrice": "49.99", "groupNumber": 1,
            "introductoryOffers": [["numberOfPeriods": 1, "paymentMode": "free", "subscriptionPeriod": "P3D"]],
            "productID": "plus.yearly", "recurringSubscriptionPeriod": "P1Y", "type": "RecurringSubscription",
        ]
        let fifth = try read([
            "version": ["major": 5, "minor": 0], "futureThings": [1],
            "subscriptionGroups": [["id": "G", "name": "Plus", "subscriptions": [yearly]]],
        ])
        let product = try #require(fifth.products.first)
        #expect(
            product.subscription
                == SubscriptionTerms(
                    groupID: "G", groupName: "Plus", level: 1, period: .year, allowsMonthlyBilling: true,
                    monthlyPrices: Self.dollars(499)))
        #expect(product.offers.map(\.period) == [OfferPeriod(3, .day)])
        #expect(fifth.ignored.contains("futureThings"))
        #expect(fifth.ignored.contains("subscriptionGroups[].subscriptions[].billingPlans[].commitmentDisplayPrice"))
    }

    @Test("a price is a decimal text in the currency of the file's storefront")
    func currencies() throws {
        let yen = try read([
            "settings": ["_storefront": "JPN"],
            "products": [["displayPrice": "120", "productID": "a", "type": "Consumable"]],
        ])
        #expect(yen.products.first?.prices == ["JPN": Money(amount: 120, currency: Currency("JPY"))])
    }

    @Test("an error is refused by the member's path")
    func wrong() {
        func subscription(_ more: [String: JSONValue]) -> JSONValue {
            Self.file([
                "subscriptionGroups": [["id": "6F3A93AB", "subscriptions": [Self.monthly, Self.monthly.with(more)]]]
            ])
        }
        let cases: [(file: JSONValue, path: String)] = [
            (
                subscription(["recurringSubscriptionPeriod": "P4M"]),
                "subscriptionGroups[0].subscriptions[1].recurringSubscriptionPeriod"
            ),
            (
                subscription(["recurringSubscriptionPeriod": .null]),
                "subscriptionGroups[0].subscriptions[1].recurringSubscriptionPeriod"
            ),
            (subscription(["displayPrice": 4.99]), "subscriptionGroups[0].subscriptions[1].displayPrice"),
            (subscription(["displayPrice": "4,99"]), "subscriptionGroups[0].subscriptions[1].displayPrice"),
            (subscription(["productID": .null]), "subscriptionGroups[0].subscriptions[1].productID"),
            (subscription(["groupNumber": "1"]), "subscriptionGroups[0].subscriptions[1].groupNumber"),
            (
                subscription(["subscriptionGroupID": "other"]),
                "subscriptionGroups[0].subscriptions[1].subscriptionGroupID"
            ),
            (
                subscription(["adHocOffers": [["paymentMode": "later"]]]),
                "subscriptionGroups[0].subscriptions[1].adHocOffers[0].paymentMode"
            ),
            (subscription([:]), "plus.monthly is listed twice"),
            (Self.file(["settings": ["_storefront": "UK"]]), "settings._storefront"),
            (Self.file(["settings": ["_timeRate": "fast"]]), "settings._timeRate"),
            (Self.file(["products": [["displayPrice": "1", "productID": "a", "type": "Magic"]]]), "products[0].type"),
            (Self.file(["products": .object([:])]), "products"),
            (Self.file(["subscriptionGroups": [3]]), "subscriptionGroups[0]"),
        ]
        for (file, path) in cases {
            let error = #expect(throws: ProductFile.FormatError.self) { try self.read(file) }
            #expect(error?.sentence.en.contains(path) == true, "\(path): \(error?.sentence.en ?? "")")
            #expect(error?.sentence.zh.isEmpty == false)
        }
    }

    @Test("PUT takes the file unchanged, names the ignored members, and moves the customer to its storefront")
    func put() async throws {
        let world = try await EmulatedWorld()
        let answer = await world.ask(.put, "/emulator/products", Self.file())
        #expect(answer.status == 200, "\(answer.json.encoded())")
        #expect(answer.json["data"]?.array?.count == 4)
        #expect(answer.json["storefront"] == "USA" && answer.json["pace"] == "monthInThirtySeconds")
        #expect(answer.json["ignored"]?.array?.contains("appPolicies") == true)
        let bought = await world.ask(
            .post, "/emulator/purchases", ["bundleId": "com.example.learnpoints", "productId": "coins"])
        #expect(bought.json["price"] == ["amount": 99, "currency": "USD"], "\(bought.json.encoded())")
        // GET returns Till's own form, which PUT reads back unchanged.
        let given = try #require(await world.ask(.get, "/emulator/products").json["data"])
        #expect(await world.ask(.put, "/emulator/products", ["products": given]).json["data"] == given)
        await world.remove()
    }

    @Test("a member's name is made safe for terminals in messages")
    func hostileNames() {
        let error = #expect(throws: ProductFile.FormatError.self) {
            try self.read(["products": [["id": "a", "\u{1B}[2Jx": 1]]])
        }
        #expect(error?.sentence.en.unicodeScalars.contains("\u{1B}") == false)
    }
}
