import TillBilling

/// Why a text cannot be part of a signed offer. Apple joins the signed fields with an invisible separator, so texts
/// that could contain it are refused.
public struct OfferError: Error, Sendable, Hashable {
    public enum Field: String, Sendable {
        case productID = "productId"
        case offerID = "offerId"
        case account
        case transactionID = "transactionId"
        case request
    }

    public enum Reason: String, Sendable {
        case empty
        case tooLong = "too_long"
        /// A character that does not belong there: a control character, an invisible one, or one of another kind.
        case foreignCharacter = "foreign_character"
        /// A letter beyond ASCII with a lower-case form: systems map some of them differently, and Apple and Till must
        /// sign the same bytes.
        case ambiguousCase = "ambiguous_case"
        case notJSON = "not_json"
    }

    public let field: Field
    public let reason: Reason

    init(_ field: Field, _ reason: Reason) {
        self.field = field
        self.reason = reason
    }

    /// False: the same input is refused again.
    public var isRetryable: Bool { false }
}

/// Validates the texts of offers (facts/limits §1).
enum OfferText {
    static let offerLimit = 100
    static let accountLimit = 255
    /// The number of digits of an unsigned 64-bit number.
    static let transactionLimit = 20

    static func product(_ id: ProductID) throws(OfferError) -> ProductID {
        try checkLength(id.text, .productID, 100)
        guard id.isWellFormed else { throw OfferError(.productID, .foreignCharacter) }
        return id
    }

    /// App Store Connect requires letters and digits; punctuation occurs in practice and is accepted.
    static func offer(_ id: String) throws(OfferError) -> String {
        try checkLength(id, .offerID, offerLimit)
        guard id.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw OfferError(.offerID, .foreignCharacter)
        }
        return id
    }

    /// In lower case, as Apple signs it (facts/business-rules §9). Empty means no account.
    static func account(_ text: String) throws(OfferError) -> String {
        guard !text.isEmpty else { return "" }
        try checkLength(text, .account, accountLimit)
        for scalar in text.unicodeScalars {
            guard isSeen(scalar) else { throw OfferError(.account, .foreignCharacter) }
            guard scalar.isASCII || !scalar.properties.changesWhenLowercased else {
                throw OfferError(.account, .ambiguousCase)
            }
        }
        return text.lowercased()
    }

    static func transaction(_ id: TransactionID) throws(OfferError) -> TransactionID {
        try checkLength(id.text, .transactionID, transactionLimit)
        guard id.text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            throw OfferError(.transactionID, .foreignCharacter)
        }
        return id
    }

    private static func checkLength(
        _ text: String, _ field: OfferError.Field, _ limit: Int
    ) throws(OfferError) {
        guard !text.isEmpty else { throw OfferError(field, .empty) }
        guard text.utf8.count <= limit else { throw OfferError(field, .tooLong) }
    }

    /// U+2063, the separator of signed fields, is a format character, as are all invisible characters.
    private static func isSeen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
