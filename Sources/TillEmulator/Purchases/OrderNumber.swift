/// What Apple's mail calls the order id: how a customer names a purchase to the developer's support
/// (facts/server-api §3, note on 4). Apple does not document its form; ours is the letter M, the transaction's number
/// in an alphabet without look-alikes, and a letter that finds slips of the pen.
public struct OrderNumber: Sendable, Hashable, CustomStringConvertible {
    /// The transaction that the order paid for.
    public let transaction: Int64

    /// - Parameter transaction: not negative.
    public init(transaction: Int64) { self.transaction = transaction }

    /// Nil for what is no order id: another alphabet, a wrong check letter. Lower case is read too.
    public init?(_ text: some StringProtocol) {
        let letters = Array(text.uppercased().utf8)
        guard letters.first == UInt8(ascii: "M"), (Self.shortest + 2...16).contains(letters.count) else { return nil }
        var values: [Int] = []
        for letter in letters.dropFirst() {
            guard let value = Self.alphabet.firstIndex(of: letter) else { return nil }
            values.append(value)
        }
        guard let check = values.popLast(), check == Self.check(values) else { return nil }
        var number: Int64 = 0
        for value in values {
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: Self.base)
            let (sum, isLarger) = product.addingReportingOverflow(Int64(value))
            guard !isTooLarge, !isLarger else { return nil }
            number = sum
        }
        transaction = number
        // One number has one text: zeros before it make another.
        guard description == String(decoding: letters, as: UTF8.self) else { return nil }
    }

    /// `MAAKX7…`: twelve characters or more.
    public var description: String {
        var values: [Int] = []
        var rest = transaction
        while rest > 0 || values.count < Self.shortest {
            values.append(Int(rest % Self.base))
            rest /= Self.base
        }
        values.reverse()
        values.append(Self.check(values))
        return "M" + String(decoding: values.map { Self.alphabet[$0] }, as: UTF8.self)
    }

    /// No I, no O, no 0, 1 and 9: 31 characters, a prime number, so that a wrong or a swapped one never goes unseen.
    private static let alphabet = Array("ABCDEFGHJKLMNPQRSTUVWXYZ2345678".utf8)
    private static let base: Int64 = 31
    private static let shortest = 10

    private static func check(_ values: [Int]) -> Int {
        values.enumerated().reduce(7) { $0 + ($1.offset + 1) * $1.element } % Int(base)
    }
}

extension StoreTransaction {
    /// Nil for what was not paid, or not by this account.
    public var orderNumber: OrderNumber? {
        state == .purchased && sharedFrom == nil && number >= 0 ? OrderNumber(transaction: number) : nil
    }
}
