/// An exact, non-negative rational number in lowest terms. It keeps money unrounded in calculations.
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

    /// Nil if `other` is zero.
    public func divided(by other: Fraction) -> Fraction? {
        other.isZero
            ? nil : Fraction(numerator * other.denominator, over: denominator * other.numerator)
    }

    public var roundedDown: Natural { numerator.quotientAndRemainder(dividingBy: denominator).quotient }

    public var roundedUp: Natural {
        let (quotient, remainder) = numerator.quotientAndRemainder(dividingBy: denominator)
        return remainder.isZero ? quotient : quotient + .one
    }

    /// The nearest whole number; halves are rounded up.
    public var rounded: Natural { (self + Fraction(1, over: 2)).roundedDown }
}

extension Fraction: Comparable {
    public static func < (left: Fraction, right: Fraction) -> Bool {
        left.numerator * right.denominator < right.numerator * left.denominator
    }
}

extension Fraction: CustomStringConvertible {
    /// `299/2`; a whole number without the slash.
    public var description: String { isWhole ? "\(numerator)" : "\(numerator)/\(denominator)" }

    /// The decimal form with at most `places` decimals, rounded half up and without trailing zeros, and whether it is
    /// exact.
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

/// A natural number of any size, including zero, so exact arithmetic cannot overflow. `Int128` would be too small for
/// sums of fractions, and requires a newer iOS than the client's deployment target.
public struct Natural: Hashable, Sendable {
    /// Base 2³², least significant first, without leading zeros of the number.
    private let limbs: [UInt32]

    public static let zero = Natural(0)
    public static let one = Natural(1)

    public init(_ value: UInt64) { self.init(limbs: [UInt32(truncatingIfNeeded: value), UInt32(value >> 32)]) }

    private init(limbs: [UInt32]) {
        let length = limbs.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
        self.limbs = length == limbs.count ? limbs : Array(limbs[..<length])
    }

    public var isZero: Bool { limbs.isEmpty }

    /// The number as `UInt64`, if it fits.
    public var uint64: UInt64? {
        guard limbs.count <= 2 else { return nil }
        return limbs.reversed().reduce(0) { $0 << 32 | UInt64($1) }
    }

    public static func + (left: Natural, right: Natural) -> Natural {
        let (long, short) =
            left.limbs.count >= right.limbs.count ? (left.limbs, right.limbs) : (right.limbs, left.limbs)
        var sum: [UInt32] = []
        sum.reserveCapacity(long.count + 1)
        var carry: UInt64 = 0
        for (index, limb) in long.enumerated() {
            carry += UInt64(limb) + (index < short.count ? UInt64(short[index]) : 0)
            sum.append(UInt32(truncatingIfNeeded: carry))
            carry >>= 32
        }
        return Natural(limbs: sum + [UInt32(carry)])
    }

    public static func * (left: Natural, right: Natural) -> Natural {
        var product = [UInt32](repeating: 0, count: left.limbs.count + right.limbs.count)
        for (offset, one) in left.limbs.enumerated() {
            var carry: UInt64 = 0
            for (index, other) in right.limbs.enumerated() {
                carry += UInt64(one) * UInt64(other) + UInt64(product[offset + index])
                product[offset + index] = UInt32(truncatingIfNeeded: carry)
                carry >>= 32
            }
            product[offset + right.limbs.count] = UInt32(carry)
        }
        return Natural(limbs: product)
    }

    /// Long division in base 2³² (Knuth, The Art of Computer Programming, volume 2, 4.3.1, algorithm D).
    public func quotientAndRemainder(dividingBy divisor: Natural) -> (quotient: Natural, remainder: Natural) {
        precondition(!divisor.isZero, "nothing is divided by zero")
        guard self >= divisor else { return (.zero, self) }
        guard divisor.limbs.count > 1 else { return dividedBy(limb: divisor.limbs[0]) }
        // Both are shifted until the divisor's highest bit is set; then each estimated digit is at most two too high.
        let shift = divisor.limbs[divisor.limbs.count - 1].leadingZeroBitCount
        let below = divisor.shifted(left: shift).limbs
        var rest = shifted(left: shift).limbs
        rest += [UInt32](repeating: 0, count: limbs.count + 1 - rest.count)
        let (first, second) = (UInt64(below[below.count - 1]), UInt64(below[below.count - 2]))
        var quotient = [UInt32](repeating: 0, count: rest.count - below.count)
        for position in quotient.indices.reversed() {
            let top = UInt64(rest[position + below.count]) << 32 | UInt64(rest[position + below.count - 1])
            var guess = top / first
            var left = top % first
            while guess >> 32 != 0 || guess * second > left << 32 | UInt64(rest[position + below.count - 2]) {
                guess -= 1
                left += first
                if left >> 32 != 0 { break }
            }
            if Self.subtract(below, times: guess, from: &rest, at: position) {
                guess -= 1
                Self.add(below, to: &rest, at: position)
            }
            quotient[position] = UInt32(guess)
        }
        return (Natural(limbs: quotient), Natural(limbs: rest).shifted(right: shift))
    }

