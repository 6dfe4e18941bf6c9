import TillLedger
import TillThreads

/// A log that keeps every line, of every level and without sampling.
final class LogRecorder: Sendable {
    private let lines = Locked<[Log.Line]>([])

    var log: Log {
        Log(isWritten: { _ in true }, sink: { [self] line in lines.withLock { $0.append(line) } })
    }

    var all: [Log.Line] { lines.withLock { $0 } }

    /// The lines about this event, oldest first.
    func lines(_ event: LogEvent) -> [Log.Line] { all.filter { $0.event == event } }

    /// Forgets what came so far.
    func clear() { lines.withLock { $0 = [] } }

    /// Everything that the lines contain.
    var text: String {
        all.map { line in
            let fields = line.fields.map { "\($0.name)=\($0.value)" }
            let request = line.request.map { ["requestId=\($0.requestID)", "traceId=\($0.traceID ?? "")"] } ?? []
            return ([line.event.rawValue] + fields + request).joined(separator: " ")
        }.joined(separator: "\n")
    }
}

extension Log.Line {
    /// The text of a field; nil if the line has no such field.
    func text(_ name: String) -> String? {
        guard case .text(let text)? = self[name] else { return nil }
        return text
    }

    func integer(_ name: String) -> Int64? {
        guard case .integer(let number)? = self[name] else { return nil }
        return number
    }
}
