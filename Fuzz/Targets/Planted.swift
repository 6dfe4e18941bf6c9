import TillAppStore
import TillCrypto

@testable import TillAppStore

/// Two real bugs behind a structure that no seed has, to verify that the fuzzers find bugs: a receipt with a cancelled
/// purchase of 100 to 1500 units without a product.
enum Planted: String {
    /// A property that does not hold.
    case plantedClaim = "planted-claim"
    /// A read beyond the end of an allocation, which only AddressSanitizer detects.
    case plantedOverflow = "planted-overflow"

    func check(_ input: [UInt8]) throws(PropertyError) {
        guard let payload = try? ReceiptPayload(input) else { return }
        guard payload.purchases.contains(where: Self.isReached) else { return }
        switch self {
        case .plantedClaim: try hold(false, "this bug was planted")
        case .plantedOverflow:
            let piece = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: input.count)
            defer { piece.deallocate() }
            _ = piece.initialize(from: input)
            // The value is used, because the optimizer would otherwise remove the read.
            let behind = piece.baseAddress.map { $0[input.count] }
            throw PropertyError(claim: "the read went unnoticed: behind the end, of \(String(describing: behind))")
        }
    }

    /// One condition after another, as in ordinary code, so that the fuzzer sees each as its own branch.
    private static func isReached(_ purchase: ReceiptPurchase) -> Bool {
        isLarge(purchase.quantity) && isThere(purchase.cancellationDate) && !isThere(purchase.productID)
    }

    @inline(never)
    private static func isLarge(_ quantity: Int64?) -> Bool { (100...1_500).contains(quantity ?? 0) }

    @inline(never)
    private static func isThere<Value>(_ value: Value?) -> Bool { value != nil }
}
