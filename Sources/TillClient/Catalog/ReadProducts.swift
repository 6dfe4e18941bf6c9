import TillAPI
import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The part of the server's catalogue that a device uses.
struct ProductsResponse: Sendable {
    let products: [CachedProduct]
    let etag: String?
}

extension ServerAccess {
    /// `GET /v1/products`, which requires no sign-in. Nil if the catalogue still has this tag (304).
    func products(ifNoneMatch etag: String?) async throws(ServerError) -> ProductsResponse? {
        let headers = etag.map { ["If-None-Match": $0] } ?? [:]
        let response = try await exchange("GET", Paths.products, headers: headers)
        if response.status == 304, etag != nil { return nil }
        let reply = try Self.read(response, expecting: Reply.self)
        // The tag is sent back in a header, so it must be printable ASCII.
        let tag = response.etag.flatMap { $0.utf8.count <= 200 && $0.utf8.allSatisfy { 32...126 ~= $0 } ? $0 : nil }
        return ProductsResponse(products: reply.data.compactMap(\.product), etag: tag)
    }

    private struct Reply: Decodable {
        let data: [Entry]
    }

    /// One entry, decoded leniently: a product of a type from a later server does not affect the others.
    private struct Entry: Decodable {
        let product: CachedProduct?

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            guard let id = try? container.decode(String.self, forKey: .id), !id.isEmpty else {
                product = nil
                return
            }
            let type = (try? container.decode(String.self, forKey: .type)).flatMap(ProductType.init)
            let listed = try? container.decode(ProductNames.self, forKey: .names)
            let names = listed?.bilingual ?? LocalizedText(en: id, zh: id)
            let points = try? container.decode([String: Int64].self, forKey: .points)
            product = CachedProduct(
                id: id, type: type,
                names: LocalizedText(en: String(names.en.prefix(200)), zh: String(names.zh.prefix(200))),
                kind: points.map { $0.isEmpty ? .access : .topUp },
                entitlement: try? container.decode(String.self, forKey: .entitlement))
        }

        private enum CodingKeys: String, CodingKey { case id, type, names, points, entitlement }
    }
}
