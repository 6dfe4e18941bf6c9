/// An exact rational number from zero up, in lowest terms. Money is never rounded on the way (C5).
public struct Fraction: Hashable, Sendable {
    public let numerator: Natural
    /// Never zero.
    public let denominator: Natural

    public static let zero = Fraction(0)

    public init(_ value: UInt64) {
        numerator = Natural(value)
        denominator = .one
    }

    public init(_ numerator: Natural, over denominator: Natural) {
        let divisor = numerator.greatestCommonDivisor(with: denominator)
        self.numerator = numerator.quotientAndRemainder(dividingBy: divisor).quotient
        self.denominator = denominator.quotientAndRemainder(dividingBy: divisor).quotient
    }

    public init(_ numerator: UInt64, over denominator: UInt64) {
        self.init(Natural(numerator), over: Natural(denominator))
    }

    public var isZero: Bool { numerator.isZero }
    public var isWhole: Bool { denominator == .one }

    public static func + (left: Fraction, right: Fraction) -> Fraction {
        Fraction(
            left.numerator * right.denominator + right.numerator * left.denominator,
            over: left.denominator * right.denominator)
    }

    public static func * (left: Fraction, right: Fraction) -> Fraction {
        Fraction(left.numerator * right.numerator, over: left.denominator * right.denominator)
    }

    /// Nil for a division by zero.
    public func divided(by other: Fraction) -> Fraction? {
        other.isZero
            ? nil : Fraction(numerator * other.denominator, over: denominator * other.numerator)
    }

    public var roundedDown: Natural { numerator.quotientAndRemainder(dividingBy: denominator).quotient }

    public var roundedUp: Natural {
        let (quotient, remainder) = numerator.quotientAndRemainder(dividingBy: denominator)
        return remainder.isZero ? quotient : quotient + .one
    }

    /// To the nearest whole number, a half up.
    public var rounded: Natural { (self + Fraction(1, over: 2)).roundedDown }
}

extension Fraction: Comparable {
    public static func < (left: Fraction, right: Fraction) -> Bool {
        left.numerator * right.denominator < right.numerator * left.denominator
    }
}

extension Fraction: CustomStringConvertible {
    /// `299/2`; a whole number without the stroke.
    public var description: String { isWhole ? "\(numerator)" : "\(numerator)/\(denominator)" }

    /// With at most so many decimals, rounded half up and without zeros at the end; and whether that is all of it.
    public func decimal(places: Int) -> (text: String, isExact: Bool) {
        let scale = (0..<places).reduce(Natural.one) { power, _ in power * Natural(10) }
        let scaled = self * Fraction(scale, over: .one)
        let digits = "\(scaled.rounded)"
        let padded = String(repeating: "0", count: max(0, places + 1 - digits.utf8.count)) + digits
        var fraction = padded.suffix(places)
        while fraction.last == "0" { fraction.removeLast() }
        let whole = String(padded.dropLast(places))
        return (fraction.isEmpty ? whole : "\(whole).\(fraction)", scaled.isWhole)
    }
}
