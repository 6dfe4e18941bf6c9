import Foundation
import TillThreads

/// What is to be bought. Two that ask for the same are equal.
open class SKPayment: NSObject, NSCopying, NSMutableCopying, @unchecked Sendable {
    struct Content: Sendable, Equatable {
        var productIdentifier = ""
        var quantity = 1
        var applicationUsername: String?
        var requestData: Data?
        var simulatesAskToBuyInSandbox = false
        var paymentDiscount: SKPaymentDiscount?
        /// Where the product that it was made from was on sale: the customer has seen that price.
        var storefront: StorefrontWords?
    }

    // Behind a lock of its own: the app changes a mutable payment, the queue reads its copy.
    let content: Locked<Content>

    init(_ content: Content) { self.content = Locked(content) }

    public override init() { content = Locked(Content()) }

    public convenience init(product: SKProduct) {
        self.init(Content(productIdentifier: product.productIdentifier, storefront: product.storefront))
    }

    open var productIdentifier: String { content.withLock { $0.productIdentifier } }
    /// 1 to 10.
    open var quantity: Int { content.withLock { $0.quantity } }
    /// The store keeps it if it is a UUID, as `appAccountToken` (facts/storekit-client A3).
    open var applicationUsername: String? { content.withLock { $0.applicationUsername } }
    /// Reserved by Apple: a payment that has any is refused.
    open var requestData: Data? { content.withLock { $0.requestData } }
    open var simulatesAskToBuyInSandbox: Bool { content.withLock { $0.simulatesAskToBuyInSandbox } }
    open var paymentDiscount: SKPaymentDiscount? { content.withLock { $0.paymentDiscount } }

    /// What the properties say now, those that a subclass of the app overrides among them.
    var asked: Content {
        Content(
            productIdentifier: productIdentifier, quantity: quantity, applicationUsername: applicationUsername,
            requestData: requestData, simulatesAskToBuyInSandbox: simulatesAskToBuyInSandbox,
            paymentDiscount: paymentDiscount, storefront: content.withLock { $0.storefront })
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

/// A payment that can be changed until it is added to the queue, which takes a copy.
open class SKMutablePayment: SKPayment, @unchecked Sendable {
    // What it holds is behind the lock of its superclass.
    open override var productIdentifier: String {
        get { super.productIdentifier }
        set { content.withLock { $0.productIdentifier = newValue } }
    }
    open override var quantity: Int {
        get { super.quantity }
        set { content.withLock { $0.quantity = newValue } }
    }
    open override var applicationUsername: String? {
        get { super.applicationUsername }
        set { content.withLock { $0.applicationUsername = newValue } }
    }
    open override var requestData: Data? {
        get { super.requestData }
        set { content.withLock { $0.requestData = newValue } }
    }
    open override var simulatesAskToBuyInSandbox: Bool {
        get { super.simulatesAskToBuyInSandbox }
        set { content.withLock { $0.simulatesAskToBuyInSandbox = newValue } }
    }
    open override var paymentDiscount: SKPaymentDiscount? {
        get { super.paymentDiscount }
        set { content.withLock { $0.paymentDiscount = newValue } }
    }
}

/// A promotional offer with the developer's signature over it (iOS 12.2).
open class SKPaymentDiscount: NSObject, @unchecked Sendable {
    // Written once, in the initialiser.
    public let identifier: String
    public let keyIdentifier: String
    public let nonce: UUID
    /// Base64 of DER.
    public let signature: String
    /// Milliseconds.
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
