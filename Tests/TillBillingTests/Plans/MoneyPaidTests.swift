import Testing
import TillBilling

/// Years of a shop whose prices change: sales at one cent, higher prices, orders opened under one price and paid under
/// another, previews, three currencies, offers. The money really paid is counted beside it, in exact cents.
private struct PricedYears {
    struct Sale {
        let purchase: PlanPurchase
        /// In the currency of balances, by the storefront's own price.
        let moneyPaid: Fraction
    }

    static let names = ["BM", "BA", "PM", "PA"]
    static let yuan = Currency("CNY")
    private(set) var versions: CatalogVersions
    private(set) var sales: [Sale] = []

    init(_ generator: inout SeededGenerator, count: Int) throws {
        var at = CloudPlans.start
        var all = [try Self.version(1, at, &generator)]
        versions = CatalogVersions(all)
        for number in 0..<count {
            at = at.adding(milliseconds: .random(in: 0...2_000_000_000, using: &generator))
            if Int.random(in: 0...2, using: &generator) == 0 {
                all.append(try Self.version(Int64(all.count + 1), at, &generator))
                versions = CatalogVersions(all)
            }
            sales.append(try sale(&generator, at: at, number: number))
        }
    }

    private static func version(
        _ number: Int64, _ since: Instant, _ generator: inout SeededGenerator
    ) throws -> CatalogVersions.Version {
        let products = try names.map { name -> CatalogProduct in
            let plan = try #require(CloudPlans.plan(name))
            let factor: Int64 = [0, 1, 1, 1, 2].randomElement(using: &generator) ?? 1
            let cents = factor == 0 ? 1 : plan.price.amount * factor
            return CatalogProduct(
                id: ProductID(name), type: .consumable, names: plan.names,
                price: Money(amount: cents, currency: CloudPlans.dollar),
                plan: PlanTerms(id: plan.id, length: plan.length, rank: plan.rank, scope: name == "PA" ? nil : .device),
                prices: ["CNY": cents * 6])
        }
        return CatalogVersions.Version(number: number, since: since, catalog: Catalog(products: products))
    }

    private func sale(_ generator: inout SeededGenerator, at: Instant, number: Int) throws -> Sale {
        let name = Self.names.randomElement(using: &generator) ?? "BM"
        let product = try #require(versions.all.last?.catalog[ProductID(name)])
        let price = versions.listPrice(of: product, at: at)
        let quantity = Int.random(in: 1...3, using: &generator)
        let full = price.base.amount * Int64(quantity)
        let paid: Money?
        let money: Fraction
        var isOffer = false
        switch Int.random(in: 0...5, using: &generator) {
        case 0:  // A receipt: paid at the list price.
            (paid, money) = (nil, Fraction(UInt64(full)))
        case 1:
            let cents = Int64.random(in: 0...full, using: &generator)
            (paid, money) = (Money(amount: cents, currency: CloudPlans.dollar), Fraction(UInt64(cents)))
        case 2:
            let fen = Int64.random(in: 0...full * 6, using: &generator)
            (paid, money) = (Money(amount: fen, currency: Self.yuan), Fraction(UInt64(fen), over: 6))
        case 3:  // An offer in an unlisted currency: a part of the price.
            let cents = Int64.random(in: 0...full, using: &generator)
            (paid, money, isOffer) = (Money(amount: cents, currency: Currency("EUR")), Fraction(UInt64(cents)), true)
        case 4: (paid, money) = (Money(amount: full, currency: Currency("EUR")), Fraction(UInt64(full)))
        default: (paid, money) = (Money(amount: full, currency: CloudPlans.dollar), Fraction(UInt64(full)))
        }
        // Opened under any earlier catalogue: only an order previewed within a day counts.
        let shown = try #require(versions.all.randomElement(using: &generator))
        let isPreviewed = Bool.random(using: &generator)
        return Sale(
            purchase: PlanPurchase(
                plan: try #require(Plan(soldBy: product, at: price.base)), quantity: quantity,
                worth: price.worth(of: paid, quantity: quantity, isOffer: isOffer), at: at,
                preview: try isPreviewed
                    ? PlanPurchase.Preview(
                        at: at.adding(seconds: -Int64.random(in: 0...100_000, using: &generator)),
                        price: try #require(versions.listPrice(of: product, inVersion: shown.number)).base) : nil,
                deviceID: (["a", "b", "c"].randomElement(using: &generator)).map(DeviceID.init),
                transactionID: TransactionID("\(1_000 + number)")),
            moneyPaid: money)
    }
}

@Suite("Money paid, over sales, price changes, currencies, refunds and conversions") struct MoneyPaidTests {
    private func value(_ service: Service, at now: Instant) -> Fraction {
        service.current(at: now).reduce(.zero) { $0 + $1.value(at: now) }
    }

    @Test("No purchase is worth more than its payment, and if the payment is known, less than a cent below it")
    func worth() throws {
        var generator = SeededGenerator(state: 41)
        for _ in 0..<60 {
            for sale in try PricedYears(&generator, count: 20).sales {
                let worth = Fraction(UInt64(sale.purchase.worth.amount))
                #expect(worth <= sale.moneyPaid)
                #expect(sale.purchase.worth.amount == 0 || sale.moneyPaid < worth + Fraction(1))
            }
        }
    }

    /// The purchases that are not refunded are served and converted: at each moment the remaining service is worth no
    /// more than the unserved part of their payments, except for less than a second of service for each conversion.
    @Test("Service is never worth more than the money paid for it, except for less than a second for each conversion")
    func conserved() throws {
        var generator = SeededGenerator(state: 42)
        var (conversions, honoured) = (0, 0)
        for _ in 0..<120 {
            let sales = try PricedYears(&generator, count: 14).sales
            let money = Dictionary(uniqueKeysWithValues: sales.map { ($0.purchase.transactionID, $0.moneyPaid) })
            // Some are refunded, and the refunds arrive in any order.
            let standing = sales.filter { _ in Int.random(in: 0...4, using: &generator) > 0 }.map(\.purchase)
            var service = Service()
            for purchase in PlanPurchase.counted(standing.shuffled(using: &generator)) {
                let before = value(service, at: purchase.at)
                let stated = service.proration(
                    to: purchase.plan, quantity: purchase.quantity, device: purchase.deviceID, at: purchase.at)
                service.buy(purchase)
                let after = value(service, at: purchase.at)
                let paid = try #require(money[purchase.transactionID] ?? nil)
                let second = purchase.plan.dailyPrice * Fraction(1, over: 86_400)
                #expect(after <= before + paid + (stated.convertedBalance.isZero ? .zero : second))
                #expect(service.end(of: try #require(purchase.transactionID)) == stated.expiresAt)
                if !stated.convertedBalance.isZero { conversions += 1 }
                if standing.contains(where: { $0.transactionID == purchase.transactionID && $0.at != purchase.at }) {
                    honoured += 1
                }
            }
        }
        #expect(conversions > 200 && honoured > 50)
    }
}
