import Testing

@testable import TillCrypto

@Suite("Inverses modulo the order of P-256")
struct ModularInverseTests {
    private static let order = number("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")

    private static func number(_ hex: String) -> [UInt8] {
        stride(from: 0, to: 64, by: 2).compactMap { place in
            let start = hex.index(hex.startIndex, offsetBy: place)
            return UInt8(hex[start..<hex.index(start, offsetBy: 2)], radix: 16)
        }
    }

    // Computed with Python's pow(number, -1, order).
    @Test(
        "Inverses are those that another program computes",
        arguments: [
            (
                "0000000000000000000000000000000000000000000000000000000000000001",
                "0000000000000000000000000000000000000000000000000000000000000001"
            ),
            (
                "0000000000000000000000000000000000000000000000000000000000000002",
                "7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a9"
            ),
            (
                "0000000000000000000000000000000000000000000000000000000000000003",
                "aaaaaaaa00000000aaaaaaaaaaaaaaaa7def51c91a0fbf034d26872ca84218e1"
            ),
            (
                "00000000000000000000000000000000000000000000000000000000deadbeef",
                "cd7511743ed30a1572fb4d9b52d237e1af2da8c035abd67201679c7a982a7a52"
            ),
            (
                "8000000000000000000000000000000000000000000000000000000000000000",
                "c1a0cc66920b83d20ff16c083cc0ee4b75bde7c486acdf5f9c3791ef3832f8f2"
            ),
            (
                "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc63254f",
                "7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8"
            ),
            (
                "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550",
                "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550"
            ),
        ])
    func vectors(_ number: String, _ inverse: String) throws {
        let inverses = try #require(ModularInverse(modulo: Self.order))
        #expect(inverses.of(Self.number(number)) == Self.number(inverse))
    }

    @Test("A number times its inverse is one, for powers of two and for random numbers")
    func products() throws {
        let inverses = try #require(ModularInverse(modulo: Self.order))
        var numbers = (0..<256).map { bit -> [UInt8] in
            var number = [UInt8](repeating: 0, count: 32)
            number[31 - bit / 8] = 1 << (bit % 8)
            return number
        }
        numbers += (0..<500).map { _ in [0x7F] + RandomBytes.make(31) }
        let one = [UInt8](repeating: 0, count: 31) + [1]
        for number in numbers {
            let inverse = try #require(inverses.of(number))
            #expect(product(number, inverse) == one, "\(number)")
        }
    }

    @Test("Zero has no inverse, and an even modulus or another length is refused")
    func refusals() throws {
        let inverses = try #require(ModularInverse(modulo: Self.order))
        #expect(inverses.of([UInt8](repeating: 0, count: 32)) == nil)
        #expect(inverses.of([1]) == nil)
        #expect(ModularInverse(modulo: Self.order.dropLast() + [0x50]) == nil)
        #expect(ModularInverse(modulo: [1]) == nil)
    }

    /// By doubling and adding.
    private func product(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: 32)
        for bit in 0..<256 {
            result = sum(result, result)
            if left[bit / 8] >> (7 - bit % 8) & 1 == 1 { result = sum(result, right) }
        }
        return result
    }

    private func sum(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var (sum, carry) = ([UInt8](repeating: 0, count: 33), 0)
        for index in (0..<32).reversed() {
            carry += Int(left[index]) + Int(right[index])
            sum[index + 1] = UInt8(truncatingIfNeeded: carry)
            carry >>= 8
        }
        sum[0] = UInt8(carry)
        let order = [0] + Self.order
        guard !sum.lexicographicallyPrecedes(order) else { return Array(sum[1...]) }
        var borrow = 0
        for index in sum.indices.reversed() {
            borrow += Int(sum[index]) - Int(order[index])
            sum[index] = UInt8(truncatingIfNeeded: borrow)
            borrow >>= 8
        }
        return Array(sum[1...])
    }
}
