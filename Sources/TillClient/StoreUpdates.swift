import TillBilling

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
