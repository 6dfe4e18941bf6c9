import Foundation
import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("The shop's product list")
struct CatalogueTests {
    /// A server, a store and a file, each of which can fail.
    private final class Shop: Sendable {
        struct State {
            var catalog = #"{"data":[\#(Shop.product("points.60")),\#(Shop.product("pro", type: "Non-Consumable"))]}"#
            var etag: String? = "\"v1\""
            var serverError: TransportError?
            var storeProblem: AppStoreError?
            var sold = ["points.60", "pro"]
            var file: [UInt8]?
            var writes = 0
            var tagsAsked: [String?] = []
            var idsAsked: [[String]] = []
        }

        let state = Guarded(State())

        static func product(_ id: String, type: String = "Consumable") -> String {
            #"{"id":"\#(id)","type":"\#(type)","#
                + #""names":{"en":"\#(id) en","zh":"\#(id) 中"},"price":{"amount":600,"currency":"CNY"},"points":{}}"#
        }

        func catalog(url: String = "https://till.test") -> ProductCatalog {
            ProductCatalog(
                file: CacheFile(
                    read: { self.state.now.file },
                    replace: { bytes in
                        self.state.withLock {
                            $0.file = bytes
                            $0.writes += 1
                        }
                    }),
                server: ServerAccess(url: url, transport: transport, language: .chinese) { nil },
                products: { (ids) async throws(AppStoreError) -> [StoreListing] in
                    let (problem, sold) = self.state.withLock {
                        $0.idsAsked.append(ids.map(\.text))
                        return ($0.storeProblem, $0.sold)
                    }
                    if let problem { throw problem }
                    // The store answers in its own order.
                    return ids.reversed().filter { sold.contains($0.text) }.map {
                        StoreListing(
                            id: $0, type: .consumable, name: "Store's \($0)", description: "What \($0) is",
                            price: Money(amount: 699, currency: Currency("USD")), displayPrice: "$6.99")
                    }
                })
        }

        private var transport: Transport {
            Transport { (request) async throws(TransportError) -> TransportResponse in
                let state = self.state.withLock {
                    $0.tagsAsked.append(request.headers["If-None-Match"])
                    return $0
                }
                if let error = state.serverError { throw error }
                if let asked = request.headers["If-None-Match"], asked == state.etag {
                    return TransportResponse(status: 304, contentType: "", etag: asked, body: [])
                }
                return TransportResponse(
                    status: 200, contentType: "application/json", etag: state.etag, body: Array(state.catalog.utf8))
            }
        }
    }

    @Test("G2: names and prices of the last launch are greyed until the store has answered")
    func greyed() async throws {
        let shop = Shop()
        #expect(await shop.catalog().cachedProducts().isEmpty)
        let first = try await shop.catalog().products()
        #expect(first.map(\.id) == ["points.60", "pro"] && first.allSatisfy(\.canBuy))

        let relaunched = shop.catalog()
        let stored = await relaunched.cachedProducts()
        #expect(stored.map(\.name) == ["Store's points.60", "Store's pro"])
        #expect(stored.map(\.displayPrice) == ["$6.99", "$6.99"])
        #expect(stored.map(\.price) == [Decimal(string: "6.99"), Decimal(string: "6.99")])
        #expect(stored.allSatisfy { !$0.canBuy && $0.currency == "USD" && $0.kind == .consumable })
        #expect(try await relaunched.products().map(\.canBuy) == [true, true])
        #expect(shop.state.now.tagsAsked == [nil, "\"v1\""])
    }

    @Test("P1: offline without a cached list, the list is unavailable for now, and the store gets no request")
    func offline() async {
        let shop = Shop()
        shop.state.withLock { $0.serverError = TransportError(.offline) }
        await #expect(throws: StoreError.productListUnavailable) { try await shop.catalog().products() }
        await #expect(throws: StoreError.productListUnavailable) { try await shop.catalog().products(["points.60"]) }
        #expect(await shop.catalog().cachedProducts().isEmpty)
        #expect(shop.state.now.idsAsked.isEmpty && shop.state.now.file == nil)
    }

