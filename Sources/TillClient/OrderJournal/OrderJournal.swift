import TillBilling

/// The device's list of orders, which survives crashes, power cuts and full disks: a change is on stable storage before
/// the call returns, and an interrupted one is removed at the next opening.
///
/// It is held in memory completely; a proof is held only until the server has answered.
package actor OrderJournal {
    private struct EntryRecord {
        var entry: JournalEntry
        var entrySize: Int
        var proof: PurchaseProof?
        var proofSize = 0
    }

    private let disk: Disk
    private var storedEntries: [OrderID: EntryRecord] = [:]
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
    ) throws(JournalError) {
        self.disk = disk
        self.changed = changed
        let bytes: [UInt8]
        do throws(DiskError) { bytes = try disk.read() } catch { throw .disk(error) }
        let contents = try JournalFile.contents(of: bytes)
        var storedEntries: [OrderID: EntryRecord] = [:]
        for stored in contents.records { Self.apply(stored, to: &storedEntries) }
        self.storedEntries = storedEntries
        ongoingOrders = Set(storedEntries.values.lazy.map(\.entry).filter { $0.status == .ongoing }.map(\.id))
        leftUnopened = storedEntries.values.lazy.map(\.entry).filter { $0.status == .prepared && !$0.isOpened }.map(
            \.id
        )
        .sorted()
        byTransaction = Dictionary(
            storedEntries.values.compactMap { storedEntries in
                storedEntries.entry.transactionID.map { ($0, storedEntries.entry.id) }
            },
            uniquingKeysWith: { first, _ in first })
        liveSize += storedEntries.values.reduce(0) { $0 + Self.size($1) }
        length = contents.end
        mustRewrite = contents.damaged > 0
        recovery = JournalRecovery(orders: storedEntries.count, cutTail: contents.tail, damaged: contents.damaged)
        if !recovery.isClean {
            // Both may fail on a full disk: the next change then repairs the file, and the copy is only for diagnosis.
            try? disk.setAside()
            if !mustRewrite { try? disk.write([], length) }
        }
    }

    // MARK: Reading

    package subscript(id: OrderID) -> JournalEntry? { storedEntries[id]?.entry }

    package func entry(of transaction: TransactionID) -> JournalEntry? {
        byTransaction[transaction].flatMap { storedEntries[$0]?.entry }
    }

    package func proof(of id: OrderID) -> PurchaseProof? { storedEntries[id]?.proof }

    /// The paid transaction of an order whose proof is still stored.
    package func paidTransaction(of id: OrderID) -> QueuedTransaction? {
        guard let storedEntries = storedEntries[id], let proof = storedEntries.proof,
            let transaction = storedEntries.entry.transactionID
        else {
            return nil
        }
        return QueuedTransaction(
            id: transaction, productID: storedEntries.entry.productID, quantity: storedEntries.entry.quantity,
            token: storedEntries.entry.isOpened ? id : nil, purchasedAt: storedEntries.entry.updatedAt, proof: proof)
    }

    /// All orders, newest first, or those of one buyer.
    package func entries(of user: UserID? = nil) -> [JournalEntry] {
        storedEntries.values.lazy.map(\.entry).filter { user == nil || $0.userID == user }
            .sorted { ($1.createdAt, $1.id) < ($0.createdAt, $0.id) }
    }

    /// Orders that are paid and not completed, oldest first.
    package func ongoing() -> [JournalEntry] {
        ongoingOrders.compactMap { storedEntries[$0]?.entry }.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    /// A buyer's orders that the server knows and that have no transaction here.
    func neverPaid(by user: UserID, since: Instant) -> [OrderID] {
        storedEntries.values.map(\.entry).filter { (entry: JournalEntry) -> Bool in
            guard entry.userID == user, entry.isOpened, entry.transactionID == nil else { return false }
            return entry.createdAt >= since && entry.status != .completed && entry.status != .refunded
        }.map(\.id)
    }

    /// A buyer's orders that are completed, or refunded.
    func paid(by user: UserID, _ status: OrderStatus) -> [JournalEntry] {
        storedEntries.values.map(\.entry).filter { $0.userID == user && $0.status == status }
    }

    /// Orders that have waited for another person's approval since before a time.
    func deferred(before time: Instant) -> [OrderID] {
        storedEntries.values.lazy.map(\.entry).filter { $0.status == .deferred && $0.updatedAt < time }.map(\.id)
            .sorted()
    }

    /// The order of a failed or declined payment: the one that its token names, or the only possible one.
    func unpaid(_ id: OrderID?, _ product: ProductID) -> OrderID? {
        if let id { return storedEntries[id].map(\.entry).flatMap { $0.transactionID == nil ? $0.id : nil } }
        let open = storedEntries.values.lazy.map(\.entry).filter { entry in
            entry.productID == product && (entry.status == .deferred || entry.status == .prepared && entry.isOpened)
        }
        return open.count == 1 ? open.first?.id : nil
    }

    /// The order that a transaction without a token may belong to: the same product and quantity, begun before the
    /// payment, and without a transaction. Nil if such orders belong to several buyers, because only the server can
    /// decide then.
    ///
    /// - Parameter wish: the order whose payment was requested. If it is among them, it is the result.
    package func candidate(for transaction: QueuedTransaction, paying wantedOrder: OrderID? = nil) -> JournalEntry? {
        let open = storedEntries.values.lazy.map(\.entry).filter { entry in
            entry.transactionID == nil && entry.isOpened && entry.productID == transaction.productID
                && entry.quantity == transaction.quantity && entry.createdAt.seconds <= transaction.purchasedAt.seconds
        }
        if let wantedOrder, let entry = open.first(where: { $0.id == wantedOrder }) { return entry }
        guard let newest = open.max(by: { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }) else { return nil }
        return open.allSatisfy { $0.userID == newest.userID } ? newest : nil
    }

    // MARK: Changing

    package func add(_ entry: JournalEntry) throws(JournalError) {
        guard storedEntries[entry.id] == nil else { throw .knownOrder(entry.id) }
        try commit([.entry(entry)])
    }

    /// Records that the server knows the order, so that it may be paid.
    ///
    /// - Parameter label: as the server states it, for a product whose kind was unknown.
    package func markOpened(_ id: OrderID, label: ProductLabel? = nil) throws(JournalError) {
        var entry = try known(id)
        guard !entry.isOpened else { return }
        entry.isOpened = true
        if let label, entry.label?.kind == nil {
            entry.label = ProductLabel(name: entry.label?.name ?? label.name, kind: label.kind)
        }
        try commit([.entry(entry)])
    }

    /// Makes one legal move, or the shortest legal sequence.
    @discardableResult
    package func move(
        _ id: OrderID, to status: OrderStatus, at: Instant, reason: String = ""
    ) throws(JournalError) -> JournalEntry {
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
    ) throws(JournalError) -> JournalEntry {
        var entry = try known(id)
        guard entry.status != .completed, entry.status != .refunded else { return entry }
        if entry.status == .ongoing, entry.transactionID == transaction.id,
            storedEntries[id]?.proof == transaction.proof
        {
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
        _ transaction: QueuedTransaction, as id: OrderID, label: ProductLabel? = nil, at: Instant
    ) throws(JournalError) -> JournalEntry {
        guard storedEntries[id] == nil else { throw .knownOrder(id) }
        let entry = JournalEntry(adopting: transaction, as: id, label: label, at: at)
        try commit([.entry(entry), .proof(id, transaction.proof)])
        return entry
    }

    /// Records the server's final answer, *completed* or *refunded*, and removes the proof.
    ///
    /// - Parameters:
    ///   - owner: the owner that the server named, for an order that this device did not begin.
    ///   - paid: the price paid, if the server stated it.
    @discardableResult
    package func complete(
        _ id: OrderID, as status: OrderStatus, at: Instant, reason: String, owner: UserID? = nil, paid: Money? = nil
    ) throws(JournalError) -> JournalEntry {
        var entry = try known(id)
        let isPriced = paid == nil || paid == entry.paid
        guard entry.status != status || storedEntries[id]?.proof != nil || entry.pendingReason != nil || !isPriced
        else { return entry }
        try entry.move(to: status, at: at, reason: reason)
        entry.paid = paid ?? entry.paid
        entry.retryAt = nil
        entry.pendingReason = nil
        entry.userID = entry.userID ?? owner
        try commit([.entry(entry), .proofDone(id)])
        return entry
    }

    /// Removes a transaction that belongs to another order and merely matched this one: the order returns to its
    /// previous status.
    func undoGuess(_ id: OrderID) throws(JournalError) {
        var entry = try known(id)
        let mistaken = entry.transactionID
        entry.undoGuess()
        guard entry.transactionID == nil else { return }
        try commit([.entry(entry), .proofDone(id)])
        if let mistaken { byTransaction[mistaken] = nil }
    }

    /// Records the server's final answer for an order that another transaction paid than the one this device assigned
    /// to it. If the store still shows the assigned one, it gets an order of its own.
    func complete(
        _ id: OrderID, as status: OrderStatus, paidBy transaction: TransactionID, _ paid: Money?, at: Instant
    ) throws(JournalError) {
        var entry = try known(id)
        let mistaken = entry.transactionID
        try entry.move(to: status, at: at, reason: "told_by_server")
        entry.transactionID = transaction
        entry.paid = paid ?? entry.paid
        entry.retryAt = nil
        entry.pendingReason = nil
        try commit([.entry(entry), .proofDone(id)])
        if let mistaken, mistaken != transaction { byTransaction[mistaken] = nil }
    }

    /// Assigns a guest's orders to an account, in batches. Completed batches stay assigned; a repeated call continues
    /// with the rest.
    func transfer(over guest: UserID, to account: UserID) throws(JournalError) {
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
    package func postpone(_ id: OrderID, because pendingReason: PendingReason, until: Instant?) throws(JournalError) {
        var entry = try known(id)
        entry.attempts = min(entry.attempts + 1, 1_000_000)
        entry.retryAt = until
        entry.pendingReason = pendingReason
        // Only an attempt that has refreshed the receipt ends with this reason. Later ones may end with another.
        if pendingReason.code == Refusal.receiptNeedsRefresh.rawValue { entry.hasRefreshedReceipt = true }
        try commit([.entry(entry)])
    }

    // MARK: The file

    private func known(_ id: OrderID) throws(JournalError) -> JournalEntry {
        guard let entry = storedEntries[id]?.entry else { throw .unknownOrder(id) }
        return entry
    }

    /// Writes the records to disk, all or none, then applies them in memory.
    private func commit(_ records: [JournalRecord]) throws(JournalError) {
        assert(Self.keepProofs(records), "a proof is kept until the server has spoken (invariant 3)")
        let frame = JournalFile.frame(records)
        if mustRewrite || length + frame.count > 2 * (liveSize + frame.count) + (64 << 10) {
            var changed = storedEntries
            for record in records { Self.apply(Self.stored(record), to: &changed) }
            do throws(DiskError) {
                try rewrite(changed)
                remember(records)
                return
            } catch {
                // A journal that is merely too long is no reason to refuse a purchase.
                if mustRewrite { throw .disk(error) }
            }
        }
        do throws(DiskError) {
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

    private func rewrite(_ storedEntries: [OrderID: EntryRecord]) throws(DiskError) {
        var bytes = JournalFile.header
        for storedEntries in storedEntries.values {
            let proof = storedEntries.proof.map { [JournalRecord.proof(storedEntries.entry.id, $0)] } ?? []
            bytes += JournalFile.frame([.entry(storedEntries.entry)] + proof)
        }
        try disk.replace(bytes)
        length = bytes.count
        mustRewrite = false
    }

    private func remember(_ records: [JournalRecord]) {
        for record in records {
            let id = record.id
            liveSize -= storedEntries[id].map(Self.size) ?? 0
            Self.apply(Self.stored(record), to: &storedEntries)
            liveSize += storedEntries[id].map(Self.size) ?? 0
            guard let entry = storedEntries[id]?.entry else { continue }
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

    private static func size(_ storedEntries: EntryRecord) -> Int {
        storedEntries.entrySize + storedEntries.proofSize + JournalFile.frameOverhead
    }

    private static func apply(_ stored: JournalFile.Stored, to storedEntries: inout [OrderID: EntryRecord]) {
        let id = stored.record.id
        switch stored.record {
        case .entry(let entry):
            storedEntries[id, default: EntryRecord(entry: entry, entrySize: 0)].entry = entry
            storedEntries[id]?.entrySize = stored.size
        case .proof(_, let proof):
            storedEntries[id]?.proof = proof
            storedEntries[id]?.proofSize = stored.size
        case .proofDone:
            storedEntries[id]?.proof = nil
            storedEntries[id]?.proofSize = 0
        }
    }
}
