import TillAPI
import TillBilling
import TillCrypto
import TillHTTP

extension Server {
    /// `GET /v1/products`: the public catalog for the shop page, with names in the language of `Accept-Language`. An
    /// unchanged catalog is answered with 304.
    func listProducts(_ call: Call) async throws -> HTTPResponse {
        let language = call.request.headers["Accept-Language"] ?? ""
        let products = configuration.catalog.products.map { ProductReply($0, preferring: language) }
        let body = JSONText.encode(ProductsReply(data: products))
        let digest = Digest.sha256.hash(body).prefix(12).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        let tag = "\"\(digest.joined())\""
        var headers = HTTPHeaders([("ETag", tag), ("Cache-Control", "no-cache"), ("Vary", "Accept-Language")])
        let asked = call.request.headers["If-None-Match"]?.split(separator: ",").map { $0.drop { $0 == " " } } ?? []
        if asked.contains(where: { $0 == tag || $0 == "W/\(tag)" || $0 == "*" }) {
            return HTTPResponse(status: 304, headers: headers)
        }
        headers.add("Content-Type", "application/json")
        return HTTPResponse(status: 200, headers: headers, body: body)
    }
}
