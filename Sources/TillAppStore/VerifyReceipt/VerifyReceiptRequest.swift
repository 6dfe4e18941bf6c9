import TillCrypto
import TillJSON

/// What verifyReceipt is asked (facts/verify-receipt §2).
public struct VerifyReceiptRequest: Sendable {
    /// Standard base64 without line breaks: an app receipt, or an old-style transaction receipt.
    public let receiptData: String
    /// Of receipts with auto-renewables, only the newest transaction of each subscription is wanted.
    public let excludesOldTransactions: Bool

    /// Why a text is not worth asking Apple about.
    public enum Unusable: Error, Sendable, Equatable {
        case empty
        case notBase64
        case tooLong
    }

    /// - Parameter base64: as clients send it; ASCII white space inside is dropped, any other odd character is not
    ///   forgiven. At most 8 MiB of receipt.
    public init(base64 text: some StringProtocol, excludesOldTransactions: Bool = false) throws(Unusable) {
        guard text.utf8.count <= SignedDataVerifier.receiptTextLimit else { throw .tooLong }
        guard let bytes = Base64.decode(ignoringBlanks: text) else { throw .notBase64 }
        try self.init(receipt: bytes, excludesOldTransactions: excludesOldTransactions)
    }

    /// - Parameter bytes: the receipt itself, at most 8 MiB.
    public init(receipt bytes: [UInt8], excludesOldTransactions: Bool = false) throws(Unusable) {
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.count <= SignedDataVerifier.receiptLimit else { throw .tooLong }
        receiptData = Base64.encode(bytes)
        self.excludesOldTransactions = excludesOldTransactions
    }

    /// The JSON that is posted.
    func body(secret: AppSharedSecret?) -> [UInt8] {
        var members: [String: JSONValue] = ["receipt-data": .string(receiptData)]
        if let secret { members["password"] = .string(secret.text) }
        if excludesOldTransactions { members["exclude-old-transactions"] = true }
        return Array(JSONValue.object(members).encoded().utf8)
    }
}

extension SignedDataVerifier {
    /// The longest base64 text of a receipt that is looked at, in bytes: the longest receipt, and a mebibyte for line
    /// breaks and the like.
    public static let receiptTextLimit = receiptLimit / 3 * 4 + (1 << 20)
}

/// The shared secret of App Store Connect: the app's own, or the account's primary one. It comes from configuration,
/// never from a client (T7), and shows itself to nobody: not in texts, dumps or errors.
public struct AppSharedSecret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let text: String

    /// - Parameter text: as App Store Connect shows it, usually 32 hexadecimal digits.
    public init(_ text: String) { self.text = text }

    public var description: String { "(a shared secret)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
