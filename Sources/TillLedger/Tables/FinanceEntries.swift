import TillBilling
import TillSQL

/// Sums what was paid and refunded in the ledger, by day: the data of the financial reports. It has no table of its
/// own.
///
/// How it reads. No index covers the purchase time or the subscription, because each would cost more at every grant
/// than it saves: reports are read a few times a day, and a grant waits for each page of log. So `transactions` is read
/// once, from the first row to the last; the plus sign keeps SQLite from using an index on the environment, which would
/// read the rows in random order. SQL neither sorts nor groups, because without an index it would keep all rows in
/// memory: a reader may write no temporary files. Sales are summed while they are read, by day and common traits, of
/// which there are few. Auto-renewable periods are collected at 40 bytes each until the pass ends, since the proceeds
/// of a period depend on earlier periods (facts/business-rules §6). A ledger of more than `rowsAtOnce` rows is read in
/// several passes, each for another share of the subscriptions, so that memory stays bounded.
///
/// The result depends only on final states, never on the order of arrival: the same purchases make the same entries
/// (DESIGN §4, invariant 8). A transaction counts regardless of its owner: granted, in quarantine or revoked. A copy
/// that somebody else pays for (a family's, an assigned seat) is no sale, even after an operator grants it. A
/// transaction is a refund while its newest copy has a revocation date; a reversed refund no longer has one.
public struct FinanceEntries {
    /// How many rows may be collected in one pass.
    public static let rowsAtOnce: Int64 = 1_000_000

    private let connection: any Connection
    public init(_ connection: any Connection) { self.connection = connection }

    public struct Found: Sendable, Hashable {
        /// Ordered by day, product, storefront and the rest: the same for the same ledger.
        public var entries: [FinanceEntry] = []
        /// Sales and refunds that a report cannot contain, because Apple signed no price (those of receipts): their
        /// number by product.
        public var unpriced: [ProductID: Int] = [:]
    }

    /// Sales and refunds of the days from `start` to `end`, in Apple's day boundaries (`ReportingDay`).
    ///
    /// Free transactions are not included: free trials, and copies that somebody else pays for.
    public func list(from start: CivilDate, through end: CivilDate, in environment: StoreEnvironment) throws -> Found {
        try list(from: start, through: end, in: environment, rowsAtOnce: Self.rowsAtOnce)
    }

    func list(
        from start: CivilDate, through end: CivilDate, in environment: StoreEnvironment, rowsAtOnce: Int64
    ) throws -> Found {
        let newest =
            try connection.first(
                "SELECT coalesce(max(row_id), 0) AS newest FROM transactions", []
            ) { $0.integer("newest") } ?? 0
        let parts = max(1, (newest + rowsAtOnce - 1) / rowsAtOnce)
        var sums = FinanceSums(from: start, through: end)
        for part in 0..<parts {
            _ = try connection.query(
                """
                SELECT purchased_at, revoked_at, price, quantity, type, revocation_percentage, expires_at, \
                is_upgraded, product, currency, storefront, original_id FROM transactions WHERE +environment = ?1 \
                AND purchased_at < ?2 AND ownership_type IS NULL AND (type = 3 OR ?4 = 0 \
                AND (price IS NULL OR price <> 0) AND (purchased_at >= ?3 OR revoked_at >= ?3))
                """,
                [environment.column, .instant(sums.until), .instant(sums.since), .integer(part)]
            ) { row in
                guard row.integer("type") != 3 || Self.part(of: row.text("original_id"), among: parts) == part else {
                    return
                }
                sums.add(row)
            }
            sums.addPeriods()
        }
        return sums.found
    }

    /// The pass of a subscription: all its periods are in one pass, chosen by the last six digits of its original id.
    private static func part(of original: String, among parts: Int64) -> Int64 {
        parts == 1 ? 0 : original.utf8.suffix(6).reduce(0) { 10 * $0 + Int64($1 & 0x0F) } % parts
    }
}

/// The sums during the passes.
private struct FinanceSums {
    /// The first moment that may belong to the first day, and the first that can't belong to the last: days begin at
    /// different moments in different regions, within a day of UTC's.
    let since: Instant
    let until: Instant

    private let days: ClosedRange<Int32>
    private var traits = Interned<Traits>()
    private var counts: [Sum: Int] = [:]
    private var unpriced: [ProductID: Int] = [:]
    private var periods: [Period] = []
    private var chains = Interned<String>()
    private var places = Interned<String?>()
    /// The storefront's number, by the number of the traits.
    private var placeOfTraits: [Int32] = []
    private var dayCache: [HourIn: Int32] = [:]

    /// What transactions must have in common to be counted together.
    private struct Traits: Hashable {
        let productID: ProductID
        let type: Int64
        let storefront: String?
        let price: Int64
        let currency: String
        let quantity: Int64
    }

