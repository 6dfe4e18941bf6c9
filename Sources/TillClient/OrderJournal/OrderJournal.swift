import TillBilling

/// The device's list of orders, which survives crashes, power cuts and full disks: a change is on stable storage before
/// the call returns, and an interrupted one is removed at the next opening.
///
/// It is held in memory completely; a proof is held only until the server has answered.
package actor OrderJournal {
    private struct Held {
        var entry: JournalEntry
        var entrySize: Int
        var proof: PurchaseProof?
        var proofSize = 0
    }

    private let disk: Disk
    private var held: [OrderID: Held] = [:]
    private var byTransaction: [TransactionID: OrderID] = [:]
    /// The orders that are paid and not completed: few, however long the list is.
    private var ongoingOrders: Set<OrderID>
    /// Called after each change is on disk.
    private let changed: @Sendable (JournalEntry) -> Void
    /// The length of the valid part of the file, where the next frame goes.
    private var length: Int
    /// The approximate size of the file after a rewrite.
    private var liveSize = JournalFile.headerLength
    /// After an error the state of the disk is unknown, and after damage the file has gaps; the next change then
    /// rewrites the whole file.
    private var mustRewrite: Bool

    /// The result of opening the journal. Log it if it is not clean.
    package nonisolated let recovery: JournalRecovery

    /// Orders that an earlier launch recorded and did not open at the server. No payment was requested for them.
    package nonisolated let leftUnopened: [OrderID]

    /// Opens the journal, or creates it.
    ///
    /// - Parameter changed: called with an order after each of its changes, in the order of the changes.
    package init(
        disk: Disk, changed: @escaping @Sendable (JournalEntry) -> Void = { _ in }
    ) throws(JournalFault) {
        self.disk = disk
        self.changed = changed
        let bytes: [UInt8]
        do throws(DiskFault) { bytes = try disk.read() } catch { throw .disk(error) }
        let contents = try JournalFile.contents(of: bytes)
        var held: [OrderID: Held] = [:]
        for stored in contents.records { Self.apply(stored, to: &held) }
        self.held = held
        ongoingOrders = Set(held.values.lazy.map(\.entry).filter { $0.status == .ongoing }.map(\.id))
        leftUnopened = held.values.lazy.map(\.entry).filter { $0.status == .prepared && !$0.isOpened }.map(\.id)
            .sorted()
        byTransaction = Dictionary(
            held.values.compactMap { held in held.entry.transactionID.map { ($0, held.entry.id) } },
            uniquingKeysWith: { first, _ in first })
        liveSize += held.values.reduce(0) { $0 + Self.size($1) }
        length = contents.end
        mustRewrite = contents.damaged > 0
        recovery = JournalRecovery(orders: held.count, cutTail: contents.tail, damaged: contents.damaged)
        if !recovery.isClean {
            // Both may fail on a full disk: the next change then repairs the file, and the copy is only for diagnosis.
            try? disk.setAside()
            if !mustRewrite { try? disk.write([], length) }
        }
    }

    // MARK: Reading

    package subscript(id: OrderID) -> JournalEntry? { held[id]?.entry }

    package func entry(of transaction: TransactionID) -> JournalEntry? {
        byTransaction[transaction].flatMap { held[$0]?.entry }
    }

    package func proof(of id: OrderID) -> PurchaseProof? { held[id]?.proof }

    /// The paid transaction of an order whose proof is still stored.
    package func paidTransaction(of id: OrderID) -> QueuedTransaction? {
        guard let held = held[id], let proof = held.proof, let transaction = held.entry.transactionID else {
            return nil
        }
        return QueuedTransaction(
            id: transaction, productID: held.entry.productID, quantity: held.entry.quantity,
            token: held.entry.isOpened ? id : nil, purchasedAt: held.entry.updatedAt, proof: proof)
    }

    /// All orders, newest first, or those of one buyer.
    package func entries(of user: UserID? = nil) -> [JournalEntry] {
        held.values.lazy.map(\.entry).filter { user == nil || $0.userID == user }
            .sorted { ($1.createdAt, $1.id) < ($0.createdAt, $0.id) }
    }

    /// Orders that are paid and not completed, oldest first.
    package func ongoing() -> [JournalEntry] {
        ongoingOrders.compactMap { held[$0]?.entry }.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    /// A buyer's orders that the server knows and that have no transaction here.
    func neverPaid(by user: UserID, since: Instant) -> [OrderID] {
        held.values.map(\.entry).filter { (entry: JournalEntry) -> Bool in
            guard entry.userID == user, entry.isOpened, entry.transactionID == nil else { return false }
            return entry.createdAt >= since && entry.status != .completed && entry.status != .refunded
        }.map(\.id)
    }

    /// The order of a failed or declined payment: the one that its token names, or the only possible one.
    func unpaid(_ id: OrderID?, _ product: ProductID) -> OrderID? {
        if let id { return held[id].map(\.entry).flatMap { $0.transactionID == nil ? $0.id : nil } }
        let open = held.values.lazy.map(\.entry).filter { entry in
            entry.productID == product && (entry.status == .deferred || entry.status == .prepared && entry.isOpened)
        }
        return open.count == 1 ? open.first?.id : nil
    }

    /// The order that a transaction without a token may belong to: the same product and quantity, begun before the
    /// payment, and without a transaction. Nil if such orders belong to several buyers, because only the server can
    /// decide then.
    ///
    /// - Parameter wish: the order whose payment was requested. If it is among them, it is the result.
    package func candidate(for transaction: QueuedTransaction, paying wish: OrderID? = nil) -> JournalEntry? {
        let open = held.values.lazy.map(\.entry).filter { entry in
            entry.transactionID == nil && entry.isOpened && entry.productID == transaction.productID
                && entry.quantity == transaction.quantity && entry.createdAt.seconds <= transaction.purchasedAt.seconds
        }
        if let wish, let entry = open.first(where: { $0.id == wish }) { return entry }
        guard let newest = open.max(by: { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }) else { return nil }
        return open.allSatisfy { $0.userID == newest.userID } ? newest : nil
    }

    // MARK: Changing

    package func add(_ entry: JournalEntry) throws(JournalFault) {
        guard held[entry.id] == nil else { throw .knownOrder(entry.id) }
        try commit([.entry(entry)])
    }

    /// Records that the server knows the order, so that it may be paid.
    package func markOpened(_ id: OrderID) throws(JournalFault) {
        var entry = try known(id)
        guard !entry.isOpened else { return }
        entry.isOpened = true
        try commit([.entry(entry)])
    }

    /// Makes one legal move, or the shortest legal sequence.
    @discardableResult
    package func move(
        _ id: OrderID, to status: OrderStatus, at: Instant, reason: String = ""
    ) throws(JournalFault) -> JournalEntry {
        var entry = try known(id)
        guard entry.status != status else { return entry }
        try entry.move(to: status, at: at, reason: reason)
        try commit([.entry(entry)])
        return entry
    }

    /// Records a paid transaction: the order becomes *ongoing* and its proof is stored, in one change. A completed or
    /// refunded order stays unchanged.
    ///
    /// - Parameter isGuess: whether the transaction merely matches the order, without a token or the store naming it.
    @discardableResult
    package func save(
        _ transaction: QueuedTransaction, for id: OrderID, at: Instant, isGuess: Bool = false
    ) throws(JournalFault) -> JournalEntry {
        var entry = try known(id)
        guard entry.status != .completed, entry.status != .refunded else { return entry }
        if entry.status == .ongoing, entry.transactionID == transaction.id, held[id]?.proof == transaction.proof {
            return entry
        }
        try entry.move(to: .ongoing, at: at, reason: isGuess ? JournalEntry.guess : "paid")
        entry.transactionID = transaction.id
        try commit([.entry(entry), .proof(id, transaction.proof)])
        return entry
    }

    /// Creates an entry for a paid transaction whose order is not in this journal.
    @discardableResult
    package func adopt(
        _ transaction: QueuedTransaction, as id: OrderID, at: Instant
    ) throws(JournalFault) -> JournalEntry {
        guard held[id] == nil else { throw .knownOrder(id) }
        let entry = JournalEntry(adopting: transaction, as: id, at: at)
        try commit([.entry(entry), .proof(id, transaction.proof)])
        return entry
    }

    /// Records the server's final answer, *completed* or *refunded*, and removes the proof.
    ///
    /// - Parameter owner: the owner that the server named, for an order that this device did not begin.
    @discardableResult
    package func settle(
        _ id: OrderID, as status: OrderStatus, at: Instant, reason: String, owner: UserID? = nil
    ) throws(JournalFault) -> JournalEntry {
        var entry = try known(id)
        guard entry.status != status || held[id]?.proof != nil || entry.trouble != nil else { return entry }
        try entry.move(to: status, at: at, reason: reason)
        entry.retryAt = nil
        entry.trouble = nil
        entry.userID = entry.userID ?? owner
        try commit([.entry(entry), .proofDone(id)])
        return entry
    }

    /// Removes a transaction that belongs to another order and merely matched this one: the order returns to its
    /// previous status.
    func takeBackGuess(_ id: OrderID) throws(JournalFault) {
        var entry = try known(id)
        let mistaken = entry.transactionID
        entry.takeBackGuess()
        guard entry.transactionID == nil else { return }
        try commit([.entry(entry), .proofDone(id)])
        if let mistaken { byTransaction[mistaken] = nil }
    }

    /// Records the server's final answer for an order that another transaction paid than the one this device assigned
    /// to it. If the store still shows the assigned one, it gets an order of its own.
    func settle(
        _ id: OrderID, as status: OrderStatus, paidBy transaction: TransactionID, at: Instant
    ) throws(JournalFault) {
        var entry = try known(id)
        let mistaken = entry.transactionID
        try entry.move(to: status, at: at, reason: "told_by_server")
        entry.transactionID = transaction
        entry.retryAt = nil
        entry.trouble = nil
        try commit([.entry(entry), .proofDone(id)])
        if let mistaken, mistaken != transaction { byTransaction[mistaken] = nil }
    }

    /// Assigns a guest's orders to an account, in batches. Completed batches stay assigned; a repeated call continues
    /// with the rest.
    func hand(over guest: UserID, to account: UserID) throws(JournalFault) {
        let entries = entries(of: guest)
        for start in stride(from: 0, to: entries.count, by: 100) {
            try commit(
                entries[start..<min(start + 100, entries.count)].map { entry in
                    var entry = entry
                    entry.userID = account
                    return .entry(entry)
                })
        }
    }

    /// Records why a purchase is pending, and when it is sent again.
    package func postpone(_ id: OrderID, because trouble: Trouble, until: Instant?) throws(JournalFault) {
        var entry = try known(id)
        entry.attempts = min(entry.attempts + 1, 1_000_000)
        entry.retryAt = until
        entry.trouble = trouble
        try commit([.entry(entry)])
    }

    // MARK: The file

    private func known(_ id: OrderID) throws(JournalFault) -> JournalEntry {
        guard let entry = held[id]?.entry else { throw .unknownOrder(id) }
        return entry
    }

    /// Writes the records to disk, all or none, then applies them in memory.
    private func commit(_ records: [JournalRecord]) throws(JournalFault) {
        assert(Self.keepProofs(records), "a proof is kept until the server has spoken (invariant 3)")
        let frame = JournalFile.frame(records)
        if mustRewrite || length + frame.count > 2 * (liveSize + frame.count) + (64 << 10) {
            var changed = held
            for record in records { Self.apply(Self.stored(record), to: &changed) }
            do throws(DiskFault) {
                try rewrite(changed)
                remember(records)
                return
            } catch {
                // A journal that is merely too long is no reason to refuse a purchase.
                if mustRewrite { throw .disk(error) }
            }
        }
        do throws(DiskFault) {
            let bytes = length == 0 ? JournalFile.header + frame : frame
            try disk.write(bytes, length)
            length += bytes.count
            remember(records)
        } catch {
            mustRewrite = true
            throw .disk(error)
        }
    }

    /// Whether proofs are removed only together with a final answer, or with a reversed assignment.
    private static func keepProofs(_ records: [JournalRecord]) -> Bool {
        records.allSatisfy { record in
            guard case .proofDone(let id) = record else { return true }
            return records.contains { other in
                guard case .entry(let entry) = other, entry.id == id else { return false }
                return entry.status == .completed || entry.status == .refunded || entry.transactionID == nil
            }
        }
    }

    private func rewrite(_ held: [OrderID: Held]) throws(DiskFault) {
        var bytes = JournalFile.header
        for held in held.values {
            let proof = held.proof.map { [JournalRecord.proof(held.entry.id, $0)] } ?? []
            bytes += JournalFile.frame([.entry(held.entry)] + proof)
        }
        try disk.replace(bytes)
        length = bytes.count
        mustRewrite = false
    }

    private func remember(_ records: [JournalRecord]) {
        for record in records {
            let id = record.id
            liveSize -= held[id].map(Self.size) ?? 0
            Self.apply(Self.stored(record), to: &held)
            liveSize += held[id].map(Self.size) ?? 0
            guard let entry = held[id]?.entry else { continue }
            if let transaction = entry.transactionID { byTransaction[transaction] = id }
            if entry.status == .ongoing { ongoingOrders.insert(id) } else { ongoingOrders.remove(id) }
        }
        for case .entry(let entry) in records { changed(entry) }
    }

    private static func stored(_ record: JournalRecord) -> JournalFile.Stored {
        var writer = JournalWriter()
        record.encode(to: &writer)
        return JournalFile.Stored(record: record, size: writer.bytes.count)
    }

    private static func size(_ held: Held) -> Int { held.entrySize + held.proofSize + JournalFile.frameOverhead }

    private static func apply(_ stored: JournalFile.Stored, to held: inout [OrderID: Held]) {
        let id = stored.record.id
        switch stored.record {
        case .entry(let entry):
            held[id, default: Held(entry: entry, entrySize: 0)].entry = entry
            held[id]?.entrySize = stored.size
        case .proof(_, let proof):
            held[id]?.proof = proof
            held[id]?.proofSize = stored.size
        case .proofDone:
            held[id]?.proof = nil
            held[id]?.proofSize = 0
        }
    }
}