    @Test("P1: without the server, the ids of the last launch are enough to buy")
    func withoutServer() async throws {
        let shop = Shop()
        _ = try await shop.catalog().products()
        shop.state.withLock { $0.serverError = TransportError(.timedOut) }
        #expect(try await shop.catalog().products().map(\.canBuy) == [true, true])
        // An answer of another server is ignored.
        shop.state.withLock {
            $0.serverError = nil
            $0.etag = "\"v2\""
            $0.catalog = "<html>"
        }
        #expect(try await shop.catalog().products().count == 2)
    }

    @Test("Without the store no purchase is possible; a product it never listed has the server's name and no price")
    func withoutStore() async {
        let shop = Shop()
        shop.state.withLock { $0.storeProblem = .network(.offline) }
        let catalog = shop.catalog()
        await #expect(throws: StoreError.productListUnavailable) { try await catalog.products() }
        let products = await catalog.cachedProducts()
        #expect(products.map(\.name) == ["points.60 中", "pro 中"])
        #expect(products.allSatisfy { !$0.canBuy && $0.displayPrice.isEmpty && $0.price == nil })
        #expect(products.map(\.kind) == [.consumable, .nonConsumable])
    }

    @Test("C4, L4: a page shows its subset in its order; a product that the store does not sell is missing")
    func subsets() async throws {
        let shop = Shop()
        shop.state.withLock { $0.sold = ["points.60"] }
        let catalog = shop.catalog()
        #expect(try await catalog.products(["pro", "moon", "points.60", "points.60"]).map(\.id) == ["points.60"])
        #expect(shop.state.now.idsAsked == [["pro", "points.60"]])
        await #expect(throws: StoreError.productUnavailable) { try await catalog.products(["pro"]) }
        await #expect(throws: StoreError.productUnavailable) { try await catalog.products(["moon"]) }
        #expect(try await catalog.products([]).isEmpty)
        #expect(await catalog.cachedProducts(["pro", "points.60"]).map(\.id) == ["pro", "points.60"])
    }

