import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A product in the server's catalogue: its id, and its name for use until the store provides one.
struct CachedProduct: Hashable, Codable, Sendable {
    let id: String
    /// Nil for a type that this version does not know; the store may sell the product nevertheless.
    let type: ProductType?
    let names: LocalizedText
    /// Nil in a cache of an earlier version.
    let kind: PurchaseKind?
    /// The entitlement that the product grants while it is owned, if any.
    let entitlement: String?
}

/// The cached data: the server's product ids and the store's latest names and prices.
struct ProductCache: Hashable, Sendable {
    /// The server whose catalogue this is.
    var server: String
    var etag: String?
    var products: [CachedProduct]
    var listings: [ProductID: StoreListing]

    static let byteLimit = 1 << 20
    static let productLimit = 1_000

    private static let version = 1

    init(
        server: String, etag: String? = nil, products: [CachedProduct] = [],
        listings: [ProductID: StoreListing] = [:]
    ) {
        self.server = server
        self.etag = etag
        self.products = products
        self.listings = listings
    }

    /// Decodes the cache; nil unless it is complete and belongs to this version and this server.
    init?(_ bytes: [UInt8], server: String) {
        guard bytes.count > 4, bytes.count <= Self.byteLimit,
            CRC32C.checksum(bytes.dropFirst(4)) == bytes.prefix(4).reduce(0, { $0 << 8 | UInt32($1) }),
            let stored = try? JSONDecoder().decode(Stored.self, from: Data(bytes.dropFirst(4))),
            stored.version == Self.version, stored.server == server, stored.products.count <= Self.productLimit,
            stored.listings.count <= Self.productLimit
        else { return nil }
        self.init(
            server: server, etag: stored.etag, products: stored.products,
            listings: Dictionary(stored.listings.map { (ProductID($0.id), StoreListing($0)) }) { first, _ in first })
    }

    /// Four bytes of CRC-32C, then JSON; nil if the size exceeds the limit for reading.
    var bytes: [UInt8]? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let stored = Stored(
            version: Self.version, server: server, etag: etag, products: products,
            listings: listings.values.sorted { $0.id < $1.id }.map(StoredListing.init))
        guard let data = try? encoder.encode(stored) else { return nil }
        let sum = CRC32C.checksum(data)
        let head = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> UInt32($0)) }
        return data.count + head.count <= Self.byteLimit ? head + data : nil
    }

    private struct Stored: Codable {
        let version: Int
        let server: String
        let etag: String?
        let products: [CachedProduct]
        let listings: [StoredListing]
    }

    fileprivate struct StoredListing: Codable {
        let id: String
        let type: ProductType?
        let name: String
        let description: String
        let price: Money
        let displayPrice: String

        init(_ listing: StoreListing) {
            id = listing.id.text
            type = listing.type
            name = listing.name
            description = listing.description
            price = listing.price
            displayPrice = listing.displayPrice
        }
    }
}

extension StoreListing {
    fileprivate init(_ stored: ProductCache.StoredListing) {
        self.init(
            id: ProductID(stored.id), type: stored.type, name: stored.name, description: stored.description,
            price: stored.price, displayPrice: stored.displayPrice)
    }
}
