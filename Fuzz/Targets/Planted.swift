import TillAppStore
import TillCrypto

@testable import TillAppStore

/// Two bugs that are really there, each behind a structure that no seed has, to see that the fuzzers find bugs:
/// a receipt with a purchase of 100 to 1500 pieces that was taken back, and that has no product.
enum Planted: String {
    /// A property that does not hold.
    case plantedClaim = "planted-claim"
    /// A read behind the end of an allocation, which is only noticed with the address sanitizer.
    case plantedOverflow = "planted-overflow"

    func check(_ input: [UInt8]) throws(BrokenProperty) {
        guard let payload = try? ReceiptPayload(input) else { return }
        guard payload.purchases.contains(where: Self.isReached) else { return }
        switch self {
        case .plantedClaim: try hold(false, "this bug was planted")
        case .plantedOverflow:
            let piece = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: input.count)
            defer { piece.deallocate() }
            _ = piece.initialize(from: input)
            // Said aloud, or the optimizer would not read it.
            let behind = piece.baseAddress.map { $0[input.count] }
            throw BrokenProperty(claim: "nobody saw the read behind the end, of \(String(describing: behind))")
        }
    }

    /// One step after another, as in code that was not planted: each is a way of its own that the fuzzer sees.
    private static func isReached(_ purchase: ReceiptPurchase) -> Bool {
        isLarge(purchase.quantity) && isThere(purchase.cancellationDate) && !isThere(purchase.productID)
    }

    @inline(never)
    private static func isLarge(_ quantity: Int64?) -> Bool { (100...1_500).contains(quantity ?? 0) }

    @inline(never)
    private static func isThere<Value>(_ value: Value?) -> Bool { value != nil }
}
