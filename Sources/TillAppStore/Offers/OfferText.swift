import TillBilling

/// Validates the texts of offers (facts/limits §1). Apple joins the signed fields with an invisible separator, so texts
/// that could contain it are refused.
enum OfferText {
    static let offerLimit = 100
    static let accountLimit = 255
    /// The number of digits of an unsigned 64-bit number.
    static let transactionLimit = 20

    static func product(_ id: ProductID) throws(InvalidRequestError) -> ProductID {
        try checkLength(id.text, "productId", 100)
        guard id.isWellFormed else { throw InvalidRequestError("productId", .badText) }
        return id
    }

    /// App Store Connect requires letters and digits; punctuation occurs in practice and is accepted.
    static func offer(_ id: String) throws(InvalidRequestError) -> String {
        try checkLength(id, "offerId", offerLimit)
        guard id.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw InvalidRequestError("offerId", .badText)
        }
        return id
    }

    /// In lower case, as Apple signs it (facts/business-rules §9). Empty means no account.
    static func account(_ text: String) throws(InvalidRequestError) -> String {
        guard !text.isEmpty else { return "" }
        try checkLength(text, "account", accountLimit)
        for scalar in text.unicodeScalars {
            guard isSeen(scalar) else { throw InvalidRequestError("account", .badText) }
            guard scalar.isASCII || !scalar.properties.changesWhenLowercased else {
                throw InvalidRequestError("account", .ambiguousCase)
            }
        }
        return text.lowercased()
    }

    static func transaction(_ id: TransactionID) throws(InvalidRequestError) -> TransactionID {
        try checkLength(id.text, "transactionId", transactionLimit)
        guard id.text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            throw InvalidRequestError("transactionId", .badText)
        }
        return id
    }

    private static func checkLength(
        _ text: String, _ field: String, _ limit: Int
    ) throws(InvalidRequestError) {
        guard !text.isEmpty else { throw InvalidRequestError(field, .missing) }
        guard text.utf8.count <= limit else { throw InvalidRequestError(field, .tooLong) }
    }

    /// U+2063, the separator of signed fields, is a format character, as are all invisible characters.
    private static func isSeen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
