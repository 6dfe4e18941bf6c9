/// The inverse of a number modulo an odd number of at most 256 bits, by the division steps of Bernstein and Yang
/// ("Fast constant-time gcd computation and modular inversion", 2019). Its time depends on the numbers, so they must be
/// public, as those of a signature are.
///
/// Callers multiply and compare: a wrong inverse is then no more than a loss of time.
struct ModularInverse {
    /// Numbers of five limbs of 62 bits, the last one signed.
    typealias Limbs = (Int64, Int64, Int64, Int64, Int64)

    private static let bits: Int64 = 62
    private static let mask = UInt64.max >> 2
    /// 741 steps suffice for every number of 256 bits (Theorem 11.2), and a round makes 62.
    private static let rounds = 12

    private let modulus: Limbs
    /// The inverse of the modulus modulo 2⁶².
    private let inverse: UInt64

    /// - Parameter modulus: 32 bytes, big-endian. Nil if it is even.
    init?(modulo modulus: [UInt8]) {
        guard modulus.count == 32, modulus[31] & 1 == 1 else { return nil }
        self.modulus = Self.limbs(modulus)
        let lowest = UInt64(bitPattern: self.modulus.0)
        // An odd number is its own inverse modulo 8; each step doubles the bits that are right.
        var inverse = lowest
        for _ in 0..<5 { inverse &*= 2 &- lowest &* inverse }
        self.inverse = inverse & Self.mask
    }

    /// - Parameter number: 32 bytes, big-endian, less than the modulus.
    /// - Returns: the same; nil if there is no inverse.
    func of(_ number: [UInt8]) -> [UInt8]? {
        guard number.count == 32 else { return nil }
        var (f, g): (Limbs, Limbs) = (modulus, Self.limbs(number))
        var (d, e): (Limbs, Limbs) = ((0, 0, 0, 0, 0), (1, 0, 0, 0, 0))
        var delta: Int64 = 1
        for _ in 0..<Self.rounds where g != (0, 0, 0, 0, 0) {
            let steps = Steps(&delta, Self.low(f), Self.low(g))
            (d, e) = reduced(steps, d, e)
            (f, g) = Self.divided(steps, f, g)
        }
        // The greatest common divisor, with a sign.
        guard g == (0, 0, 0, 0, 0),
            f == (1, 0, 0, 0, 0)
                || f == (
                    Int64(Self.mask), Int64(Self.mask), Int64(Self.mask),
                    Int64(Self.mask), -1
                )
        else { return nil }
        return bytes(f.4 < 0 ? Self.negated(d) : d)
    }

    // MARK: Steps

    /// 62 division steps as a matrix: (f, g) becomes (u·f + v·g, q·f + r·g) / 2⁶².
    private struct Steps {
        var (u, v, q, r): (Int64, Int64, Int64, Int64) = (1, 0, 0, 1)

        /// - Parameters: the lowest 64 bits of f, which is odd, and of g.
        @inline(__always)
        init(_ delta: inout Int64, _ low: UInt64, _ other: UInt64) {
            var (f, g, left) = (low, other, ModularInverse.bits)
            while true {
                // Steps with an even g only halve it.
                let zeros = min(Int64(g.trailingZeroBitCount), left)
                g >>= UInt64(zeros)
                u <<= zeros
                v <<= zeros
                delta += zeros
                left -= zeros
                guard left > 0 else { return }
                if delta > 0 {
                    delta = -delta
                    (f, g) = (g, 0 &- f)
                    (u, q) = (q, 0 &- u)
                    (v, r) = (r, 0 &- v)
                }
                g &+= f
                q &+= u
                r &+= v
            }
        }
    }

    /// A signed number of 128 bits, to which products are added.
    private struct Sum {
        var (high, low): (Int64, UInt64) = (0, 0)

        @inline(__always)
        mutating func add(_ one: Int64, _ other: Int64) {
            let product = one.multipliedFullWidth(by: other)
            let (sum, carries) = low.addingReportingOverflow(product.low)
            (low, high) = (sum, high &+ product.high &+ (carries ? 1 : 0))
        }

        /// Removes the lowest 62 bits, and returns them.
        @inline(__always)
        mutating func shift() -> Int64 {
            let lowest = Int64(low & ModularInverse.mask)
            low = low >> 62 | UInt64(bitPattern: high) << 2
            high >>= 62
            return lowest
        }
    }

    @inline(__always)
    private static func divided(_ steps: Steps, _ f: Limbs, _ g: Limbs) -> (Limbs, Limbs) {
        var (first, second) = (Sum(), Sum())
        var (newF, newG): (Limbs, Limbs) = (f, g)
        @inline(__always) func add(_ f: Int64, _ g: Int64) -> (Int64, Int64) {
            first.add(steps.u, f)
            first.add(steps.v, g)
            second.add(steps.q, f)
            second.add(steps.r, g)
            return (first.shift(), second.shift())
        }
        // The lowest limbs are zero.
        _ = add(f.0, g.0)
        (newF.0, newG.0) = add(f.1, g.1)
        (newF.1, newG.1) = add(f.2, g.2)
        (newF.2, newG.2) = add(f.3, g.3)
        (newF.3, newG.3) = add(f.4, g.4)
        (newF.4, newG.4) = (Int64(bitPattern: first.low), Int64(bitPattern: second.low))
        return (newF, newG)
    }