    private struct Sum: Hashable {
        let traits: Int32
        let day: Int32
        let soldOn: Int32
        /// Nil for a sale.
        let refundedPercentage: Int32?
        let isAfterOneYear: Bool
    }

    /// One paid or free period of an auto-renewable subscription: 40 bytes.
    private struct Period {
        let chain: UInt64
        let start: Int64
        let end: Int64
        /// 0 if not refunded.
        let revokedAt: Int64
        /// Negative for a period without a price: `free` or `unpriced`.
        let traits: Int32
        /// In thousandths of a percent; `-1 - percentage` if an upgrade cut the period short.
        let percentage: Int32

        static let free: Int32 = -1
        static let unpriced: Int32 = -2
    }

    private struct HourIn: Hashable {
        let hour: Int64
        let place: Int32
    }

    init(from start: CivilDate, through end: CivilDate) {
        let (first, last) = (start.daysSinceEpoch, max(end.daysSinceEpoch, start.daysSinceEpoch))
        days = Int32(clamping: first)...Int32(clamping: last)
        since = Instant(seconds: Int64(first - 1) * 86_400)
        until = Instant(seconds: Int64(last + 2) * 86_400)
    }

    // MARK: One row

    mutating func add(_ row: any Row) {
        let traits = traits(of: row)
        let percentage = Self.percentage(row)
        guard row.integer("type") == 3 else {
            guard let traits else { return countUnpriced(row) }
            count(
                traits, soldAt: row.integer("purchased_at"), revokedAt: row.optionalInteger("revoked_at"),
                percentage: percentage, isAfterOneYear: false)
            return
        }
        let isUnpriced = traits == nil && (row.isNull("price") || row.isNull("currency"))
        if isUnpriced { countUnpriced(row) }
        periods.append(
            Period(
                chain: chain(row.text("original_id")), start: row.integer("purchased_at"),
                end: row.isNull("expires_at") ? row.integer("purchased_at") : row.integer("expires_at"),
                revokedAt: row.isNull("revoked_at") ? 0 : row.integer("revoked_at"),
                traits: traits ?? (isUnpriced ? Period.unpriced : Period.free),
                percentage: row.integer("is_upgraded") != 0 ? -percentage - 1 : percentage))
    }

    /// Nil for a free transaction, or one without a known price.
    private mutating func traits(of row: any Row) -> Int32? {
        guard let price = row.signedPrice()?.money.amount, price != 0 else { return nil }
        let storefront = row.optionalText("storefront")
        let number = self.traits.number(
            of: Traits(
                productID: ProductID(row.text("product")), type: row.integer("type"), storefront: storefront,
                price: price,
                currency: row.text("currency"), quantity: row.integer("quantity")))
        if Int(number) == placeOfTraits.count { placeOfTraits.append(places.number(of: storefront)) }
        return number
    }

    /// Apple states the percentage from 2025-12 on; before that, all of the price was refunded.
    private static func percentage(_ row: any Row) -> Int32 {
        row.isNull("revocation_percentage")
            ? 100_000 : Int32(min(max(row.integer("revocation_percentage"), 0), 100_000))
    }

    private mutating func countUnpriced(_ row: any Row) {
        let moments = [row.integer("purchased_at")] + (row.isNull("revoked_at") ? [] : [row.integer("revoked_at")])
        let place = places.number(of: row.optionalText("storefront"))
        let here = moments.filter { days.contains(day(of: $0, in: place)) }.count
        if here > 0 { unpriced[ProductID(row.text("product")), default: 0] += here }
    }

    /// Apple's ids are decimal digits; other ids are numbered downwards from the maximum.
    private mutating func chain(_ original: String) -> UInt64 {
        if original.utf8.count <= 18, original.utf8.first != UInt8(ascii: "0"), let number = UInt64(original) {
            return number
        }
        return UInt64.max - UInt64(chains.number(of: original))
    }

    // MARK: Subscriptions

    /// Adds the collected periods, chain by chain, and clears them.
    mutating func addPeriods() {
        periods.sort { [traits] left, right in
            let (a, b) = ((left.chain, left.start, left.end), (right.chain, right.start, right.end))
            guard a == b else { return a < b }
            // The traits' numbers depend on the order of arrival, which must not affect the result.
            guard left.traits >= 0, right.traits >= 0 else { return left.traits < right.traits }
            return Self.isBefore(traits[left.traits], traits[right.traits])
        }
        var first = 0
        while first < periods.count {
            var next = first + 1
            while next < periods.count, periods[next].chain == periods[first].chain { next += 1 }
            add(chain: first..<next)
            first = next
        }
        periods = []
    }

