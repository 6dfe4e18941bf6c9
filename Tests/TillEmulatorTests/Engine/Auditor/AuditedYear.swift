import TillAppStore
import TillThreads

@testable import TillEmulator

/// A simulated year with an audit.
struct AuditedYear {
    let year: Year
    /// Customers as recorded when their accounts were deleted.
    private let closed: Locked<[(name: String, customer: AuditRecord.Customer)]>
    /// A cache: each notification is decoded once, although every audit reads all of them.
    private let known = Locked<[String: AuditRecord.Notification]>([:])

    init(subscribers: Int, seed: UInt64, isWild: Bool = false) async throws {
        let closed = Locked<[(name: String, customer: AuditRecord.Customer)]>([])
        var app = YearApp()
        app.willClose = { world, customer in
            let first = try await world.transactions(of: customer.name).first { $0.state == .purchased }
            guard let first else { return }
            let emulator = world.emulator
            let seen = try await AuditCollection(
                ask: { await emulator.respond(to: $0) }, now: world.store.now
            ).customer(account: customer.name, bundleID: YearCatalogue.bundleID, anyTransactionID: first.id.text)
            closed.withLock { $0.append((customer.name, seen)) }
        }
        self.closed = closed
        year = try await Year(
            YearWorld(seed: seed, keys: EmulatedWorld.keys), subscribers: subscribers, seed: seed, isWild: isWild,
            app: app)
    }

    func record() async throws -> AuditRecord {
        let closed = closed.withLock { $0 }
        var asked: [(account: String, bundleID: String, anyTransactionID: String)] = []
        for customer in year.customers where !closed.contains(where: { $0.name == customer.name }) {
            let first = try await year.world.transactions(of: customer.name).first { $0.state == .purchased }
            if let first { asked.append((customer.name, YearCatalogue.bundleID, first.id.text)) }
        }
        var record = try await AuditRecord.collect(
            from: year.world.emulator, notifications: year.notifications, customers: asked,
            reading: read)
        record.closed = closed.map(\.customer)
        return record
    }

    func read(_ signedPayload: String) throws -> AuditRecord.Notification {
        if let notification = known.withLock({ $0[signedPayload] }) { return notification }
        let notification = try AuditRecord.Notification(signedPayload: signedPayload)
        known.withLock { $0[signedPayload] = notification }
        return notification
    }
}
