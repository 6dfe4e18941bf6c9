import TillAppStore
import TillBilling
import TillSQL

/// The emulated store's shelves, accounts and till. Everything that changes its state is a turn: one commit, together
/// with the notifications that tell of it. What each room can do to the store is an extension in that room.
public struct Store: Sendable {
    let database: any Database
    let configuration: EmulatorConfiguration
    let clock: StoreClock
    let entropy: @Sendable (Int) -> [UInt8]
    let notifications: NotificationSender
    let chaos: Chaos

    /// The store's time; see `StoreClock`.
    public var now: Instant { clock.now }

    // MARK: Changing and asking

    /// Changes the store. Whatever was due before happens first, so nobody acts on a store that is behind its time.
    func change<Value: Sendable>(_ body: @escaping @Sendable (Turn) throws -> Value) async throws -> Value {
        try await catchUp()
        let (clock, configuration, entropy) = (clock, configuration, entropy)
        let value = try await database.write { session in
            let now = clock.now
            // What fell due since is rare, and cheap to do here.
            while let entry = try Agenda.next(by: now, session) {
                try Self.perform(entry, session, configuration, entropy)
            }
            return try body(Turn(session: session, now: now, configuration: configuration, entropy: entropy))
        }
        notifications.wake()
        return value
    }

    /// Reads the store as it is now.
    func ask<Value: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> Value) async throws -> Value {
        try await catchUp()
        return try await database.read(body)
    }

    /// Lets everything happen that is due: each at its own moment, in order.
    func catchUp() async throws {
        let clock = clock
        while try await database.read({ try Agenda.next(by: clock.now, $0) }) != nil {
            let (configuration, entropy) = (configuration, entropy)
            try await database.write { session in
                // So many in one commit: what was missed while the store was off may be a year of a thousand customers.
                for _ in 0..<256 {
                    guard let entry = try Agenda.next(by: clock.now, session) else { return }
                    try Self.perform(entry, session, configuration, entropy)
                }
            }
            notifications.wake()
        }
    }

    /// Takes an entry off the agenda and does what it stands for, at its own moment. Whoever does it may set the next.
    static func perform(
        _ entry: Agenda.Entry, _ session: any Connection, _ configuration: EmulatorConfiguration,
        _ entropy: @escaping @Sendable (Int) -> [UInt8]
    ) throws {
        try Agenda.set(entry.kind, entry.subject, at: nil, session)
        let turn = Turn(session: session, now: entry.due, configuration: configuration, entropy: entropy)
        switch entry.kind {
        case .subscription: try SubscriptionLife.reachDate(of: entry.subject, turn)
        case .refund: try RefundDesk.decide(entry.subject, turn)
        case .approval: try ApprovalDesk.expire(entry.subject, turn)
        case .massExtension: try MassExtension.proceed(entry.subject, turn)
        case .priceIncrease: try ProductPriceIncrease.proceed(entry.subject, turn)
        }
    }
}
