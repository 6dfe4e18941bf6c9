import Foundation

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
    fileprivate let progress = Kept(Progress())

    public override init() {}

    /// Answers come on the current device's `effects.callback`.
    open func start() {
        let run: Int? = progress.with { progress in
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
        progress.with { progress in
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
        progress.with { progress in
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
        get { progress.with { $0.delegate } }
        set { progress.with { $0.delegate = newValue } }
    }
}
