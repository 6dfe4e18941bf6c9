import Foundation

public protocol SKProductsRequestDelegate: SKRequestDelegate {
    func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse)
}

/// Asks for products by their ids: there is no list of all of them (facts/storekit-client A2).
open class SKProductsRequest: SKRequest, @unchecked Sendable {
    // Written once, in the initialiser.
    private let productIdentifiers: Set<String>

    public init(productIdentifiers: Set<String>) { self.productIdentifiers = productIdentifiers }

    public override init() { productIdentifiers = [] }

    /// Not retained.
    public var delegate: (any SKProductsRequestDelegate)? {
        get { heldDelegate as? any SKProductsRequestDelegate }
        set { heldDelegate = newValue }
    }

    override func ask(_ session: DeviceSession) async throws -> @Sendable (any SKRequestDelegate) -> Void {
        let (products, invalid) = try await session.originalProducts(productIdentifiers.sorted())
        let response = SKProductsResponse(products: products, invalidProductIdentifiers: invalid)
        return { delegate in
            (delegate as? any SKProductsRequestDelegate)?.productsRequest(self, didReceive: response)
        }
    }
}

open class SKProductsResponse: NSObject, @unchecked Sendable {
    // Both written once, in an initialiser.
    private let found: [SKProduct]
    private let invalid: [String]

    init(products: [SKProduct], invalidProductIdentifiers: [String]) {
        found = products
        invalid = invalidProductIdentifiers
    }

    public override init() {
        found = []
        invalid = []
    }

    open var products: [SKProduct] { found }
    /// Unknown, or not on sale in the customer's storefront.
    open var invalidProductIdentifiers: [String] { invalid }
}

extension DeviceSession {
    /// The store tells of so many at once.
    private static let productLimit = 1_000

    func originalProducts(_ ids: [String]) async throws(StoreFault) -> (found: [SKProduct], invalid: [String]) {
        try await signedIn()
        var found: [SKProduct] = []
        var invalid: [String] = []
        var rest = ids[...]
        while !rest.isEmpty {
            let answer = try await line.products(Array(rest.prefix(Self.productLimit)))
            found += answer.data.map { SKProduct($0, in: answer.storefront) }
            invalid += answer.invalid
            rest = rest.dropFirst(Self.productLimit)
        }
        return (found, invalid)
    }
}
