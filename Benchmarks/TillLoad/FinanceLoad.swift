import Foundation
import TillBilling
import TillLedger
import TillSQL
import TillSQLite

/// Fills a ledger with realistic purchases and creates their settlement report: two fiscal years, twenty products,
/// eight storefronts, every product type, one refund in forty, and chains of subscription renewals.
struct FinanceLoad {
    let directory: String
    let purchases: Int

    private static let start = CivilDate(daysSinceEpoch: 19_995)
    private static let days = 728
    /// Eight of twenty purchases belong to a subscription.
    private static let renewalsOfTwenty = 8
    /// The number of periods of a chain in two years.
    private static let periodsOfChain = 8

    /// Reports the seconds to fill the ledger; of a bare table scan by SQLite; to read the entries; to create their
    /// report; both as a multiple of a scan; resident MiB before and at most; entries and rows of the report; bytes of
    /// the file per purchase.
    func line() async throws -> String {
        let path = directory + "/till.db"
        let clock = ContinuousClock()
        let filling = clock.now
        try await fill(path)
        let filled = (clock.now - filling) / .seconds(1)

        let ledger = try SQLiteDatabase.open(path: path, role: .operator, options: .init(.ledger))
        // The first scan reads the file from disk or from the system's cache.
        var scan = Double.infinity
        for _ in 0..<3 {
            let began = clock.now
            let sum = try await ledger.read { try Self.scan($0) }
            guard sum == purchases else { throw LoadError("\(sum) transactions in a ledger of \(purchases)") }
            scan = min(scan, (clock.now - began) / .seconds(1))
        }
        let before = try ProcessMemory.now()
        try ProcessMemory.forgetHighest()
        let reading = clock.now
        let found = try await ledger.read { connection in
            try FinanceEntries(connection).list(
                from: Self.start, through: Self.start.adding(days: Self.days), in: .production)
        }
        let read = (clock.now - reading) / .seconds(1)
        let reporting = clock.now
        let report = SettlementReport(found.entries)
        let reported = (clock.now - reporting) / .seconds(1)
        let highest = try ProcessMemory.highest()
        await ledger.close()

        let sold = found.entries.filter { $0.kind == .sale }.reduce(0) { $0 + $1.count }
        guard sold == purchases - purchases / 20 else { throw LoadError("\(sold) sales of \(purchases) purchases") }
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        return [
            seconds(filled), seconds(scan), seconds(read), seconds(reported), seconds((read + reported) / scan),
            seconds(before), seconds(highest), String(found.entries.count),
            String(report.periods.reduce(0) { $0 + $1.rows.count }), String(size / purchases),
        ].joined(separator: " ")
    }

    /// The minimum work of any report: reads every row, and columns at both ends of it.
    private static func scan(_ connection: any Connection) throws -> Int {
        try connection.first(
            """
            SELECT count(*) AS count, sum(price), max(purchased_at), max(revoked_at), max(storefront), \
            max(original_id) FROM transactions WHERE +environment = 1
            """, []
        ) { Int($0.integer("count")) } ?? 0
    }

    private func fill(_ path: String) async throws {
        let ledger = try SQLiteDatabase.open(path: path, role: .server, options: .init(.ledger))
        let purchases = purchases
        let portion = 5_000
        for first in stride(from: 0, to: purchases, by: portion) {
            try await ledger.write { connection in
                let table = TransactionTable(connection)
                for number in first..<min(first + portion, purchases) {
                    let transaction = Self.transaction(number, of: purchases)
                    _ = try table.insert(
                        transaction, state: transaction.revokedAt == nil ? .granted : .revoked, quarantine: nil,
                        orderRowID: nil, at: transaction.purchasedAt)
                }
            }
        }
        await ledger.close()
    }

    private static let storefronts: [(code: String, currency: String, times: Int64)] = [
        ("CHN", "CNY", 6), ("USA", "USD", 1), ("JPN", "JPY", 1), ("DEU", "EUR", 1), ("GBR", "GBP", 1),
        ("FRA", "EUR", 1),
        ("KOR", "KRW", 12), ("AUS", "AUD", 2),
    ]

    /// The same number always gives the same transaction. The transactions are in order of their dates, as in
    /// production.
    private static func transaction(_ number: Int, of purchases: Int) -> PaidTransaction {
        let seconds = Int64(start.daysSinceEpoch) * 86_400 + 90_000
        let span = Int64(days - 2) * 86_400
        let at = Instant(seconds: seconds + span * Int64(number) / Int64(purchases))
        let kind = number % 20
        let isSubscription = kind < renewalsOfTwenty
        // Consecutive periods of a chain are `chains` apart.
        let chains = max(1, purchases * renewalsOfTwenty / 20 / periodsOfChain)
        let ordinal = number / 20 * renewalsOfTwenty + kind
        let (chain, period) = (ordinal % chains, ordinal / chains)
        let who = isSubscription ? chain : number
        let storefront = storefronts[who % storefronts.count]
        let cents = Int64([99, 299, 599, 999, 1_999][who % 5])
        var terms = TransactionTerms(type: type(kind), storefront: storefront.code)
        if isSubscription {
            terms.groupID = "21000001"
            terms.expiresAt = at.adding(seconds: span / Int64(periodsOfChain))
        }
        let isFree = kind == 9
        let isRefunded = number % 40 == 13
        let id = TransactionID(String(2_000_000_000_000_000 + number))
        return PaidTransaction(
            id: id,
            originalID: isSubscription ? TransactionID(String(1_000_000_000_000_000 + chain * 7)) : id,
            productID: ProductID("com.example.shop.product\(isSubscription ? chain % 4 : 4 + number % 16)"),
            quantity: kind == 19 ? 3 : 1, environment: .production, token: nil, purchasedAt: at, signedAt: at,
            revokedAt: isRefunded ? at.adding(seconds: 20 * 86_400) : nil, isRenewal: isSubscription && period > 0,
            isFromReceipt: false,
            price: SignedPrice(
                Money(amount: isFree ? 0 : cents * storefront.times, currency: Currency(storefront.currency))),
            terms: terms)
    }

    private static func type(_ kind: Int) -> ProductType {
        switch kind {
        case ..<renewalsOfTwenty: .autoRenewable
        case 8: .nonRenewing
        case 10...12: .nonConsumable
        default: .consumable
        }
    }

    private func seconds(_ value: Double) -> String { String(format: "%.2f", value) }
}

/// Linux's memory figures for this process, in MiB.
enum ProcessMemory {
    static func now() throws -> Double { try value("VmRSS") }
    static func highest() throws -> Double { try value("VmHWM") }

    /// Resets the maximum (proc(5), clear_refs).
    static func forgetHighest() throws {
        try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
    }

    private static func value(_ name: String) throws -> Double {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") } ?? ""
        let kibibytes = line.split { $0 == " " || $0 == "\t" }.dropFirst().first.flatMap { Double($0) }
        return (kibibytes ?? 0) / 1_024
    }
}