    private mutating func add(chain range: Range<Int>) {
        var service = PaidService()
        for index in range {
            let period = periods[index]
            // Paid service ends at the refund; earlier periods keep their rate.
            let end = period.revokedAt == 0 ? period.end : min(period.end, period.revokedAt)
            let isAfterOneYear = service.add(
                PaidService.Period(
                    start: Instant(milliseconds: period.start), end: Instant(milliseconds: max(end, period.start)),
                    isFree: period.traits == Period.free, isUpgraded: period.percentage < 0))
            guard period.traits >= 0 else { continue }
            count(
                period.traits, soldAt: period.start, revokedAt: period.revokedAt == 0 ? nil : period.revokedAt,
                percentage: period.percentage < 0 ? -period.percentage - 1 : period.percentage,
                isAfterOneYear: isAfterOneYear)
        }
    }

    // MARK: Counting

    private mutating func count(
        _ traits: Int32, soldAt: Int64, revokedAt: Int64?, percentage: Int32, isAfterOneYear: Bool
    ) {
        let place = placeOfTraits[Int(traits)]
        let soldOn = day(of: soldAt, in: place)
        if days.contains(soldOn) {
            let sale = Sum(
                traits: traits, day: soldOn, soldOn: soldOn, refundedPercentage: nil, isAfterOneYear: isAfterOneYear)
            counts[sale, default: 0] += 1
        }
        guard let revokedAt, percentage > 0 else { return }
        let refundedOn = day(of: revokedAt, in: place)
        if days.contains(refundedOn) {
            let refund = Sum(
                traits: traits, day: refundedOn, soldOn: soldOn, refundedPercentage: percentage,
                isAfterOneYear: isAfterOneYear)
            counts[refund, default: 0] += 1
        }
    }

    /// Every region's days begin at a full hour of UTC, so results are cached by hour.
    private mutating func day(of milliseconds: Int64, in place: Int32) -> Int32 {
        // Rounded down also before 1970, because dates come from outside.
        let hour = HourIn(hour: (milliseconds >> 7) / 28_125 - (milliseconds < 0 ? 1 : 0), place: place)
        if let known = dayCache[hour] { return known }
        let day = ReportingDay.day(of: Instant(milliseconds: milliseconds), storefront: places[place])
        let number = Int32(clamping: day.daysSinceEpoch)
        // Limits the memory that a ledger with unusual dates could use.
        if dayCache.count >= 1 << 17 { dayCache = [:] }
        dayCache[hour] = number
        return number
    }

    // MARK: The result

    var found: FinanceEntries.Found {
        let order = counts.sorted { left, right in
            let (a, b) = (left.key, right.key)
            if (a.day, a.soldOn) != (b.day, b.soldOn) { return (a.day, a.soldOn) < (b.day, b.soldOn) }
            if a.traits != b.traits { return Self.isBefore(traits[a.traits], traits[b.traits]) }
            return (a.refundedPercentage ?? -1, a.isAfterOneYear ? 1 : 0)
                < (b.refundedPercentage ?? -1, b.isAfterOneYear ? 1 : 0)
        }
        return FinanceEntries.Found(entries: order.map { entry($0.key, count: $0.value) }, unpriced: unpriced)
    }

    private static func isBefore(_ left: Traits, _ right: Traits) -> Bool {
        if left.productID != right.productID { return left.productID < right.productID }
        if left.storefront != right.storefront { return left.storefront ?? "" < right.storefront ?? "" }
        if left.currency != right.currency { return left.currency < right.currency }
        return (left.price, left.quantity, left.type) < (right.price, right.quantity, right.type)
    }

    private func entry(_ sum: Sum, count: Int) -> FinanceEntry {
        let traits = traits[sum.traits]
        var entry = FinanceEntry(
            kind: sum.refundedPercentage == nil ? .sale : .refund, day: CivilDate(daysSinceEpoch: Int(sum.day)),
            productID: traits.productID,
            paid: Money(amount: traits.price, currency: Currency(traits.currency)), count: count)
        entry.productType = ProductType(column: traits.type)
        entry.storefront = traits.storefront
        entry.quantity = Int(clamping: traits.quantity)
        entry.isAfterOneYear = sum.isAfterOneYear
        entry.soldOn = CivilDate(daysSinceEpoch: Int(sum.soldOn))
        if let percentage = sum.refundedPercentage { entry.refundedPercentage = Int(percentage) }
        return entry
    }
}

/// Assigns small numbers to repeated values.
private struct Interned<Value: Hashable> {
    private var numbers: [Value: Int32] = [:]
    private var values: [Value] = []

    mutating func number(of value: Value) -> Int32 {
        if let known = numbers[value] { return known }
        let number = Int32(clamping: values.count)
        values.append(value)
        numbers[value] = number
        return number
    }

    subscript(number: Int32) -> Value { values[Int(number)] }
}
