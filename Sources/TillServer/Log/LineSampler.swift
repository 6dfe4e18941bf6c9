import TillBilling
import TillLedger

/// Lets the first of many equal lines through, and counts the others. Lines are equal if they have the same event and
/// the same fields of `identity`; so errors of different kinds, and requests of different callers, never suppress each
/// other.
///
/// Lines that are a record of their own are always written: what was granted or refunded, and the requests of callers
/// with a valid key or token that were not refused.
struct LineSampler {
    /// Lines written in one window.
    static let burst = 20
    /// Milliseconds of a window. At its end the suppressed lines are reported in one line.
    static let window: Int64 = 30_000
    /// Kinds of lines that are tracked. Above that, lines differ only by `shortIdentity`, whose values are this
    /// program's own words.
    static let capacity = 1_024

    /// The fields by which lines differ. All others, such as ids and times, may differ between equal lines.
    static let identity = [
        "route", "status", "code", "caller", "job", "work", "limit", "host", "endpoint", "source", "cause", "reason",
    ]
    static let shortIdentity = ["status", "code", "job", "work", "limit"]

    private struct Entry {
        let start: Instant
        let event: LogEvent
        let fields: [(name: String, value: Log.Value)]
        var count = 1
    }

    private var entries: [Int: Entry] = [:]
    /// Kinds of lines that are tracked now.
    var count: Int { entries.count }
    private var sweptAt = Instant(milliseconds: .min)

    /// Whether the writer has something to report later.
    private(set) var hasSuppressed = false

    static func isSampled(_ line: Log.Line) -> Bool {
        switch line.event {
        case .request:
            guard case .integer(let status)? = line["status"], status < 400 else { return true }
            return line["caller"] == .text("anonymous")
        case .requestUnread: return true
        case .startWarning, .startFailed, .linesDropped, .linesSuppressed: return false
        default: return line.event.level != .info
        }
    }

    /// Whether to write the line.
    mutating func admits(_ line: Log.Line, at now: Instant, report: (Log.Line) -> Void) -> Bool {
        guard Self.isSampled(line) else { return true }
        var key = Self.key(of: line, Self.identity)
        if entries[key] == nil, entries.count >= Self.capacity {
            if Self.hasPassed(1_000, since: sweptAt, at: now) { reportEnded(at: now, report) }
            if entries.count >= Self.capacity { key = Self.key(of: line, Self.shortIdentity) }
        }
        if let entry = entries[key] {
            guard Self.hasPassed(Self.window, since: entry.start, at: now) else {
                entries[key]?.count += 1
                if entry.count < Self.burst { return true }
                hasSuppressed = true
                return false
            }
            if let summary = Self.summary(of: entry, at: now) { report(summary) }
        }
        entries[key] = Entry(
            start: now, event: line.event, fields: line.fields.filter { Self.identity.contains($0.name) })
        return true
    }

    /// Reports once a second what has ended.
    mutating func reportIfDue(at now: Instant, _ report: (Log.Line) -> Void) {
        guard hasSuppressed, Self.hasPassed(1_000, since: sweptAt, at: now) else { return }
        reportEnded(at: now, report)
    }

    /// Reports the windows that have ended, and forgets them.
    ///
    /// - Parameter isLast: whether to report the open windows too.
    mutating func reportEnded(at now: Instant, isLast: Bool = false, _ report: (Log.Line) -> Void) {
        sweptAt = now
        hasSuppressed = false
        for (key, entry) in entries {
            if isLast || Self.hasPassed(Self.window, since: entry.start, at: now) {
                if let summary = Self.summary(of: entry, at: now) { report(summary) }
                entries[key] = nil
            } else if entry.count > Self.burst {
                hasSuppressed = true
            }
        }
    }

    private static func summary(of entry: Entry, at now: Instant) -> Log.Line? {
        guard entry.count > burst else { return nil }
        var fields: Log.Fields = [
            "of": .text(entry.event.rawValue), "suppressed": .integer(entry.count - burst),
            "seconds": .integer(max(1, (now.milliseconds - entry.start.milliseconds) / 1_000)),
        ]
        for (name, value) in entry.fields { fields.append(name, Log.Field(value)) }
        return Log.Line(event: .linesSuppressed, fields: fields)
    }

    /// A clock that was set back ends the window.
    private static func hasPassed(_ length: Int64, since start: Instant, at now: Instant) -> Bool {
        let (passed, overflows) = now.milliseconds.subtractingReportingOverflow(start.milliseconds)
        return overflows || passed >= length || passed < 0
    }

    private static func key(of line: Log.Line, _ names: [String]) -> Int {
        var hasher = Hasher()
        hasher.combine(line.event)
        for (name, value) in line.fields where names.contains(name) {
            hasher.combine(name)
            hasher.combine(value)
        }
        if names.count == shortIdentity.count { hasher.combine(true) }
        return hasher.finalize()
    }
}
