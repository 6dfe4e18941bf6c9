import TillBilling

/// The latest notice about every subject, numbered as they came, for listeners who read at their own pace.
///
/// Not an actor: the journal posts in the very moment of a change, so that two changes never swap places. Everything
/// inside is touched under the lock only, which is what `@unchecked` vouches for.
final class UpdateBoard: @unchecked Sendable {
    private enum Subject: Hashable {
        case order(OrderID)
        case revoked([String])
        case promoted(String)
        case storefront
    }

    private struct Notice {
        var number: Int
        let update: StoreUpdate
        /// Whose order it is; nil while nobody knows.
        var owner: UserID?
        /// Nobody could see it when it was posted.
        var isHeldBack: Bool
    }

    private let lock = Guarded<Void>()
    private var notices: [Subject: Notice] = [:]
    /// By number. A line whose notice has another number by now is stale.
    private var lines: [(number: Int, subject: Subject)] = []
    private var lastNumber = 0
    private var audience: UserID?
    private var isClosed = false
    private var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    private var lastTicket = 0

    /// An order is like this now. The same news twice is none.
    func post(_ summary: OrderSummary, owner: UserID?) {
        change {
            if let known = notices[.order(summary.id)], known.update == .order(summary), known.owner == owner { return }
            let isHeldBack = owner == nil || owner != audience
            put(.order(summary.id), Notice(number: 0, update: .order(summary), owner: owner, isHeldBack: isHeldBack))
        }
    }

    func postRevoked(_ productIDs: [String]) { post(.revoked(productIDs), .revoked(productIDs: productIDs)) }
    func postPromoted(_ productID: String) { post(.promoted(productID), .promoted(productID: productID)) }
    func postStorefrontChanged() { post(.storefront, .storefrontChanged) }

    private func post(_ subject: Subject, _ update: StoreUpdate) {
        change { put(subject, Notice(number: 0, update: update, owner: nil, isHeldBack: false)) }
    }

    /// Whose orders may be seen from now on. What was held back for them is news now (P8).
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

    /// How many subjects there is news of.
    var count: Int { lock.withLock { notices.count } }

    /// Listeners hear what is there already, and then their loops end.
    func close() { change { isClosed = true } }

    /// The first visible notice after that number; nil at the end, or when the task is cancelled.
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
            // Before this the task was not cancelled, or `wait` saw that it was: nobody is left waiting.
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
        // A tap is a wish, not a state: two pages that listen must not both begin to buy.
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

/// What happened by itself, or by a purchase elsewhere in the app.
public enum StoreUpdate: Hashable, Sendable {
    /// An order of whoever is signed in is now like this.
    case order(OrderSummary)
    /// Apple took the rights to these products back: read the entitlements anew.
    case revoked(productIDs: [String])
    /// The buyer tapped this product in the App Store: buy it when the app is ready (`Store.purchase`).
    case promoted(productID: String)
    /// The buyer's store is another country's now: prices and products changed.
    case storefrontChanged
}

/// Everything that happened since the launch, then what happens (P7).
///
/// Each loop over it hears the same: first the latest state of every order that changed since `Store` was made, in the
/// order of the changes, then each change as it comes. A loop that falls behind misses no order, but two changes of
/// one order that nobody took in between are one: the latest. The same holds for the other updates, one of each kind
/// and product. A tap on a promoted product is given to one loop only. Orders of somebody who is not signed in are
/// held back until they sign in (P8). The loop ends when the store is stopped, or its task is cancelled.
public struct StoreUpdates: AsyncSequence, Sendable {
    public typealias Element = StoreUpdate
    public typealias Failure = Never

    let board: UpdateBoard

    public func makeAsyncIterator() -> Iterator { Iterator(board: board) }

    /// One loop's place in the updates.
    public struct Iterator: AsyncIteratorProtocol {
        let board: UpdateBoard
        private var heard = 0

        init(board: UpdateBoard) { self.board = board }

        public mutating func next() async -> StoreUpdate? {
            guard let (number, update) = await board.next(after: heard) else { return nil }
            heard = number
            return update
        }
    }
}
