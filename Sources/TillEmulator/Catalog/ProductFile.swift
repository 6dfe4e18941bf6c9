import TillBilling
import TillJSON

/// What a store sells, as a file says it: in Till's own form (`PUT /emulator/products`), or as Xcode's StoreKit
/// configuration file (`.storekit`, versions 1 to 5).
public struct ProductFile: Sendable {
    public internal(set) var products: [StoreProduct]
    /// Where its customer is at home, ISO 3166-1 alpha-3; nil if the file does not say.
    public internal(set) var storefront: String?
    /// Nil if the file does not say.
    public internal(set) var pace: RenewalPace?
    /// What the file says and the emulator has no use for, by member: `settings._askToBuyEnabled`. Items of lists are
    /// not told apart: `products[].internalID`.
    public internal(set) var ignored: [String]

    /// Why a file can't be used.
    public struct Fault: Error, Sendable, Hashable {
        /// Stable.
        public let code: String
        /// Names the member by its path.
        public let sentence: Text
    }

    /// Longer files are refused.
    public static let byteLimit = 4 << 20

    /// - Parameter bytes: of the file, JSON.
    public init(_ bytes: [UInt8]) throws(Fault) {
        do {
            try self.init(reading: bytes)
        } catch {
            throw Fault(code: error.code, sentence: Text(en: error.english, zh: error.chinese))
        }
    }

    init(reading bytes: [UInt8]) throws(Problem) {
        guard bytes.count <= Self.byteLimit,
            let value = try? JSONValue(decoding: bytes.isEmpty ? Array("{}".utf8) : bytes)
        else {
            throw .badRequest("not_json", "The body is no JSON: send one JSON object.", "请求体不是 JSON：请发送一个 JSON 对象。")
        }
        guard case .object(let members) = value else {
            throw .badRequest("not_an_object", "Expected a JSON object.", "这里需要一个 JSON 对象。")
        }
        if StoreKitFile.isRecognised(by: Set(members.keys)) {
            self = try StoreKitFile(FileMember(value)).content()
        } else {
            self.init(products: try ProductText.products(FileMember(value)))
        }
        try ProductRules.check(products)
    }

    init(products: [StoreProduct], storefront: String? = nil, pace: RenewalPace? = nil, ignored: [String] = []) {
        self.products = products
        self.storefront = storefront
        self.pace = pace
        self.ignored = ignored
    }
}
