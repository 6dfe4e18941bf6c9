import Synchronization

/// What the bodies of all requests may take up together, and how much of it is taken.
final class BodyMemory: Sendable {
    private let limit: Int
    private let used = Atomic<Int>(0)

    init(limit: Int) { self.limit = limit }

    /// Counts so many bytes; false where they are more than there may be. They are to be given back in either case.
    func take(_ count: Int) -> Bool { used.add(count, ordering: .relaxed).newValue <= limit }

    func giveBack(_ count: Int) { used.subtract(count, ordering: .relaxed) }
}