    /// Whether the product was too large; then 2³² to the power of its length has been added to the rest.
    private static func subtract(
        _ digits: [UInt32], times factor: UInt64, from rest: inout [UInt32], at position: Int
    ) -> Bool {
        var carry: UInt64 = 0
        var borrow: Int64 = 0
        for (index, digit) in digits.enumerated() {
            carry += factor * UInt64(digit)
            borrow += Int64(rest[position + index]) - Int64(carry & 0xFFFF_FFFF)
            rest[position + index] = UInt32(truncatingIfNeeded: borrow)
            borrow >>= 32
            carry >>= 32
        }
        borrow += Int64(rest[position + digits.count]) - Int64(carry)
        rest[position + digits.count] = UInt32(truncatingIfNeeded: borrow)
        return borrow < 0
    }

    private static func add(_ digits: [UInt32], to rest: inout [UInt32], at position: Int) {
        var carry: UInt64 = 0
        for (index, digit) in digits.enumerated() {
            carry += UInt64(rest[position + index]) + UInt64(digit)
            rest[position + index] = UInt32(truncatingIfNeeded: carry)
            carry >>= 32
        }
        rest[position + digits.count] &+= UInt32(truncatingIfNeeded: carry)
    }

    private func dividedBy(limb: UInt32) -> (quotient: Natural, remainder: Natural) {
        var quotient = limbs
        var rest: UInt64 = 0
        for index in limbs.indices.reversed() {
            rest = rest << 32 | UInt64(limbs[index])
            quotient[index] = UInt32(rest / UInt64(limb))
            rest %= UInt64(limb)
        }
        return (Natural(limbs: quotient), Natural(rest))
    }

    /// The shift is less than 32 bits.
    private func shifted(left bits: Int) -> Natural {
        var carry: UInt64 = 0
        var shifted: [UInt32] = []
        for limb in limbs {
            carry |= UInt64(limb) << bits
            shifted.append(UInt32(truncatingIfNeeded: carry))
            carry >>= 32
        }
        return Natural(limbs: shifted + [UInt32(carry)])
    }

    private func shifted(right bits: Int) -> Natural {
        Natural(
            limbs: limbs.indices.map { index in
                let above = index + 1 < limbs.count ? UInt64(limbs[index + 1]) << 32 : 0
                return UInt32(truncatingIfNeeded: (above | UInt64(limbs[index])) >> bits)
            })
    }

    public func greatestCommonDivisor(with other: Natural) -> Natural {
        var (one, two) = (self, other)
        while !two.isZero { (one, two) = (two, one.quotientAndRemainder(dividingBy: two).remainder) }
        return one
    }
}

extension Natural: Comparable {
    public static func < (left: Natural, right: Natural) -> Bool {
        guard left.limbs.count == right.limbs.count else { return left.limbs.count < right.limbs.count }
        return left.limbs.reversed().lexicographicallyPrecedes(right.limbs.reversed())
    }
}

extension Natural: CustomStringConvertible {
    public var description: String {
        var digits = ""
        var rest = self
        while rest.uint64 == nil {
            let (quotient, remainder) = rest.dividedBy(limb: 1_000_000_000)
            let group = remainder.uint64.map { String($0) } ?? ""
            digits = String(repeating: "0", count: 9 - group.utf8.count) + group + digits
            rest = quotient
        }
        let first = rest.uint64 ?? 0
        return first == 0 && !digits.isEmpty ? digits : String(first) + digits
    }
}