    /// The same modulo the modulus: its multiples make the sums divisible by 2⁶². The results lie between -2 and 1
    /// times it, as d and e do.
    @inline(__always)
    private func reduced(_ steps: Steps, _ d: Limbs, _ e: Limbs) -> (Limbs, Limbs) {
        let (dSign, eSign) = (d.4 >> 63, e.4 >> 63)
        var (first, second) = (Sum(), Sum())
        first.add(steps.u, d.0)
        first.add(steps.v, e.0)
        second.add(steps.q, d.0)
        second.add(steps.r, e.0)
        let ownFirst = (steps.u & dSign) &+ (steps.v & eSign)
        let ownSecond = (steps.q & dSign) &+ (steps.r & eSign)
        let timesFirst = ownFirst &- remainder(first, ownFirst)
        let timesSecond = ownSecond &- remainder(second, ownSecond)
        first.add(modulus.0, timesFirst)
        second.add(modulus.0, timesSecond)
        _ = (first.shift(), second.shift())
        @inline(__always) func add(_ d: Int64, _ e: Int64, _ modulus: Int64) -> (Int64, Int64) {
            first.add(steps.u, d)
            first.add(steps.v, e)
            first.add(modulus, timesFirst)
            second.add(steps.q, d)
            second.add(steps.r, e)
            second.add(modulus, timesSecond)
            return (first.shift(), second.shift())
        }
        var (newD, newE): (Limbs, Limbs) = (d, e)
        (newD.0, newE.0) = add(d.1, e.1, modulus.1)
        (newD.1, newE.1) = add(d.2, e.2, modulus.2)
        (newD.2, newE.2) = add(d.3, e.3, modulus.3)
        (newD.3, newE.3) = add(d.4, e.4, modulus.4)
        (newD.4, newE.4) = (Int64(bitPattern: first.low), Int64(bitPattern: second.low))
        return (newD, newE)
    }

    /// What multiple of the modulus, besides the given one, clears the sum's lowest 62 bits when it is subtracted.
    @inline(__always)
    private func remainder(_ sum: Sum, _ own: Int64) -> Int64 {
        Int64((inverse &* sum.low &+ UInt64(bitPattern: own)) & Self.mask)
    }

    // MARK: Forms

    /// The lowest 64 bits.
    @inline(__always)
    private static func low(_ limbs: Limbs) -> UInt64 {
        UInt64(bitPattern: limbs.0) | UInt64(bitPattern: limbs.1) << 62
    }

    private static func limbs(_ bytes: [UInt8]) -> Limbs {
        func word(_ index: Int) -> UInt64 {
            bytes[(24 - 8 * index)..<(32 - 8 * index)].reduce(0) { $0 << 8 | UInt64($1) }
        }
        let (a, b, c, d) = (word(0), word(1), word(2), word(3))
        func limb(_ bits: UInt64) -> Int64 { Int64(bits & mask) }
        return (limb(a), limb(a >> 62 | b << 2), limb(b >> 60 | c << 4), limb(c >> 58 | d << 6), Int64(d >> 56))
    }

    private static func negated(_ limbs: Limbs) -> Limbs {
        added(
            (~limbs.0 & Int64(mask), ~limbs.1 & Int64(mask), ~limbs.2 & Int64(mask), ~limbs.3 & Int64(mask), ~limbs.4),
            (1, 0, 0, 0, 0))
    }

    private static func added(_ one: Limbs, _ other: Limbs) -> Limbs {
        var carry: Int64 = 0
        func add(_ one: Int64, _ other: Int64) -> Int64 {
            let sum = one &+ other &+ carry
            carry = sum >> 62
            return sum & Int64(mask)
        }
        let low = (add(one.0, other.0), add(one.1, other.1), add(one.2, other.2), add(one.3, other.3))
        return (low.0, low.1, low.2, low.3, one.4 &+ other.4 &+ carry)
    }

    /// - Parameter number: between -2 and 2 times the modulus.
    private func bytes(_ number: Limbs) -> [UInt8] {
        var number = number
        while number.4 < 0 { number = Self.added(number, modulus) }
        let rest = Self.added(number, Self.negated(modulus))
        if rest.4 >= 0 { number = rest }
        let words = [
            UInt64(bitPattern: number.3) >> 6 | UInt64(bitPattern: number.4) << 56,
            UInt64(bitPattern: number.2) >> 4 | UInt64(bitPattern: number.3) << 58,
            UInt64(bitPattern: number.1) >> 2 | UInt64(bitPattern: number.2) << 60,
            UInt64(bitPattern: number.0) | UInt64(bitPattern: number.1) << 62,
        ]
        return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
    }
}
