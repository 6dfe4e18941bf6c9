import TillBilling
import TillSQL

/// Time travel. The clock stands at each moment at which something happens: what the agenda holds for it is done, and
/// what is to be sent then is sent and waited for, before the clock goes on to the next.
extension Store {
    /// Advances the clock. Returns when all that happens on the way has happened.
    ///
    /// While it is on its way, whoever asks the store finds it at the moment where the clock stands; a second call is
    /// refused. A server that takes a notification must not wait for this call before it answers: the call waits for
    /// the answer.
    ///
    /// - Returns: the moment where the clock goes on from; or a refusal, `journey_cut_short` among them: where the task
    ///   was cancelled or the emulator was stopped, the clock goes on from the last moment reached.
    /// - Throws: `DatabaseError`. The clock goes on from the last moment reached, and nothing is lost.
    public func advance(by span: Span) async throws -> Result<Instant, StoreRefusal> {
        try await travel { $0.adding(milliseconds: span.milliseconds) }
    }

    /// The same, to a moment; an earlier one than now is refused.
    public func advance(to moment: Instant) async throws -> Result<Instant, StoreRefusal> {
        try await travel { _ in moment }
    }

    private func travel(_ goal: (_ start: Instant) -> Instant) async throws -> Result<Instant, StoreRefusal> {
        let target: Instant
        switch clock.depart(to: goal) {
        case .success(let moment): target = moment
        case .failure(let refusal): return .failure(refusal)
        }
        defer { clock.arrive() }
        await notifications.hold()
        defer { notifications.release() }
        var isThere = false
        while !isThere {
            guard !Task.isCancelled, !clock.isEnding else { return .failure(.journeyCutShort(at: clock.now)) }
            isThere = try await proceed(toward: target)
            guard try await notifications.sendHeld() else { return .failure(.journeyCutShort(at: clock.now)) }
        }
        while try await sweep() {}
        return .success(clock.now)
    }

    /// Goes on to the next moment at which something is to be sent, or as far as one commit may go.
    /// - Returns: whether the clock stands at the target, and nothing else is due by then.
    private func proceed(toward target: Instant) async throws -> Bool {
        let (clock, configuration, entropy) = (clock, configuration, entropy)
        return try await database.write { session in
            let isTold = try SettingTable.value(.notificationURL, session) != nil
            var isThere = false
            for _ in 0..<256 {
                let sending = isTold ? try NotificationTable.nextDue(session) : nil
                let stop = sending.map { min($0, target) } ?? target
                let entry = try Agenda.next(by: stop, session)
                clock.stand(at: entry?.due ?? stop)
                guard let entry else {
                    isThere = sending.map { $0 > target } ?? true
                    break
                }
                try Self.perform(entry, session, configuration, entropy)
            }
            // In the same commit as what is signed at this moment: a crash does not put the clock back before it.
            try clock.kept.store(session)
            return isThere
        }
    }
}
