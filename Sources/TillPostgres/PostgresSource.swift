import TillSQL
import TillThreads

/// The connection of one thread, made again after it was lost.
final class PostgresSource: @unchecked Sendable {
    // @unchecked: one thread uses it, apart from its creation.
    private let settings: ConnectionSettings
    private let outage: Outage
    private let counter: FigureCounter
    private var handle: PostgresHandle?

    init(_ settings: ConnectionSettings, _ first: PostgresHandle?, _ outage: Outage, _ counter: FigureCounter) {
        self.settings = settings
        self.outage = outage
        self.counter = counter
        handle = first
    }

    /// Returns the connection, connecting if there is none.
    func usable() throws(DatabaseError) -> PostgresHandle {
        if let handle { return handle }
        if let error = outage.current { throw error }
        do throws(DatabaseError) {
            let fresh = try PostgresHandle(settings, counter)
            outage.end()
            handle = fresh
            return fresh
        } catch {
            outage.begin(error)
            throw error
        }
    }

    /// The next use connects again.
    func discard() { close() }

    func close() {
        handle?.close()
        handle = nil
    }
}

/// Remembers for a moment that no server could be reached: requests are then refused at once, and do not wait one after
/// another for the same connection.
final class Outage: Sendable {
    private static let milliseconds: Int64 = 250

    private let state = Locked<(until: Int64, error: DatabaseError)?>(nil)

    var current: DatabaseError? {
        let now = MonotonicClock.milliseconds
        return state.withLock { state in state.flatMap { now < $0.until ? $0.error : nil } }
    }

    func begin(_ error: DatabaseError) {
        let until = MonotonicClock.milliseconds + Self.milliseconds
        state.withLock { $0 = (until, error) }
    }

    func end() { state.withLock { $0 = nil } }
}
