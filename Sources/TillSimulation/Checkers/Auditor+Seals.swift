import TillLedger
import TillSQL

extension Auditor {
    /// How often the rest is sealed: the server's own job may be in the middle of a pass.
    private static let mostPasses = 5

    /// Seals what the server's job has left, as a server does before it ends, and computes every seal of the ledger
    /// again. Call when nothing changes any more.
    func check(sealsOf server: ServerHost, key: SealKey?) async {
        guard let process = server.process, let running = server.server, let ledger = server.ledger, let key else {
            return complain(.badSeal, "no server seals the ledger", about: ["seals"])
        }
        do {
            let identity = try await running.ledger.identity()
            let audit = SealAudit(ledger, key: key, ledger: identity.id)
            var ends = try await audit.ends()
            for _ in 0..<Self.mostPasses {
                guard await process.ask({ await running.sealNow() }) != nil else {
                    return complain(.stuck, "the server ended while it sealed", about: ["seals"])
                }
                ends = try await audit.ends()
                if try await audit.hasSealed(ends) { break }
            }
            let report = try await audit.run(ends)
            complain(report.violations)
            if report.seals == 0 { complain(.badSeal, "the ledger has no seals", about: ["seals"]) }
        } catch {
            complain(.stuck, "the seals can't be read: \(error)", about: ["seals"])
        }
    }
}
