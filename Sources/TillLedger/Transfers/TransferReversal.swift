import TillBilling
import TillSQL

/// What the reversal of a transfer moves back at present. Computing it writes nothing, so that an operator can see it
/// before deciding.
package struct TransferReversal {
    /// The receiver of the transfer, who gives back.
    package let giver: UserID
    /// The customer who gets the purchases back: the former owner, or that customer's account.
    package let taker: UserID
    package let grants: [OwnedGrant]
    package let points: [MovedPoints]

    /// - Throws: `not_reversible`, or `undo_expired` for a merge that is too old.
    package init(
        of original: TransferTable.Stored, under terms: GuestTerms, at now: Instant, _ connection: any Connection
    ) throws {
        let transfer = original.transfer
        guard transfer.kind != .reversal else { throw RefusalError(.notReversible) }
        let isMerge = transfer.kind == .guestMerge
        guard !isMerge || now <= terms.undoEnds(for: transfer) else { throw RefusalError(.undoExpired) }
        giver = transfer.to
        // After the reversal of a merge the guest is a customer of its own again. Another customer may have been merged
        // into an account since the transfer.
        taker = try isMerge ? transfer.from : CustomerTable(connection).account(of: transfer.from) ?? transfer.from
        guard giver != taker else { throw RefusalError(.notReversible) }
        grants = try GrantOwnerTable(connection).stillMoved(by: original)
        points = try RemainingPoints(connection).of(grants, in: giver, with: isMerge ? original : nil)
    }
}

extension Ledger {
    /// Reverses a transfer, once, in one commit. A repetition returns the same reversal.
    ///
    /// - Parameter actor: as in evidence: `key:backend`, `operator:ann`.
    package func reverseTransfer(
        _ id: UniqueID, reason: String, by operatorName: String, actor: String
    ) async throws -> TransferTable.Stored {
        let (now, freshID, terms) = (clock(), UniqueID(random: entropy(16)), settings.guests)
        return try await database.write(locking: [.transfer(id)]) { connection in
            let recorder = TransferRecorder(
                connection, actor: actor, now: now, freshID: freshID, reminders: reminders(connection))
            return try recorder.reverse(id, reason: reason, by: operatorName, terms: terms).stored
        }
    }
}
