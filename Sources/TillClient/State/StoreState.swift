import TillBilling

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What an app shows: the values that the kit knows now, without a request.
public struct StoreState: Hashable, Sendable {
    /// The signed-in user; nil if no user is signed in.
    public internal(set) var userID: String?
    /// The products of the last call of `products()` or `cachedProducts()`.
    public internal(set) var products: [StoreProduct] = []
    /// The user's orders on this device, newest first.
    public internal(set) var orders: [StoreOrder] = []
    /// Points by kind, as the server last stated them; nil if it has not answered since the sign-in.
    public internal(set) var wallet: [String: Int64]?
    /// The user's entitlements, also without a network.
    public internal(set) var entitlements = EntitlementSnapshot()
    /// The product ids with a purchase in progress.
    public internal(set) var purchasing: Set<String> = []
    /// A Boolean value that indicates whether a purchase is in progress.
    public var isBusy: Bool { !purchasing.isEmpty }
}

/// The current state, and the tasks that wait for its next change. Not an actor, because the journal posts
/// synchronously with each change.
final class StateBoard: @unchecked Sendable {
    // Guards the variables below.
    private let lock = Guarded<Void>()
    private var state = StoreState()
    private var version = 0
    private var isClosed = false
    private var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    private var lastTicket = 0
    private var isRead = false
    /// Called once, when the app first reads what only the server knows.
    private var onFirstRead: (@Sendable () -> Void)?
    /// What the device knows of a user without a request.
    private var knownEntitlements: (@Sendable (UserID) -> EntitlementSnapshot?)?

    func connect(
        onFirstRead: @escaping @Sendable () -> Void, entitlements: @escaping @Sendable (UserID) -> EntitlementSnapshot?
    ) {
        lock.withLock { (self.onFirstRead, knownEntitlements) = (onFirstRead, entitlements) }
    }

    var current: StoreState { lock.withLock { state } }

    /// Whether the app uses the entitlements or the state; the kit asks the server for them only then.
    var isInUse: Bool { lock.withLock { isRead } }

    func markRead() {
        let first = lock.withLock { () -> (@Sendable () -> Void)? in
            defer { isRead = true }
            return isRead ? nil : onFirstRead
        }
        first?()
    }

    func change(_ body: (inout StoreState) -> Void) {
        let woken = lock.withLock { () -> [CheckedContinuation<Void, Never>] in
            let before = state
            body(&state)
            guard state != before else { return [] }
            version += 1
            return takeWaiting()
        }
        for continuation in woken { continuation.resume() }
    }

    /// Shows what the device knows of the user who signs in, or nothing.
    func setUser(_ user: UserID?) {
        let known = user.flatMap { user in lock.withLock { knownEntitlements }?(user) }
        change { state in
            if state.userID != user?.text { (state.orders, state.wallet) = ([], nil) }
            state.userID = user?.text
            state.entitlements = known ?? EntitlementSnapshot()
        }
    }

    /// Adds the orders that the journal has; those that changed since the sign-in are shown already, and newer.
    func add(_ orders: [StoreOrder], of user: UserID) {
        change { state in
            guard state.userID == user.text else { return }
            let shown = Set(state.orders.map(\.uuid))
            state.orders += orders.filter { !shown.contains($0.uuid) }
            state.orders.sort { ($1.begun, $1.uuid) < ($0.begun, $0.uuid) }
        }
    }

    /// Shows an order of the signed-in user; another user's is left out.
    func show(_ order: StoreOrder, owner: UserID?) {
        change { state in
            guard let owner, state.userID == owner.text else { return }
            state.orders.removeAll { $0.uuid == order.uuid }
            let place = state.orders.firstIndex { ($0.begun, $0.uuid) < (order.begun, order.uuid) }
            state.orders.insert(order, at: place ?? state.orders.endIndex)
        }
    }

    func setPurchasing(_ products: Set<ProductID>) { change { $0.purchasing = Set(products.map(\.text)) } }

    func close() {
        let woken = lock.withLock { () -> [CheckedContinuation<Void, Never>] in
            isClosed = true
            return takeWaiting()
        }
        for continuation in woken { continuation.resume() }
    }

    /// The state after this version; nil at the end, or when the task is cancelled.
    func next(after seen: Int) async -> (version: Int, state: StoreState)? {
        while !Task.isCancelled {
            let (found, isClosed, ticket) = lock.withLock { () -> ((Int, StoreState)?, Bool, Int) in
                lastTicket += 1
                return (version > seen ? (version, state) : nil, self.isClosed, lastTicket)
            }
            if found != nil || isClosed { return found }
            await wait(after: seen, ticket)
        }
        return nil
    }

    private func wait(after seen: Int, _ ticket: Int) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = lock.withLock { () -> Bool in
                    if isClosed || Task.isCancelled || version > seen { return true }
                    waiting[ticket] = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            lock.withLock { waiting.removeValue(forKey: ticket) }?.resume()
        }
    }

    private func takeWaiting() -> [CheckedContinuation<Void, Never>] {
        defer { waiting = [:] }
        return waiting.sorted { $0.key < $1.key }.map(\.value)
    }
}

/// A sequence of the store's states: first the current one, then the newest after each change. A slow loop skips states
/// that are out of date. The loop ends when the store is stopped, or its task is cancelled.
public struct StoreStates: AsyncSequence, Sendable {
    public typealias Element = StoreState
    public typealias Failure = Never

    let board: StateBoard

    public func makeAsyncIterator() -> Iterator { Iterator(board: board) }

    /// The position of one loop.
    public struct Iterator: AsyncIteratorProtocol {
        let board: StateBoard
        private var version = -1

        init(board: StateBoard) { self.board = board }

        public mutating func next() async -> StoreState? {
            guard let (version, state) = await board.next(after: version) else { return nil }
            self.version = version
            return state
        }
    }
}

extension TillStore {
    /// What the kit knows now.
    public var state: StoreState {
        components.state.markRead()
        return components.state.current
    }

    /// The current state and all later ones.
    public var states: StoreStates {
        components.state.markRead()
        return StoreStates(board: components.state)
    }

    /// The signed-in user's entitlements: the server's last answer, which is kept on the device for the time without a
    /// network. It refreshes by itself.
    public var entitlements: EntitlementSnapshot { state.entitlements }

    /// Returns whether the signed-in user may use a feature now, also without a network. Let the server decide about
    /// anything that costs you money: a device can be manipulated.
    ///
    /// - Parameters:
    ///   - name: the entitlement's name in the catalogue.
    ///   - device: the device that uses it, for plans of single devices; nil for this phone.
    public func isEntitled(_ name: String, device: String? = nil) -> Bool {
        let now = Date(account.now)
        return entitlements.isEntitled(name, device: device ?? components.phoneID, at: now)
    }
}
