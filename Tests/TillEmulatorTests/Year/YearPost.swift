import Testing
import TillAppStore
import TillBilling

@testable import TillEmulator

/// How the year's notifications came to the developer's server.
struct YearPost {
    let attempts: [YearWorld.Attempt]

    /// Milliseconds after the attempt before (facts/notifications §2).
    private static let pauses: [Int64] = [1, 12, 24, 48, 72].map { $0 * 3_600_000 }

    private static func isUp(_ moment: Instant) -> Bool {
        !YearWorld.outages.contains {
            YearWorld.day($0.lowerBound) <= moment && moment < YearWorld.day($0.upperBound)
        }
    }

    /// What is not as Apple's schedule and the server's outages have it.
    /// - Returns: the sentences, and the texts that never arrived.
    func check() throws -> (violations: [String], lost: [String], retried: Int) {
        var found: [String] = []
        var lost: [String] = []
        var retried = 0
        var uuids: Set<String> = []
        for (text, all) in Dictionary(grouping: attempts, by: \.signedPayload) {
            let notification = try AuditRecord.Notification(signedPayload: text)
            if !uuids.insert(notification.uuid).inserted {
                found.append("\(notification.word) \(notification.uuid) was signed twice")
            }
            var moment = all[0].at
            var expected = [moment]
            for pause in Self.pauses where !Self.isUp(moment) {
                moment = moment.adding(milliseconds: pause)
                expected.append(moment)
            }
            if all.map(\.at) != expected {
                found.append("\(notification.word) \(notification.uuid) was tried at \(all.map(\.at.rfc3339))")
            }
            if moment < Instant(milliseconds: notification.signed) {
                found.append("\(notification.word) \(notification.uuid) was sent before it happened")
            }
            if !Self.isUp(moment) { lost.append(text) }
            if all.count > 1 { retried += 1 }
        }
        return (found.sorted(), lost, retried)
    }
}
