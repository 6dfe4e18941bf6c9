import TillBilling
import TillCrypto
import TillSQL

/// Makes every seal again under another key (docs/seals.md). Rows that name persons are hashed under the key, so their
/// chains get other digests; of the others only the codes change.
package struct SealKeyRotation: Sendable {
    private static let batch = 32

    private let old: SealKey
    private let new: SealKey
    private let ledger: UniqueID

    package init(from old: SealKey, to new: SealKey, ledger: UniqueID) {
        (self.old, self.new) = (old, new)
        self.ledger = ledger
    }

    package enum Outcome: Sendable, Hashable {
        case rotated(seals: Int64)
        /// The seals do not match under the old key: nothing was changed.
        case refused([AuditViolation])
        /// The seals are under the new key already: an earlier run came to its end.
        case unchanged
        /// A server that shares the database holds the job lease until then.
        case served(until: Instant)
    }

    /// One commit, so that a crash leaves the ledger under one of the keys. No server may run.
    package func run(on database: any Database, at now: Instant) async throws -> Outcome {
        let audit = SealAudit(database, key: old, ledger: ledger)
        let done = SealAudit(database, key: new, ledger: ledger)
        return try await database.write(locking: [.ledger("seals")]) { connection in
            if let lease = try LeaseTable(connection).find(Lease.jobs), lease.until > now {
                return .served(until: lease.until)
            }
            let violations = try audit.report(connection).violations
            guard violations.isEmpty else {
                return try done.report(connection).violations.isEmpty ? .unchanged : .refused(violations)
            }
            var seals: Int64 = 0
            for stream in SealedStream.allCases { seals += try rotate(stream, connection) }
            let table = SealTable(connection)
            guard seals > 0 else { return .rotated(seals: 0) }
            try table.setSummary(new.code(of: try table.heads(), ledger: ledger, at: now), at: now)
            return .rotated(seals: seals)
        }
    }

    private func rotate(_ stream: SealedStream, _ connection: any Connection) throws -> Int64 {
        let table = SealTable(connection)
        var (count, digest, last, position) = (Int64(0), stream.start(of: ledger), Int64(0), Int64(0))
        while true {
            let seals = try table.list(of: stream, after: last, limit: Self.batch)
            guard let end = seals.last else { return count }
            var rows = try stream.namesPersons ? ChainRows(stream, seals, after: position, key: new, connection) : nil
            let chain = SHA256Chain(after: digest)
            for old in seals {
                var digest = old.digest
                if rows != nil {
                    _ = rows?.add(old, to: chain) { _, _ in }
                    digest = chain.digest
                }
                var seal = Seal(
                    rowID: old.rowID, stream: stream, first: old.first, last: old.last, digest: digest, at: old.at,
                    isFound: old.isFound)
                seal.code = new.code(of: seal, ledger: ledger)
                try table.extend(seal)
                position = max(position, old.last)
                count += 1
            }
            (digest, last) = (chain.digest, end.rowID)
        }
    }
}
