import TillBilling

/// The latest notice for every subject, numbered in order of arrival, for listeners that read at their own pace.
///
/// Not an actor: the journal posts synchronously with each change, so that changes never swap order. `@unchecked` holds
/// because all state is accessed only under the lock.
final class UpdateLog: @unchecked Sendable {
    private enum Subject: Hashable {
        case order(OrderID)
        case revoked([String])
        case promoted(String)
        case storefront
    }

    private struct Notice {
        var number: Int
        let update: StoreUpdate
        /// The owner of the order; nil while unknown.
        var owner: UserID?
        /// Whether it could not be shown when it was posted.
        var isHeldBack: Bool
    }

    private let lock = Guarded<Void>()
    private var notices: [Subject: Notice] = [:]
    /// In order of number. A line is stale if its notice has a newer number.
    private var lines: [(number: Int, subject: Subject)] = []
    private var lastNumber = 0
    private var audience: UserID?
    private var isClosed = false
    private var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    private var lastTicket = 0

    /// Posts the current state of an order. An unchanged state is not posted again.
    func post(_ summary: StoreOrder, owner: UserID?) {
        change {
            let known = notices[.order(summary.uuid)]
            if let known, known.update == .order(summary), known.owner == owner { return }
            let isHeldBack = owner == nil || owner != audience
            put(.order(summary.uuid), Notice(number: 0, update: .order(summary), owner: owner, isHeldBack: isHeldBack))
        }
    }

    func postRevoked(_ productIDs: [String]) { post(.revoked(productIDs), .revoked(productIDs: productIDs)) }
    func postPromoted(_ productID: String) { post(.promoted(productID), .promoted(productID: productID)) }
    func postStorefrontChanged() { post(.storefront, .storefrontChanged) }

    private func post(_ subject: Subject, _ update: StoreUpdate) {
        change { put(subject, Notice(number: 0, update: update, owner: nil, isHeldBack: false)) }
    }

    /// Sets the user whose orders are visible from now on. Notices held back for the user become new.
    func show(to user: UserID?) {
        change {
            audience = user
            guard let user else { return }
            let held = notices.filter { $0.value.isHeldBack && $0.value.owner == user }
            for (subject, notice) in held.sorted(by: { $0.value.number < $1.value.number }) {
                var notice = notice
                notice.isHeldBack = false
                put(subject, notice)
            }
        }
    }

    /// The number of subjects with a notice.
    var count: Int { lock.withLock { notices.count } }

    /// Ends the loops of all listeners after they have received the existing notices.
    func close() { change { isClosed = true } }

    /// The first visible notice after this number; nil at the end, or when the task is cancelled.
    func next(after number: Int) async -> (number: Int, update: StoreUpdate)? {
        while !Task.isCancelled {
            let (found, isClosed, ticket) = lock.withLock { () -> ((Int, StoreUpdate)?, Bool, Int) in
                lastTicket += 1
                return (take(after: number), self.isClosed, lastTicket)
            }
            if found != nil || isClosed { return found }
            await wait(after: number, ticket)
        }
        return nil
    }

    private func wait(after number: Int, _ ticket: Int) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = lock.withLock { () -> Bool in
                    if isClosed || Task.isCancelled || visible(after: number) != nil { return true }
                    waiting[ticket] = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            // Either the task was not cancelled before, or `wait` noticed the cancellation, so no waiter remains.
            lock.withLock { waiting.removeValue(forKey: ticket) }?.resume()
        }
    }

    // MARK: Under the lock

    private func change(_ body: () -> Void) {
        let woken = lock.withLock { () -> [Int: CheckedContinuation<Void, Never>] in
            body()
            defer { waiting = [:] }
            return waiting
        }
        for (_, continuation) in woken.sorted(by: { $0.key < $1.key }) { continuation.resume() }
    }

    private func put(_ subject: Subject, _ notice: Notice) {
        lastNumber += 1
        var notice = notice
        notice.number = lastNumber
        notices[subject] = notice
        lines.append((lastNumber, subject))
        if lines.count > 2 * notices.count + 64 {
            lines.removeAll { notices[$0.subject]?.number != $0.number }
        }
    }

    private func take(after number: Int) -> (Int, StoreUpdate)? {
        guard let (line, notice) = visible(after: number) else { return nil }
        // A tap on a promoted product is a one-time event: only one of two listening pages may begin the purchase.
        if case .promoted = line.subject { notices[line.subject] = nil }
        return (line.number, notice.update)
    }

    private func visible(after number: Int) -> (line: (number: Int, subject: Subject), notice: Notice)? {
        var low = 0
        var high = lines.count
        while low < high {
            let middle = (low + high) / 2
            if lines[middle].number <= number { low = middle + 1 } else { high = middle }
        }
        for line in lines[low...] {
            guard let notice = notices[line.subject], notice.number == line.number else { continue }
            if case .order = line.subject, notice.owner == nil || notice.owner != audience { continue }
            return (line, notice)
        }
        return nil
    }
}

/// A change that happened without the listener, or through a purchase elsewhere in the app.
public enum StoreUpdate: Hashable, Sendable {
    /// An order of the signed-in user has changed to this state.
    case order(StoreOrder)
    /// Apple revoked the entitlements of these products; read the entitlements again.
    case revoked(productIDs: [String])
    /// The buyer tapped this product in the App Store. Buy it with `TillStore.purchase` when the app is ready.
    case promoted(productID: String)
    /// The buyer's storefront has changed, and with it prices and products.
    case storefrontChanged
}

/// A sequence of all updates since launch, followed by new ones.
///
/// Each loop receives the same updates: first the latest state of every order that changed since the store was
/// created, in the order of the changes, then each further change. A slow loop misses no order, but several changes of
/// one order are combined into the latest. The same applies to the other updates, for each kind and product. A tap on a
/// promoted product is delivered to one loop only. Orders of a user who isn't signed in are held back until that user
/// signs in. The loop ends when the store is stopped, or its task is cancelled.
public struct StoreUpdates: AsyncSequence, Sendable {
    public typealias Element = StoreUpdate
    public typealias Failure = Never

    let updateLog: UpdateLog

    public func makeAsyncIterator() -> Iterator { Iterator(updateLog: updateLog) }

    /// The position of one loop in the updates.
    public struct Iterator: AsyncIteratorProtocol {
        let updateLog: UpdateLog
        private var lastNumber = 0

        init(updateLog: UpdateLog) { self.updateLog = updateLog }

        public mutating func next() async -> StoreUpdate? {
            guard let (number, update) = await updateLog.next(after: lastNumber) else { return nil }
            lastNumber = number
            return update
        }
    }
}
