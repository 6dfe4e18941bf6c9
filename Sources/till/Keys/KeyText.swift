import TillCrypto
import TillServer

/// The text of a new key: 256 random bits, with a prefix that says what it is.
struct KeyText: Sendable {
    let text: String

    init(_ list: KeyUses.Kind, _ entropy: (Int) -> [UInt8]) {
        let prefix =
            switch list {
            case .secretKeys: "sk_"
            case .operators: "op_"
            case .userTokens: ""
            }
        text = prefix + Base64.encode(entropy(32), .url)
    }

    /// As the configuration holds it.
    var sha256: String { hexadecimal(Digest.sha256.hash(Array(text.utf8))) }
}
