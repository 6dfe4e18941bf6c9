import Testing
import TillAppStore
import TillBilling

@testable import TillEmulator

/// The delivery of the year's notifications to the developer's server.
struct YearPost {
    let attempts: [YearWorld.Attempt]

    /// Milliseconds after the previous attempt (facts/notifications §2).
    private static let pauses: [Int64] = [1, 12, 24, 48, 72].map { $0 * 3_600_000 }

    private static func isUp(_ moment: Instant) -> Bool {
        !YearWorld.outages.contains {
            YearWorld.day($0.lowerBound) <= moment && moment < YearWorld.day($0.upperBound)
        }
    }

    /// Whether an attempt was made when it was due. While customers act, in the first minutes of a day, sending waits
    /// for the next clock advance.
    private static func follows(_ moment: Instant, _ due: Instant) -> Bool {
        let morning = (due.milliseconds - YearWorld.start.milliseconds) % 86_400_000
        let delay = moment.milliseconds - due.milliseconds
        return delay == 0 || morning < 1_200_000 && (0..<1_200_000).contains(delay)
    }

    /// Compares the attempts with Apple's schedule and the server's outages.
    /// - Returns: the deviations as sentences, and the texts that never arrived.
    func check(
        reading read: (String) throws -> AuditRecord.Notification
    ) throws -> (violations: [String], lost: [String], retried: Int) {
        var found: [String] = []
        var lost: [String] = []
        var retried = 0
        var uuids: Set<String> = []
        for (text, all) in Dictionary(grouping: attempts, by: \.signedPayload) {
            let notification = try read(text)
            if !uuids.insert(notification.uuid).inserted {
                found.append("\(notification.word) \(notification.uuid) was signed twice")
            }
            var expected = 1
            for (pause, (before, after)) in zip(Self.pauses, zip(all, all.dropFirst())) where !before.isTaken {
                if Self.follows(after.at, before.at.adding(milliseconds: pause)) { expected += 1 }
            }
            let last = all[all.count - 1]
            let isOver = last.isTaken || all.count == Self.pauses.count + 1
            if all.count != expected || !isOver || all.contains(where: { $0.isTaken != Self.isUp($0.at) }) {
                found.append("\(notification.word) \(notification.uuid) was tried at \(all.map(\.at.rfc3339))")
            }
            let moment = all[0].at
            if moment < Instant(milliseconds: notification.signed) {
                found.append("\(notification.word) \(notification.uuid) was sent before it happened")
            }
            if !last.isTaken { lost.append(text) }
            if all.count > 1 { retried += 1 }
        }
        return (found.sorted(), lost, retried)
    }
}
