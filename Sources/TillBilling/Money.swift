/// A currency by its ISO 4217 code, three capital letters.
public typealias Currency = Identifier<IdentifierKind.Currency>

extension Currency {
    /// The decimal digits of the minor unit (ISO 4217): the yen and the won have none, the Kuwaiti dinar has three.
    public var minorDigits: Int {
        switch text {
        case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF",
            "XOF", "XPF":
            0
        case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND": 3
        default: 2
        }
    }

    public var isWellFormed: Bool {
        text.utf8.count == 3 && text.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }
}

/// A price as Apple signs it: in thousandths of the currency's unit, independent of its minor unit.
public struct SignedPrice: Hashable, Sendable {
    public let milliunits: Int64
    public let currency: Currency

    public init(milliunits: Int64, currency: Currency) {
        self.milliunits = milliunits
        self.currency = currency
    }

    /// Converts a price in minor units.
    public init(_ money: Money) {
        let factor: Int64 = money.currency.minorDigits == 0 ? 1_000 : money.currency.minorDigits == 2 ? 10 : 1
        self.init(milliunits: money.amount * factor, currency: money.currency)
    }

    /// The price in minor units, rounded.
    public var money: Money { Money(milliunits: milliunits, currency: currency) }
}

/// An amount of money in minor units (fen, cents, yen) with its currency. Never floating point.
public struct Money: Hashable, Sendable, Codable {
    /// Minor units: ¥6.00 is 600 CNY, ¥120 is 120 JPY.
    public let amount: Int64
    public let currency: Currency

    public init(amount: Int64, currency: Currency) {
        self.amount = amount
        self.currency = currency
    }

    /// Parses a decimal as on a price tag: `0.99`, `128`, at most nine digits before the point. Nil for any other text,
    /// and for a fraction of the minor unit.
    public init?(decimal text: some StringProtocol, currency: Currency) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, (1...9).contains(whole.count), parts.count == 1 || !parts[1].isEmpty else {
            return nil
        }
        var fraction = parts.count == 1 ? [] : Array(parts[1])
        while fraction.count > currency.minorDigits, fraction.last == UInt8(ascii: "0") { fraction.removeLast() }
        guard fraction.count <= currency.minorDigits else { return nil }
        fraction += Array(repeating: UInt8(ascii: "0"), count: currency.minorDigits - fraction.count)
        var amount: Int64 = 0
        for digit in Array(whole) + fraction {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            amount = amount * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        self.init(amount: amount, currency: currency)
    }

    /// Converts Apple's milliunits (1/1000 of the unit, facts/jws §1): USD 1.99 is 1990. A remainder below the minor
    /// unit is rounded half away from zero.
    public init(milliunits: Int64, currency: Currency) {
        let digits = currency.minorDigits
        let divisor: Int64 = digits == 0 ? 1_000 : digits == 2 ? 10 : 1
        let (quotient, remainder) = milliunits.quotientAndRemainder(dividingBy: divisor)
        let roundsUp = remainder.magnitude * 2 >= UInt64(divisor) && remainder != 0
        self.init(amount: roundsUp ? quotient + (milliunits < 0 ? -1 : 1) : quotient, currency: currency)
    }
}

extension Money: CustomStringConvertible {
    /// `6.00 CNY`, `120 JPY`.
    public var description: String {
        let digits = currency.minorDigits
        guard digits > 0 else { return "\(amount) \(currency.text)" }
        let scale: UInt64 = digits == 2 ? 100 : 1_000
        let fraction = String(amount.magnitude % scale)
        let padded = String(repeating: "0", count: digits - fraction.utf8.count) + fraction
        return "\(amount < 0 ? "-" : "")\(amount.magnitude / scale).\(padded) \(currency.text)"
    }
}