    @Test("L4: the bought product is the requested one, and never another")
    func listing() async throws {
        let shop = Shop()
        let catalog = shop.catalog()
        #expect(try await catalog.listing(of: ProductID("pro")).id == ProductID("pro"))
        #expect(try await catalog.listing(of: ProductID("pro")).id == ProductID("pro"))
        #expect(shop.state.now.idsAsked == [["pro"]])
        shop.state.withLock { $0.sold = [] }
        await #expect(throws: StoreError.productUnavailable) { try await catalog.listing(of: ProductID("points.60")) }
        shop.state.withLock { $0.storeProblem = .network(.timedOut) }
        await #expect(throws: StoreError.productListUnavailable) {
            try await catalog.listing(of: ProductID("points.60"))
        }
        shop.state.withLock { $0.storeProblem = .clientInvalid }
        await #expect(throws: StoreError.store(.clientInvalid)) {
            try await catalog.listing(of: ProductID("points.60"))
        }
        // In another storefront everything is requested again.
        await catalog.storefrontChanged()
        await #expect(throws: StoreError.self) { try await catalog.listing(of: ProductID("pro")) }
    }

    @Test("L4: an answer of the store with another product counts as no answer")
    func wrongAnswer() async {
        let shop = Shop()
        let other = StoreListing(
            id: ProductID("gold"), type: nil, name: "Gold", description: "",
            price: Money(amount: 1, currency: Currency("JPY")), displayPrice: "¥1")
        let catalog = ProductCatalog(
            file: .none,
            server: ServerAccess(
                url: "https://till.test",
                transport: Transport { (_) async throws(TransportError) -> TransportResponse in
                    TransportResponse(
                        status: 200, contentType: "application/json", body: Array(shop.state.now.catalog.utf8))
                }, language: .english
            ) { nil }, products: { (_) async throws(AppStoreError) -> [StoreListing] in [other] })
        await #expect(throws: StoreError.productUnavailable) { try await catalog.listing(of: ProductID("pro")) }
        await #expect(throws: StoreError.productUnavailable) { try await catalog.products() }
    }

    @Test("G3: a product being bought can't be bought again")
    func purchasing() async throws {
        let shop = Shop()
        let products = try await shop.catalog().products(purchasing: [ProductID("pro")])
        let (points, pro) = (try #require(products.first), try #require(products.last))
        #expect(pro.id == "pro" && pro.isPurchasing && !pro.canBuy)
        #expect(points.id == "points.60" && points.canBuy && !points.isPurchasing)
    }

    @Test("A page of some products keeps the others' cached names, and unchanged data is not written")
    func keepsTheOthers() async throws {
        let shop = Shop()
        let catalog = shop.catalog()
        _ = try await catalog.products()
        let writes = shop.state.now.writes
        _ = try await catalog.products(["pro"])
        _ = try await catalog.products()
        #expect(shop.state.now.writes == writes)
        #expect(await shop.catalog().cachedProducts().map(\.name) == ["Store's points.60", "Store's pro"])
    }

    @Test("A damaged, foreign or huge file, or one of another version, is ignored: never a crash")
    func damage() async throws {
        let shop = Shop()
        _ = try await shop.catalog().products()
        let good = try #require(shop.state.now.file)
        #expect(ProductCache(good, server: "https://till.test") != nil)
        #expect(ProductCache(good, server: "https://other.test") == nil)
        for length in stride(from: 0, to: good.count, by: 7) {
            #expect(ProductCache(Array(good.prefix(length)), server: "https://till.test") == nil)
        }
        for index in stride(from: 0, to: good.count, by: 5) {
            var bad = good
            bad[index] ^= 1 << (index % 8)
            #expect(ProductCache(bad, server: "https://till.test") == nil, "byte \(index)")
        }
        let newer = String(decoding: good.dropFirst(4), as: UTF8.self)
            .replacingOccurrences(of: "\"version\":1", with: "\"version\":2")
        let sum = CRC32C.checksum(Array(newer.utf8))
        let signed = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> UInt32($0)) } + Array(newer.utf8)
        #expect(newer.contains("\"version\":2") && ProductCache(signed, server: "https://till.test") == nil)
        #expect(ProductCache([UInt8](repeating: 0, count: 2 << 20), server: "https://till.test") == nil)
        shop.state.withLock { $0.file = [1, 2, 3] }
        #expect(try await shop.catalog().products().count == 2)
    }

    @Test("A catalogue beyond the limits is cut, and members of a later server do not affect the rest")
    func hostile() async throws {
        let shop = Shop()
        let many = (0..<3_000).map { Shop.product("p.\($0)") }.joined(separator: ",")
        shop.state.withLock { $0.catalog = "{\"data\":[\(many)]}" }
        await #expect(throws: StoreError.productUnavailable) { try await shop.catalog().products() }
        #expect(await shop.catalog().cachedProducts().count == ProductCache.productLimit)
        shop.state.withLock {
            $0.etag = String(repeating: "e", count: 10_000)
            $0.catalog =
                #"{"data":[{"id":"a b"},{"id":""},{"id":7},{},"#
                + #"\#(Shop.product("pro", type: "Lease")),\#(Shop.product("pro"))]}"#
        }
        let products = try await shop.catalog().products()
        #expect(products.map(\.id) == ["pro"] && products[0].kind == .consumable)
        shop.state.withLock { $0.tagsAsked = [] }
        _ = try await shop.catalog().products()
        #expect(shop.state.now.tagsAsked == [nil])
    }

    @Test("The file on a real disk is there after a relaunch; without a writable disk the shop still works")
    func onDisk() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("till-products-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appendingPathComponent("catalogue").path
        let file = CacheFile.file(at: path)
        #expect(file.read() == nil)
        file.replace([1, 2, 3])
        file.replace([4])
        #expect(file.read() == [4] && CacheFile.file(at: path).read() == [4])
        try Data(count: 2 << 20).write(to: URL(fileURLWithPath: path))
        #expect(file.read() == nil)
        let nowhere = CacheFile.file(at: directory.path + "/no/such/place")
        nowhere.replace([1])
        #expect(nowhere.read() == nil)
    }
}
