import Testing
import TillBilling

@Suite("Exact numbers") struct FractionTests {
    /// The number with these decimal digits.
    private func natural(_ digits: String) -> Natural {
        digits.utf8.reduce(.zero) { $0 * Natural(10) + Natural(UInt64($1 - 48)) }
    }

    @Test("Long numbers multiply, divide and are written as by any other exact arithmetic")
    func long() {
        let one = natural("6249203505451628849355562804605214360377642680160146602686")
        let two = natural("79228162495817593524129366015")
        #expect("\(one)" == "6249203505451628849355562804605214360377642680160146602686")
        let (quotient, remainder) = one.quotientAndRemainder(dividingBy: two)
        #expect("\(quotient)" == "78876037365899032415723550583")
        #expect("\(remainder)" == "42959270345717476587572965941")
        #expect(
            "\(one * two)"
                == "495112910799354577156196190912348845390228028944565970740336380135442912333269276116290")
        #expect("\(natural("1000000000") * natural("1000000000"))" == "1000000000000000000")
        #expect("\(natural("100000000000000000000"))" == "100000000000000000000")
        #expect("\(Natural.zero)" == "0" && Natural.zero.isZero)
        #expect(natural("18446744073709551615").uint64 == .max)
        #expect(natural("18446744073709551616").uint64 == nil)
    }

    @Test(
        "Quotient times divisor plus remainder equals the dividend, for numbers that test the guesses of long division")
    func division() {
        var generator = SeededGenerator(state: 7)
        /// Limbs of all ones and all zeros are where guessed digits go wrong.
        func number(_ limbs: Int) -> Natural {
            (0..<limbs).reduce(.zero) { number, _ in
                let limb: UInt64 =
                    switch generator.next() % 4 {
                    case 0: 0xFFFF_FFFF
                    case 1: 0
                    case 2: 0x8000_0000
                    default: generator.next() >> 32
                    }
                return number * Natural(1 << 32) + Natural(limb)
            }
        }
        for round in 0..<4_000 {
            let (dividend, divisor) = (number(round % 9), number(round % 5 + 1))
            guard !divisor.isZero else { continue }
            let (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
            #expect(remainder < divisor && quotient * divisor + remainder == dividend)
        }
    }

    @Test("Fractions are in lowest terms, round as requested, and report when decimals are not exact")
    func fractions() {
        #expect("\(Fraction(4_485, over: 30))" == "299/2" && "\(Fraction(600, over: 6))" == "100")
        #expect(Fraction(1, over: 3) + Fraction(1, over: 6) == Fraction(1, over: 2))
        #expect(Fraction(2, over: 3) * Fraction(3, over: 4) == Fraction(1, over: 2))
        #expect(Fraction(1, over: 2).divided(by: Fraction(1, over: 8)) == Fraction(4))
        #expect(Fraction(1).divided(by: .zero) == nil)
        #expect(Fraction(1, over: 3) < Fraction(34, over: 100))
        #expect(Fraction(7, over: 2).roundedDown == Natural(3) && Fraction(7, over: 2).roundedUp == Natural(4))
        #expect(Fraction(7, over: 2).rounded == Natural(4) && Fraction(10, over: 3).rounded == Natural(3))
        #expect(Fraction(8).roundedUp == Natural(8))
        for (fraction, text, isExact) in [
            (Fraction(299, over: 200), "1.495", true), (Fraction(2, over: 3), "0.666667", false),
            (Fraction(12), "12", true), (.zero, "0", true), (Fraction(1, over: 10_000_000), "0", false),
            (Fraction(1_999_999_999, over: 1_000_000_000), "2", false),
        ] {
            #expect(fraction.decimal(places: 6) == (text, isExact))
        }
    }
}

/// Numbers that look random and are the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
