import TillCrypto
import TillJSON

@testable import TillAppStore

/// Which inputs libFuzzer may go on from.
enum Worth {
    /// What breaks the structure has been checked, and whatever is made of it breaks at the same place: of such inputs
    /// one in sixteen is kept. Otherwise they crowd out the few that get behind the structure.
    static func isKept(_ input: [UInt8], _ target: FuzzTarget?) -> Bool {
        isWhole(input, target) || FuzzBench.isDrawn(input, oneIn: 16)
    }

    private static func isWhole(_ input: [UInt8], _ target: FuzzTarget?) -> Bool {
        switch (target, input.first) {
        case (.json, _), (.form, _): true
        case (.token, UInt8(ascii: "{")):
            (try? JSONValue(decoding: input.split(separator: 0, maxSplits: 1).last ?? [])) != nil
        case (.token, _): CompactToken(input) != nil
        case (nil, _): (try? ReceiptPayload(input)) != nil
        case (_, 0x30): (try? SignedMessage(input)) != nil
        case (_, 0x31), (_, 0x04), (_, 0x24): (try? ReceiptPayload(input)) != nil
        default: true
        }
    }
}
