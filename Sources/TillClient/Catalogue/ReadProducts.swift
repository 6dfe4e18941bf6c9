import TillAPI
import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The server's catalogue, as far as a device wants to know it.
struct ProductsAnswer: Sendable {
    let products: [CatalogueProduct]
    let etag: String?
}

extension ServerAccess {
    /// `GET /v1/products`. Anybody may ask. Nil if the catalogue is still the one of that tag (304).
    func products(ifNoneMatch etag: String?) async throws(ServerFault) -> ProductsAnswer? {
        let headers = etag.map { ["If-None-Match": $0] } ?? [:]
        let response = try await exchange("GET", Paths.products, headers: headers)
        if response.status == 304, etag != nil { return nil }
        let reply = try Self.read(response, expecting: Reply.self)
        // It goes back into a header as it came.
        let tag = response.etag.flatMap { $0.utf8.count <= 200 && $0.utf8.allSatisfy { 32...126 ~= $0 } ? $0 : nil }
        return ProductsAnswer(products: reply.data.compactMap(\.product), etag: tag)
    }

    private struct Reply: Decodable {
        let data: [Entry]
    }

    /// One entry, read leniently: a product of a type that a later server knows takes nothing from the others.
    private struct Entry: Decodable {
        let product: CatalogueProduct?

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            guard let id = try? container.decode(String.self, forKey: .id), !id.isEmpty else {
                product = nil
                return
            }
            let type = (try? container.decode(String.self, forKey: .type)).flatMap(ProductType.init)
            let names = (try? container.decode(Text.self, forKey: .names)) ?? Text(en: id, zh: id)
            product = CatalogueProduct(
                id: id, type: type,
                names: Text(en: String(names.en.prefix(200)), zh: String(names.zh.prefix(200))))
        }

        private enum CodingKeys: String, CodingKey { case id, type, names }
    }
}
