import TillBilling
import TillLedger
import TillSQL
import TillThreads

/// Another server holds the lease: nothing that this one writes under it is committed any more.
package struct LeaseLostError: Error, Sendable {
    package let name: String
}

extension LockKey {
    /// A write of a lease's holder takes one of these keys, and a takeover takes all of them: the writes of the holder
    /// do not wait for each other, and a takeover waits for all.
    static let leaseLanes = 8

    static func lease(_ name: String, lane: Int) -> LockKey { LockKey("lease", "\(name) \(lane)") }

    static func wholeLease(_ name: String) -> [LockKey] { (0..<leaseLanes).map { lease(name, lane: $0) } }
}

/// A database whose writes commit only while a lease is held: each write reads the lease in its own transaction, after
/// it has a key in common with a takeover. So a server that was frozen, or cut off, changes nothing when it wakes.
package struct LeasedDatabase: Database {
    private let base: any Database
    private let lease: Lease
    private let lane = Locked(0)
    /// Told once a write finds that the lease is lost.
    private let lost: @Sendable () -> Void

    package init(_ base: any Database, _ lease: Lease, lost: @escaping @Sendable () -> Void = {}) {
        self.base = base
        self.lease = lease
        self.lost = lost
    }

    package var isShared: Bool { base.isShared }
    package var marksCommits: Bool { base.marksCommits }

    package func write<Value: Sendable>(
        locking keys: @autoclosure () -> [LockKey], _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        let next = lane.withLock { lane in
            lane = (lane + 1) % LockKey.leaseLanes
            return lane
        }
        let lease = lease
        do {
            return try await base.write(locking: keys() + [.lease(lease.name, lane: next)]) { connection in
                guard try LeaseTable(connection).isHeld(lease) else { throw LeaseLostError(name: lease.name) }
                return try body(connection)
            }
        } catch let error as LeaseLostError {
            lost()
            throw error
        }
    }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await base.read(body)
    }

    /// The jobs do not close the server's database.
    package func close() async {}
}
