import TillBilling
import TillSQL

extension LedgerImport {
    package struct UndoPage: Sendable {
        /// Why a customer's rows stay.
        package enum Reason: String, Sendable, Hashable, CaseIterable {
            case spent, renewed, refunded, updated, moved
        }

        package struct Kept: Sendable, Hashable {
            package let user: UserID
            package let line: Int64
            /// A transaction's id, or a kind of points.
            package let subject: String
            package let reason: Reason
        }

        package init() {}

        package var undone: Int64 = 0
        package var kept: [Kept] = []
        /// Pass it to the next call; nil at the end.
        package var next: Int64?
    }

    /// Customers of one call.
    private static let undoBatch = 100
    /// Purchases of one commit; a customer who has more is undone in one commit, too.
    private static let undoneTogether: Int64 = 500

    /// Undoes an import for its next customers. What a customer has touched since stays whole, and is named.
    ///
    /// - Parameters:
    ///   - position: `next` of the call before; nil begins.
    ///   - isForced: undoes that, too.
    package func undo(
        _ stored: ImportTable.Stored, after position: Int64?, isForced: Bool, isDry: Bool, by actor: String
    ) async throws -> UndoPage {
        let (customers, counts) = try await ledger.database.read { connection in
            let rows = ImportedRowTable(connection)
            let customers = try rows.customers(of: stored.rowID, after: position ?? 0, limit: Self.undoBatch)
            return (customers, try rows.purchaseCounts(of: stored.rowID, customers))
        }
        let run = ImportRun(
            rowID: stored.rowID, id: stored.id, environment: stored.environment, actor: actor,
            beganAt: stored.beganAt)
        var page = UndoPage()
        for group in Self.groups(of: customers, counts) {
            let outcome = try await undo(group, of: run, isForced: isForced, isDry: isDry)
            page.undone += outcome.undone
            page.kept += outcome.kept
        }
        if customers.count == Self.undoBatch { page.next = customers.last }
        if !isDry, page.undone > 0 || !page.kept.isEmpty {
            ledger.log.write(
                .importUndone,
                [
                    "import": .text(stored.id.description), "undone": .integer(page.undone),
                    "kept": .integer(Int64(page.kept.count)), "caller": .text(actor),
                ])
        }
        return page
    }

    /// The customers of each commit, in their order.
    private static func groups(of customers: [Int64], _ counts: [Int64: Int64]) -> [[Int64]] {
        var (groups, size): ([[Int64]], Int64) = ([], 0)
        for customer in customers {
            let count = counts[customer] ?? 0
            if groups.isEmpty || size + count > undoneTogether {
                groups.append([])
                size = 0
            }
            groups[groups.count - 1].append(customer)
            size += count
        }
        return groups
    }

    private func undo(
        _ customers: [Int64], of run: ImportRun, isForced: Bool, isDry: Bool
    ) async throws -> ImportUndo.Outcome {
        let (inputs, processor) = (processor.inputs(), processor)
        @Sendable func undo(_ connection: any Connection) -> ImportUndo {
            ImportUndo(processor: processor, run: run, inputs: inputs.begin(), connection: connection)
        }
        if isDry { return try await ledger.database.read { try undo($0).check(customers, isForced: isForced) } }
        let outcome = try await ledger.database.write(locking: [.ledger("imports")]) { connection in
            let outcome = try undo(connection).undo(customers, isForced: isForced)
            if outcome.undone > 0 {
                try ImportTable(connection).undo(outcome.undone, of: run.rowID, by: run.actor, at: inputs.now)
            }
            return outcome
        }
        inputs.finish()
        return outcome
    }
}
