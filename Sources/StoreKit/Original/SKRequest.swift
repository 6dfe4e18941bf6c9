import Foundation
import TillThreads

public protocol SKRequestDelegate: NSObjectProtocol {
    /// Optional.
    func requestDidFinish(_ request: SKRequest)
    /// Optional. No `requestDidFinish` follows.
    func request(_ request: SKRequest, didFailWithError error: any Error)
}

extension SKRequestDelegate {
    public func requestDidFinish(_ request: SKRequest) {}
    public func request(_ request: SKRequest, didFailWithError error: any Error) {}
}

/// A question to the App Store that is answered to a delegate.
///
/// A request lives until it is answered, whether the app keeps it or not; its delegate must be kept by the app.
open class SKRequest: NSObject, SKRequestReporting, @unchecked Sendable {
    fileprivate struct Progress {
        weak var delegate: (any SKRequestDelegate)?
        /// Which run of the request is under way: another number cancels what went before.
        var run = 0
        var isUnderWay = false
    }

    // Behind its own lock: the app sets the delegate, the answer reads it.
    fileprivate let progress = Locked(Progress())

    public override init() {}

    /// Answers come on the current device's `effects.callback`.
    open func start() {
        let run: Int? = progress.withLock { progress in
            guard !progress.isUnderWay else { return nil }
            progress.isUnderWay = true
            progress.run += 1
            return progress.run
        }
        guard let run else { return }
        let session = EmulatedDevice.current.session
        session.effects.spawn { await self.work(run, session) }
    }

    /// Nobody is called any more.
    open func cancel() {
        progress.withLock { progress in
            progress.run += 1
            progress.isUnderWay = false
        }
    }

    private func work(_ run: Int, _ session: DeviceSession) async {
        do {
            let tell = try await ask(session)
            await session.effects.callback {
                guard let delegate = self.end(run) else { return }
                tell(delegate)
                delegate.requestDidFinish(self)
            }
        } catch {
            let error = (error as? StoreFault)?.error ?? error
            await session.effects.callback { self.end(run)?.request(self, didFailWithError: error) }
        }
    }

    private func end(_ run: Int) -> (any SKRequestDelegate)? {
        progress.withLock { progress in
            guard progress.run == run, progress.isUnderWay else { return nil }
            progress.isUnderWay = false
            return progress.delegate
        }
    }

    /// Asks the store.
    ///
    /// - Returns: what the delegate is told before it is told that the request is done.
    func ask(_ session: DeviceSession) async throws -> @Sendable (any SKRequestDelegate) -> Void { { _ in } }
}

/// Where `delegate` comes from. A subclass whose delegate has another type, as `SKProductsRequest` has, declares its
/// own: Swift overrides no property by one of another type, as Objective-C does.
public protocol SKRequestReporting: AnyObject {}

extension SKRequestReporting where Self: SKRequest {
    /// Not retained.
    public var delegate: (any SKRequestDelegate)? {
        get { heldDelegate }
        set { heldDelegate = newValue }
    }
}

extension SKRequest {
    var heldDelegate: (any SKRequestDelegate)? {
        get { progress.withLock { $0.delegate } }
        set { progress.withLock { $0.delegate = newValue } }
    }
}

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

// Sendable: both of its values are written once, in an initialiser.
open class SKProductsResponse: NSObject, @unchecked Sendable {
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

public let SKReceiptPropertyIsExpired: String = "expired"
public let SKReceiptPropertyIsRevoked: String = "revoked"
public let SKReceiptPropertyIsVolumePurchase: String = "vpp"

/// Fetches the app receipt anew, to `EmulatedDevice.current.receiptURL`. Nobody is asked for a password here.
open class SKReceiptRefreshRequest: SKRequest, @unchecked Sendable {
    // Written once, in an initialiser, and never changed after.
    private let properties: [String: Any]?

    /// - Parameter properties: of a test receipt (`SKReceiptPropertyIsExpired` and so on). The emulated store's
    ///   receipts are those of bought purchases, so they change nothing.
    public init(receiptProperties properties: [String: Any]?) { self.properties = properties }

    public override init() { properties = nil }

    open var receiptProperties: [String: Any]? { properties }

    override func ask(_ session: DeviceSession) async throws -> @Sendable (any SKRequestDelegate) -> Void {
        try await session.refreshOnRequest()
        return { _ in }
    }
}
