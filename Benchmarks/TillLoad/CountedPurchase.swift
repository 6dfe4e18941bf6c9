import Foundation
import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger
import TillSQLite
import TillServer

#if COUNTS_FILES
    @_silgen_name("__llvm_profile_reset_counters") private func resetProfile()
    @_silgen_name("__llvm_profile_write_file") private func writeProfile() -> Int32
#endif

/// Orders, pays and grants one consumable in this process, and records coverage of the functions between the request
/// and its answer only. `scripts/purchase-files` builds it with coverage and lists the files.
struct CountedPurchase {
    let set: LoadSet

    private static let userSecret = Array("a secret of the load's own, long enough".utf8)

    func run() async throws {
        let issuer = try LoadIssuer()
        try FileManager.default.createDirectory(at: set.directory, withIntermediateDirectories: true)
        let database = try SQLiteDatabase.open(path: set.ledger, role: .server, options: .init(.ledger))
        // A listener creates the router once.
        let router = try Server(
            configuration: Self.configuration(root: issuer.root), database: database, clock: Self.now,
            entropy: RandomBytes.make
        ).router
        let opened = await router.respond(to: Self.openOrder(0))
        guard opened.status == 201 else { throw LoadError("the order was answered \(opened.status)") }
        let post = Self.post(try issuer.proof(0))
        #if COUNTS_FILES
            resetProfile()
            let answer = await router.respond(to: post)
            let written = writeProfile()
            guard written == 0 else { throw LoadError("the profile can't be written") }
            try Self.check(answer)
            // An ordinary exit would write the profile again, with everything that ran since.
            _exit(0)
        #else
            try Self.check(await router.respond(to: post))
            throw LoadError("built without coverage: see scripts/purchase-files")
        #endif
    }

    static func check(_ answer: HTTPResponse) throws {
        guard answer.status == 200, try JSONValue(decoding: answer.body)["outcome"]?.string == "granted" else {
            throw LoadError("the purchase was answered \(answer.status)")
        }
    }

    static func configuration(root: [UInt8]) -> ServerConfiguration {
        let product = CatalogProduct(
            id: ProductID(LoadSet.productID), type: .consumable, names: LocalizedText(en: "60 points", zh: "60 学点"),
            price: Money(amount: 600, currency: Currency("CNY")), points: ["points": LoadSet.pointsEach])
        return ServerConfiguration(
            catalog: Catalog(products: [product]),
            apple: AppleTrust(
                roots: [root], bundleID: LoadSet.bundleID, appAppleID: nil, environments: [.sandbox]),
            secretKeys: [SecretKey(id: "load", sha256: Digest.sha256.hash(LoadSet.secretKey.utf8))],
            userTokens: [UserTokenKey(id: "app", algorithm: .hs256(secret: Self.userSecret))])
    }

    static let now: Server.Clock = { Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) }

    /// Sent by the app's backend, which may choose the id.
    static func openOrder(_ number: Int, of user: Int = 0) -> HTTPRequest {
        request(
            "/v1/orders", bearer: LoadSet.secretKey,
            [
                "id": .string(LoadSet.order(number).description), "userId": .string(LoadSet.user(user)),
                "productId": .string(LoadSet.productID),
            ])
    }

    /// Sent by the app on the customer's device.
    static func post(_ proof: String, of number: Int = 0) -> HTTPRequest {
        let claims: JSONValue = ["sub": .string(LoadSet.user(number)), "exp": .int(now().seconds + 600)]
        let message = [["alg": "HS256", "typ": "JWT"], claims].map { Base64.encode(Array($0.encoded().utf8), .url) }
            .joined(separator: ".")
        let code = Base64.encode(HMACSHA256.code(for: message.utf8, key: userSecret), .url)
        return request("/v1/transactions", bearer: "\(message).\(code)", ["signedTransaction": .string(proof)])
    }

    private static func request(_ path: String, bearer: String, _ body: JSONValue) -> HTTPRequest {
        HTTPRequest(
            method: .post, path: path,
            headers: HTTPHeaders([
                (name: "Authorization", value: "Bearer \(bearer)"), (name: "Content-Type", value: "application/json"),
            ]), body: Array(body.encoded().utf8))
    }
}
