import Foundation

/// A request to buy a product. Two requests for the same purchase are equal.
open class SKPayment: NSObject, NSCopying, NSMutableCopying {
    struct Content: Sendable, Equatable {
        var productIdentifier = ""
        var quantity = 1
        var applicationUsername: String?
        var requestData: Data?
        var simulatesAskToBuyInSandbox = false
        var paymentDiscount: SKPaymentDiscount?
        /// The storefront of the product that it was created from, whose price the customer has seen.
        var storefront: StorefrontResponse?
    }

    // Only `SKMutablePayment` changes it.
    fileprivate var content: Content

    init(_ content: Content) { self.content = content }

    public override init() { content = Content() }

    public convenience init(product: SKProduct) {
        self.init(Content(productIdentifier: product.productIdentifier, storefront: product.storefront))
    }

    open var productIdentifier: String { content.productIdentifier }
    /// 1 to 10.
    open var quantity: Int { content.quantity }
    /// The store keeps it if it is a UUID, as `appAccountToken` (facts/storekit-client A3).
    open var applicationUsername: String? { content.applicationUsername }
    /// Reserved by Apple: a payment with request data is refused.
    open var requestData: Data? { content.requestData }
    open var simulatesAskToBuyInSandbox: Bool { content.simulatesAskToBuyInSandbox }
    open var paymentDiscount: SKPaymentDiscount? { content.paymentDiscount }

    /// The current values of the properties, including those that a subclass in the app overrides.
    var asked: Content {
        Content(
            productIdentifier: productIdentifier, quantity: quantity, applicationUsername: applicationUsername,
            requestData: requestData, simulatesAskToBuyInSandbox: simulatesAskToBuyInSandbox,
            paymentDiscount: paymentDiscount, storefront: content.storefront)
    }

    open func copy(with zone: NSZone? = nil) -> Any { SKPayment(asked) }
    open func mutableCopy(with zone: NSZone? = nil) -> Any { SKMutablePayment(asked) }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SKPayment else { return false }
        var (own, others) = (asked, other.asked)
        (own.storefront, others.storefront) = (nil, nil)
        return own == others
    }

    open override var hash: Int { productIdentifier.hashValue }
}

/// A payment that can be changed until it is added to the queue, which copies it.
open class SKMutablePayment: SKPayment {
    open override var productIdentifier: String {
        get { super.productIdentifier }
        set { content.productIdentifier = newValue }
    }
    open override var quantity: Int {
        get { super.quantity }
        set { content.quantity = newValue }
    }
    open override var applicationUsername: String? {
        get { super.applicationUsername }
        set { content.applicationUsername = newValue }
    }
    open override var requestData: Data? {
        get { super.requestData }
        set { content.requestData = newValue }
    }
    open override var simulatesAskToBuyInSandbox: Bool {
        get { super.simulatesAskToBuyInSandbox }
        set { content.simulatesAskToBuyInSandbox = newValue }
    }
    open override var paymentDiscount: SKPaymentDiscount? {
        get { super.paymentDiscount }
        set { content.paymentDiscount = newValue }
    }
}

/// A promotional offer with the developer's signature (iOS 12.2).
open class SKPaymentDiscount: NSObject, @unchecked Sendable {
    // Written once, in the initializer.
    public let identifier: String
    public let keyIdentifier: String
    public let nonce: UUID
    /// Base64 of the DER.
    public let signature: String
    /// In milliseconds since 1970.
    public let timestamp: NSNumber

    public init(identifier: String, keyIdentifier: String, nonce: UUID, signature: String, timestamp: NSNumber) {
        self.identifier = identifier
        self.keyIdentifier = keyIdentifier
        self.nonce = nonce
        self.signature = signature
        self.timestamp = timestamp
    }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SKPaymentDiscount else { return false }
        return identifier == other.identifier && keyIdentifier == other.keyIdentifier && nonce == other.nonce
            && signature == other.signature && timestamp.int64Value == other.timestamp.int64Value
    }

    open override var hash: Int { nonce.hashValue }
}
