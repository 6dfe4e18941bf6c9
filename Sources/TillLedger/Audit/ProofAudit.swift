import TillAppStore
import TillBilling
import TillSQL

/// Verifies every stored proof again, and compares it with the row that rests on it: columns that Apple signs anew are
/// not sealed, such as the end of a subscription's period (docs/seals.md).
package struct ProofAudit: Sendable {
    package struct Report: Sendable, Hashable {
        /// Signed transactions, receipts and renewals that were verified.
        package var proofs: Int64 = 0
        /// Rows of imports without any proof.
        package var unproven: Int64 = 0
        package var violations: [AuditViolation] = []

        mutating func add(_ other: Report) {
            proofs += other.proofs
            unproven += other.unproven
            let room = LedgerAudit.violationLimit - violations.count
            violations += other.violations.prefix(max(0, room))
        }
    }

    /// Rows of one read.
    private static let sliceRows: Int64 = 500

    private let database: any Database
    private let verifier: ProofVerifier

    /// - Throws: `bad_root` if a configured root is no certificate.
    package init(_ database: any Database, trust: AppleTrust, clock: @escaping Ledger.Clock) throws(VerificationError) {
        self.database = database
        verifier = try ProofVerifier(trust: trust, clock: clock)
    }

    /// - Parameter width: how many slices are verified at once.
    package func run(width: Int = 2) async throws -> Report {
        let (transactions, subscriptions) = try await database.read { connection in
            func last(_ sql: SQL) throws -> Int64 { try connection.first(sql, []) { $0.integer("last") } ?? 0 }
            return (
                try last("SELECT coalesce(max(row_id), 0) AS last FROM transactions"),
                try last("SELECT coalesce(max(row_id), 0) AS last FROM subscriptions")
            )
        }
        var report = try await inSlices(to: transactions, width) { try await verifyTransactions($0) }
        report.add(try await inSlices(to: subscriptions, width) { try await verifyRenewals($0) })
        return report
    }

    private func inSlices(
        to last: Int64, _ width: Int, _ verify: @escaping @Sendable (AuditSlice) async throws -> Report
    ) async throws -> Report {
        try await withThrowingTaskGroup(of: Report.self) { group in
            var (report, after) = (Report(), Int64(0))
            func addSlice() {
                guard after < last, report.violations.count < LedgerAudit.violationLimit else { return }
                let slice = AuditSlice(after: after, last: min(last, after + Self.sliceRows))
                after = slice.last
                group.addTask { try await verify(slice) }
            }
            for _ in 0..<max(1, width) { addSlice() }
            while let next = try await group.next() {
                report.add(next)
                addSlice()
            }
            return report
        }
    }

    // MARK: Transactions

    private func verifyTransactions(_ slice: AuditSlice) async throws -> Report {
        let (proofs, copies, imported) = try await database.read { connection in
            (
                try ProofTable(connection).list(slice),
                Dictionary(
                    try RecordedCopies(connection).list(slice).map { ($0.rowID, $0.transaction) },
                    uniquingKeysWith: { first, _ in first }),
                try ImportedRowTable(connection).transactions(slice)
            )
        }
        var report = Report()
        for proof in proofs {
            // A row without its transaction, and a damaged proof, violate other rules.
            guard let recorded = copies[proof.rowID], proof.damage == nil else { continue }
            let about = "transaction \(recorded.id.text)"
            if proof.kind == .receipt, ProofTable.isImportedRow(proof.body) {
                report.unproven += 1
                if !imported.contains(proof.rowID) { report.noteUnproven(about) }
                continue
            }
            report.proofs += 1
            do throws(ProofError) {
                let different: [String]
                switch proof.kind {
                case .signedTransaction:
                    let verified = try await verifier.transaction(proof.body)
                    different = recorded.columns(differingFrom: PaidTransaction(verified.value))
                case .receipt:
                    let verified = try await verifier.transaction(recorded.id, inReceipt: proof.body)
                    different = recorded.purchaseColumns(differingFrom: PaidTransaction(verified.value))
                }
                report.note(about, different)
            } catch {
                report.note(about, error)
            }
        }
        return report
    }

    // MARK: Renewals

    private func verifyRenewals(_ slice: AuditSlice) async throws -> Report {
        let renewals = try await database.read { try SubscriptionTable($0).renewals(slice) }
        var report = Report()
        for renewal in renewals {
            report.proofs += 1
            let about = "subscription \(renewal.originalID.text)"
            do throws(ProofError) {
                let info = try await verifier.renewalInfo(String(decoding: renewal.proof, as: UTF8.self)).value
                let isOther = info.payload.originalTransactionID != renewal.originalID.text
                report.note(about, isOther || RenewalTerms(info) != renewal.terms ? ["renewal"] : [])
            } catch {
                report.note(about, error)
            }
        }
        return report
    }
}

extension ProofAudit.Report {
    fileprivate mutating func note(_ about: String, _ columns: [String]) {
        guard !columns.isEmpty else { return }
        violations.append(
            AuditViolation(
                .proofs, about, en: "differs from what Apple signed: \(columns.joined(separator: ", "))",
                zh: "与 Apple 签名的内容不符：\(columns.joined(separator: "、"))"))
    }

    fileprivate mutating func noteUnproven(_ about: String) {
        violations.append(
            AuditViolation(
                .proofs, about, en: "has the row of an import in place of a proof, and belongs to no import",
                zh: "以导入的行代替凭证，却不属于任何导入"))
    }

    fileprivate mutating func note(_ about: String, _ error: ProofError) {
        violations.append(
            AuditViolation(
                .proofs, about,
                en: "has a proof that Apple did not sign, or that was changed (\(error.refusal.rawValue))",
                zh: "的凭证并非 Apple 所签，或已被改动（\(error.refusal.rawValue)）"))
    }
}

extension PaidTransaction {
    /// What a receipt says too.
    fileprivate func purchaseColumns(differingFrom signed: PaidTransaction) -> [String] {
        [
            ("id", id == signed.id), ("original_id", originalID == signed.originalID),
            ("product", productID == signed.productID), ("quantity", quantity == signed.quantity),
            ("environment", environment == signed.environment), ("purchased_at", purchasedAt == signed.purchasedAt),
        ].filter { !$0.1 }.map(\.0)
    }

    /// The columns of a recorded transaction that are not as Apple signed them.
    fileprivate func columns(differingFrom signed: PaidTransaction) -> [String] {
        purchaseColumns(differingFrom: signed)
            + [
                ("token", tokenColumn == signed.tokenColumn), ("signed_at", signedAt == signed.signedAt),
                ("revoked_at", revokedAt == signed.revokedAt), ("price", signedPrice == signed.signedPrice),
                ("expires_at", terms.expiresAt == signed.terms.expiresAt),
                ("terms", termsColumns == signed.termsColumns),
            ].filter { !$0.1 }.map(\.0)
    }
}
