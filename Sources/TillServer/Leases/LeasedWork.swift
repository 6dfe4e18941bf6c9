import TillBilling
import TillLedger

/// The ledger's work done by a command instead of by a server. On a ledger with one server the driver's lock says that
/// no server does it meanwhile; on a shared one the lease of the jobs.
package struct LeasedWork: Sendable {
    /// The server to work with; its writes need the lease.
    package let server: Server
    private let base: Server
    /// Milliseconds between two renewals.
    package static let interval = JobLease.interval

    /// - Returns: nil while a server holds the lease.
    package static func begin(_ server: Server) async -> LeasedWork? {
        guard server.database.isShared else { return LeasedWork(server: server, base: server) }
        guard let lease = await server.jobLease.take(for: server) else { return nil }
        return LeasedWork(server: server.under(lease), base: server)
    }

    package func renew() async {
        if base.database.isShared { await base.jobLease.renew(for: base) }
    }

    package func end() async {
        if base.database.isShared { await base.jobLease.end(for: base) }
    }
}
