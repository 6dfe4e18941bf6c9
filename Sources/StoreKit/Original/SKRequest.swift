import Foundation
import TillThreads

public protocol SKRequestDelegate: NSObjectProtocol {
    /// Optional.
    func requestDidFinish(_ request: SKRequest)
    /// Optional. `requestDidFinish` is not called after it.
    func request(_ request: SKRequest, didFailWithError error: any Error)
}

extension SKRequestDelegate {
    public func requestDidFinish(_ request: SKRequest) {}
    public func request(_ request: SKRequest, didFailWithError error: any Error) {}
}

/// A request to the App Store, answered through a delegate.
///
/// The request is retained until it is answered; the app must retain the delegate.
open class SKRequest: NSObject, SKRequestReporting {
    fileprivate struct Progress {
        weak var delegate: (any SKRequestDelegate)?
        /// The number of the current run; a new number cancels earlier runs.
        var run = 0
        var isUnderWay = false
    }

    // Protected by its own lock: the app sets the delegate while the answer reads it.
    fileprivate let progress = Locked(Progress())

    public override init() {}

    /// Starts the request. The delegate is called through the current device's `effects.callback`.
    open func start() {
        let run: Int? = progress.withLock { progress in
            guard !progress.isUnderWay else { return nil }
            progress.isUnderWay = true
            progress.run += 1
            return progress.run
        }
        guard let run else { return }
        let session = EmulatedDevice.current.session
        // Safe to send: what the task and its callback read is behind the lock of `progress`, or never changes.
        nonisolated(unsafe) let request = self
        session.effects.spawn { await request.work(run, session) }
    }

    /// Cancels the request. The delegate isn't called afterwards.
    open func cancel() {
        progress.withLock { progress in
            progress.run += 1
            progress.isUnderWay = false
        }
    }

    private func work(_ run: Int, _ session: DeviceSession) async {
        // Safe to send, as in `start()`.
        nonisolated(unsafe) let request = self
        do {
            let callDelegate = try await ask(session)
            await session.effects.callback {
                guard let delegate = request.end(run) else { return }
                callDelegate(request, delegate)
                delegate.requestDidFinish(request)
            }
        } catch {
            let error = (error as? EmulatorClientError)?.error ?? error
            await session.effects.callback { request.end(run)?.request(request, didFailWithError: error) }
        }
    }

    private func end(_ run: Int) -> (any SKRequestDelegate)? {
        progress.withLock { progress in
            guard progress.run == run, progress.isUnderWay else { return nil }
            progress.isUnderWay = false
            return progress.delegate
        }
    }

    /// Sends the request to the store.
    ///
    /// - Returns: the delegate's call before `requestDidFinish`.
    func ask(_ session: DeviceSession) async throws -> DelegateCall { { _, _ in } }

    typealias DelegateCall = @Sendable (SKRequest, any SKRequestDelegate) -> Void
}

/// Provides `delegate`. A subclass whose delegate has another type, such as `SKProductsRequest`, declares its own
/// property, because Swift doesn't allow an override with another type as Objective-C does.
public protocol SKRequestReporting: AnyObject {}

extension SKRequestReporting where Self: SKRequest {
    /// The request doesn't retain its delegate.
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

/// Requests products by their ids; the store has no list of all products (facts/storekit-client A2).
open class SKProductsRequest: SKRequest {
    private let productIdentifiers: Set<String>

    public init(productIdentifiers: Set<String>) { self.productIdentifiers = productIdentifiers }

    public override init() { productIdentifiers = [] }

    /// The request doesn't retain its delegate.
    public var delegate: (any SKProductsRequestDelegate)? {
        get { heldDelegate as? any SKProductsRequestDelegate }
        set { heldDelegate = newValue }
    }

    override func ask(_ session: DeviceSession) async throws -> DelegateCall {
        let (products, invalid) = try await session.originalProducts(productIdentifiers.sorted())
        let response = SKProductsResponse(products: products, invalidProductIdentifiers: invalid)
        return { request, delegate in
            guard let request = request as? SKProductsRequest else { return }
            (delegate as? any SKProductsRequestDelegate)?.productsRequest(request, didReceive: response)
        }
    }
}

// Sendable: both values are written once, in an initializer.
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
    /// Unknown ids, and ids of products that aren't for sale in the customer's storefront.
    open var invalidProductIdentifiers: [String] { invalid }
}

extension DeviceSession {
    /// The maximum of products in one response of the store.
    private static let productLimit = 1_000

    func originalProducts(_ ids: [String]) async throws(EmulatorClientError) -> (found: [SKProduct], invalid: [String])
    {
        try await signedIn()
        var found: [SKProduct] = []
        var invalid: [String] = []
        var rest = ids[...]
        while !rest.isEmpty {
            let answer = try await client.products(Array(rest.prefix(Self.productLimit)))
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

/// Fetches the app receipt to `EmulatedDevice.current.receiptURL` again. No password is required here.
open class SKReceiptRefreshRequest: SKRequest {
    private let properties: [String: Any]?

    /// - Parameter properties: the properties of a test receipt (`SKReceiptPropertyIsExpired` and so on). They have no
    ///   effect, because the emulated store's receipts contain actual purchases.
    public init(receiptProperties properties: [String: Any]?) { self.properties = properties }

    public override init() { properties = nil }

    open var receiptProperties: [String: Any]? { properties }

    override func ask(_ session: DeviceSession) async throws -> DelegateCall {
        try await session.refreshOnRequest()
        return { _, _ in }
    }
}
