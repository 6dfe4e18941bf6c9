import TillAppStore
import TillCrypto

@testable import TillAppStore

/// Two bugs that are really there, each behind a structure that no seed has, to see that the fuzzers find bugs:
/// a receipt with a purchase of 1 to 15 hundred pieces that was taken back, and that has no product.
enum Planted: String {
    /// A property that does not hold.
    case plantedClaim = "planted-claim"
    /// A read behind the end of an allocation, which is only noticed with the address sanitizer.
    case plantedOverflow = "planted-overflow"

    func check(_ input: [UInt8]) throws(BrokenProperty) {
        guard let payload = try? ReceiptPayload(input) else { return }
        let isReached = payload.purchases.contains { purchase in
            (100...1_500).contains(purchase.quantity ?? 0) && purchase.cancellationDate != nil
                && purchase.productID == nil
        }
        guard isReached else { return }
        switch self {
        case .plantedClaim: try hold(false, "this bug was planted")
        case .plantedOverflow:
            let piece = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: input.count)
            defer { piece.deallocate() }
            _ = piece.initialize(from: input)
            let behind = piece.baseAddress.map { $0[input.count] }
            try hold(behind != nil, "there is memory")
        }
    }
}
