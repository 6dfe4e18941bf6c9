import TillCrypto
import TillJSON

@testable import TillAppStore

/// Decides which inputs libFuzzer keeps as a base for further mutations.
enum CorpusFilter {
    /// An input with a broken structure has been checked, and its mutations fail at the same place, so one in sixteen
    /// of them is kept. Otherwise they would displace the few inputs that get past the structure.
    static func isKept(_ input: [UInt8], _ target: FuzzTarget?) -> Bool {
        isWhole(input, target) || FuzzBench.isDrawn(input, oneIn: 16)
    }

    private static func isWhole(_ input: [UInt8], _ target: FuzzTarget?) -> Bool {
        switch (target, input.first) {
        case (.json, _), (.form, _), (.stored, _), (.signature, _): true
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
