/// The fuzz targets, one for each border to outside data. The properties are the same under libFuzzer and in the tests.
enum FuzzTarget: String, CaseIterable, Sendable {
    /// ASN.1, PKCS#7 receipts, old-style receipts.
    case receipt
    /// Apple's JWS: header, payloads, verification.
    case token
    /// JSON, and the body of `POST /v1/transactions`.
    case json
    /// Request targets, queries, form bodies and header fields.
    case form
    /// Compressed proofs as a file holds them.
    case stored
    /// ES256 signatures, checked with a table of the key's multiples.
    case signature

    /// - Throws: `PropertyError`.
    func check(_ input: [UInt8], _ bench: FuzzBench) throws(PropertyError) {
        switch self {
        case .receipt: try ReceiptProperties(bench).check(input)
        case .token: try TokenProperties(bench).check(input)
        case .json:
            try JSONProperties.check(input)
            try BodyProperties.check(input)
        case .form: try FormProperties.check(input)
        case .stored: try StoredProofProperties.check(input)
        case .signature: try SignatureProperties.check(input)
        }
    }
}
