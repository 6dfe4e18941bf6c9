import TillAPI
import TillBilling

/// One line on a terminal that says how far a run is, again and again; nothing where nobody watches.
struct ReconcileProgress: Sendable {
    let call: Invocation

    func show(_ run: ReconciliationReply) {
        guard call.console.drawsProgress else { return }
        let counts = run.counts.filter { ["notifications", "customers", "transactions"].contains($0.name) }
            .map { "\($0.name) \($0.count)" }.joined(separator: ", ")
        let place = [run.environment?.rawValue, run.phase].compactMap { $0 }.joined(separator: " ")
        var line = "\(place)  \(counts)"
        if let until = run.waitsUntil {
            line += call.language == .chinese ? "  等待至 \(until.rfc3339)" : "  waits until \(until.rfc3339)"
        }
        // Back to the beginning of the line, which is erased.
        call.console.draw("\r\u{1B}[K" + line)
    }

    func end() {
        if call.console.drawsProgress { call.console.draw("\r\u{1B}[K") }
    }
}
