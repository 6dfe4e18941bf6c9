import TillAppStore
import TillBilling
import TillCrypto
import TillJSON
import TillSQL

/// Brings the purchases of another system into the ledger: rows are read, their proofs verified, and recorded in
/// commits of some hundred rows, without events. A row that the ledger has already changes nothing.
package struct LedgerImport: Sendable {
    let ledger: Ledger
    var processor: PurchaseProcessor { ledger.intake.processor }
    /// Rows that are recorded together. Several writers share more of them, none of which waits for one long commit.
    package static func batch(isShared: Bool) -> Int { isShared ? 500 : 250 }
    package var batch: Int { Self.batch(isShared: ledger.database.isShared) }
    /// Rows of a dry run that read together, where queries are round trips.
    private static let readTogether = 16

    private let questions: ImportQuestions?

    /// - Throws: `RefusalError` if Apple is to be asked first and there is no key to ask with.
    package init(_ ledger: Ledger, verify: ImportVerification = .later) throws(RefusalError) {
        self.ledger = ledger
        guard verify == .later || ledger.serverAPI != nil else { throw RefusalError(.noInAppPurchaseKey) }
        questions = verify == .first ? ledger.serverAPI.map { ImportQuestions($0, ledger) } : nil
    }

    /// A row may only name the environment of the ledger's usual purchases.
    private var environment: StoreEnvironment { ledger.settings.usualEnvironment }

    // MARK: An import

    /// Begins an import, or continues the one of the same file that was cut off.
    package func begin(_ file: ImportedFile, by actor: String) async throws -> ImportTable.Stored {
        _ = try await ledger.catalogs.record(in: ledger.database)
        let (now, environment) = (ledger.clock(), environment)
        let id = UniqueID(random: ledger.entropy(16))
        return try await ledger.database.write(locking: [.ledger("imports")]) { connection in
            let table = ImportTable(connection)
            if let unfinished = try table.unfinished(file, in: environment) { return unfinished }
            try table.insert(id, file, in: environment, by: actor, at: now)
            guard let stored = try table.find(id) else { throw RefusalError(.unknownImport) }
            return stored
        }
    }

    package func find(_ id: UniqueID) async throws -> ImportTable.Stored {
        guard let stored = try await ledger.database.read({ try ImportTable($0).find(id) }) else {
            throw RefusalError(.unknownImport)
        }
        return stored
    }

    /// What would become of these rows now. Writes nothing.
    package func check(_ entries: [ImportEntry], as format: ImportFormat) async throws -> [ImportOutcome] {
        let prepared = try await prepare(entries, as: format)
        let (inputs, processor) = (processor.inputs(), processor)
        let run = ImportRun(
            rowID: 0, id: UniqueID(random: ledger.entropy(16)), environment: environment, actor: "till",
            beganAt: inputs.now)
        let count = ledger.database.isShared ? Self.readTogether : max(prepared.count, 1)
        var outcomes: [ImportOutcome] = []
        for start in stride(from: 0, to: prepared.count, by: count) {
            let rows = prepared[start..<min(start + count, prepared.count)]
            outcomes += try await ledger.database.read { connection in
                try connection.prefetch { rows.flatMap { ImportRecorder.reads(of: $0, processor, run) } }
                let recorder = ImportRecorder(
                    processor: processor, run: run, inputs: inputs.begin(), connection: connection, isDry: true)
                return try rows.flatMap { try recorder.outcomes(of: $0) }
            }
        }
        return outcomes
    }

    /// Records rows.
    package func record(
        _ entries: [ImportEntry], into run: ImportTable.Stored, by actor: String
    ) async throws -> [ImportOutcome] {
        try await record(prepare(entries, as: run.format), into: run, by: actor)
    }

    package func prepared(_ entries: [ImportEntry], as format: ImportFormat) async throws -> PreparedRows {
        PreparedRows(rows: try await prepare(entries, as: format))
    }

    /// Rows whose proofs are verified: a command verifies the next rows while these are recorded.
    package struct PreparedRows: Sendable {
        let rows: [PreparedRow]
    }

    package func record(
        _ prepared: PreparedRows, into run: ImportTable.Stored, by actor: String
    ) async throws -> [ImportOutcome] {
        try await record(prepared.rows, into: run, by: actor)
    }

    /// On a database with several writers, what shares nothing is recorded at once, in commits of its own.
    private func record(
        _ rows: [PreparedRow], into stored: ImportTable.Stored, by actor: String
    ) async throws -> [ImportOutcome] {
        guard stored.undoneAt == nil else { throw RefusalError(.importUndone) }
        let run = ImportRun(
            rowID: stored.rowID, id: stored.id, environment: stored.environment, actor: actor,
            beganAt: stored.beganAt)
        let parts = ledger.database.isShared ? ImportParts(rows).parts : [Array(rows.indices)]
        guard parts.count > 1 else { return try await record(rows, run, isCounted: true).flatMap { $0 } }
        var outcomes = [[ImportOutcome]](repeating: [], count: rows.count)
        var failure: (any Error)?
        await withTaskGroup(of: (Int, Result<[[ImportOutcome]], any Error>).self) { group in
            for (number, part) in parts.enumerated() {
                group.addTask {
                    do {
                        return (number, .success(try await record(part.map { rows[$0] }, run, isCounted: false)))
                    } catch {
                        return (number, .failure(error))
                    }
                }
            }
            for await (number, result) in group {
                switch result {
                case .success(let ended): for (index, one) in zip(parts[number], ended) { outcomes[index] = one }
                case .failure(let error): failure = failure ?? error
                }
            }
        }
        let imported = Self.imported(outcomes)
        try await ledger.database.write(locking: [.ledger("imports")]) { connection in
            try ImportTable(connection).add(imported: imported, to: run.rowID)
        }
        if let failure { throw failure }
        return outcomes.flatMap { $0 }
    }

    /// Records rows in one commit.
    ///
    /// - Parameter isCounted: whether that commit also adds them to the import's count.
    private func record(
        _ rows: [PreparedRow], _ run: ImportRun, isCounted: Bool
    ) async throws -> [[ImportOutcome]] {
        let (inputs, processor) = (processor.inputs(), processor)
        @Sendable func reads(_ row: PreparedRow) -> [Statement] { ImportRecorder.reads(of: row, processor, run) }
        let outcomes = try await ledger.database.write(
            locking: (isCounted ? [.ledger("imports")] : []) + rows.flatMap(\.keys),
            reading: { rows.first.map(reads) ?? [] }
        ) { connection in
            let recorder = ImportRecorder(
                processor: processor, run: run, inputs: inputs.begin(), connection: connection, isDry: false)
            let outcomes = try rows.map { row in
                try connection.prefetch { reads(row) }
                return try recorder.outcomes(of: row)
            }
            if isCounted { try ImportTable(connection).add(imported: Self.imported(outcomes), to: run.rowID) }
            return outcomes
        }
        inputs.finish()
        return outcomes
    }

    private static func imported(_ outcomes: [[ImportOutcome]]) -> Int64 {
        Int64(outcomes.joined().count { $0.result == .imported })
    }

    package func end(_ stored: ImportTable.Stored, _ counts: ImportCounts) async throws -> ImportTable.Stored {
        let now = ledger.clock()
        try await ledger.database.write(locking: [.ledger("imports")]) { connection in
            try ImportTable(connection).end(stored.rowID, counts, at: now)
        }
        ledger.log.write(
            .importEnded,
            [
                "import": .text(stored.id.description), "format": .text(stored.format.rawValue),
                "rows": .integer(counts.rows), "imported": .integer(counts.imported),
                "unchanged": .integer(counts.unchanged), "refused": .integer(counts.refused),
            ])
        return try await find(stored.id)
    }

    // MARK: Rows

    private func prepare(_ entries: [ImportEntry], as format: ImportFormat) async throws -> [PreparedRow] {
        var rows: [PreparedRow] = []
        rows.reserveCapacity(entries.count)
        for entry in entries { rows.append(PreparedRow(line: entry.line, content: await prepare(entry, format))) }
        guard let answers = try await questions?.answers(about: rows), !answers.isEmpty else { return rows }
        return rows.map { PreparedRow(line: $0.line, content: content(of: $0, knowing: answers)) }
    }

    /// The row with what Apple answered about its purchases in place of what it says. It waits as a whole.
    private func content(
        of row: PreparedRow, knowing answers: [TransactionID: ImportQuestions.Answer]
    ) -> PreparedRow.Content {
        guard case .purchases(var all) = row.content else { return row.content }
        for (index, purchase) in all.enumerated() where purchase.needsAnswer {
            switch answers[purchase.transaction.id] {
            case nil: continue
            case .waiting(let delay): return .waiting(delay)
            case .refused(let refusal): all[index].refusal = refusal
            case .signed(let verified):
                do throws(ImportRefusal) {
                    all[index] = try prepared(verified, purchase.row)
                } catch {
                    all[index].refusal = error
                }
            }
        }
        return .purchases(all)
    }

    private func prepare(_ entry: ImportEntry, _ format: ImportFormat) async -> PreparedRow.Content {
        do throws(ImportRefusal) {
            switch try ImportRowReader.read(entry, as: format) {
            case .balance(let balance): return .balance(balance)
            case .accountToken(let token, let user): return .accountToken(token, user)
            case .purchase(let purchase): return .purchases(try await prepare(purchase))
            }
        } catch {
            return .refused(error)
        }
    }

    private func prepare(_ row: ImportRow.Purchase) async throws(ImportRefusal) -> [PreparedPurchase] {
        switch row.proof {
        case .signedTransaction(let token):
            let verified: VerifiedPurchase
            do throws(ProofError) { verified = try await ledger.intake.verify(token) } catch { throw .proof(error) }
            return [try prepared(verified, row)]
        case .receipt(let bytes):
            let receipt: Verified<VerifiedReceipt>
            do throws(ProofError) { receipt = try await ledger.verifier.receipt(bytes) } catch { throw .proof(error) }
            let proof = PurchaseProof(
                kind: .receipt, bytes: bytes, isRevocationUnknown: receipt.isRevocationUnknown)
            let named = row.stated.id.map { [receipt.value.transaction($0)].compactMap { $0 } }
            let found = named ?? receipt.value.transactions
            guard !found.isEmpty else { throw .emptyReceipt }
            var all: [PreparedPurchase] = []
            for one in found { all.append(try prepared(VerifiedPurchase(one, proof), row)) }
            return all
        case .statement: return [try stated(row)]
        }
    }

    /// What the row says beside a proof must be what Apple signed.
    private func prepared(
        _ verified: VerifiedPurchase, _ row: ImportRow.Purchase
    ) throws(ImportRefusal) -> PreparedPurchase {
        let (transaction, stated) = (PaidTransaction(verified), row.stated)
        func require<Value: Equatable>(_ name: String, _ said: Value?, _ signed: Value) throws(ImportRefusal) {
            if let said, said != signed { throw .differsFromProof(name) }
        }
        try require("transactionId", stated.id, transaction.id)
        try require("productId", stated.productID, transaction.productID)
        try require("quantity", stated.quantity, transaction.quantity)
        try require("environment", stated.environment, transaction.environment)
        return PreparedPurchase(row: row, transaction: transaction, proof: verified.proof, isSigned: true)
    }

    /// A purchase that rests on its row. Every copy that Apple signed is newer.
    private func stated(_ row: ImportRow.Purchase) throws(ImportRefusal) -> PreparedPurchase {
        let stated = row.stated
        guard let id = stated.id, let productID = stated.productID, let purchasedAt = stated.purchasedAt else {
            throw .missingField("transactionId")
        }
        guard let product = ledger.catalogs.current[productID] else { throw .unknownProduct(productID) }
        let terms = TransactionTerms(
            type: product.type, expiresAt: stated.expiresAt, isFamilyShared: stated.isFamilyShared,
            storefront: stated.storefront)
        let originalID = stated.originalID ?? id
        let transaction = PaidTransaction(
            id: id, originalID: originalID, productID: productID, quantity: stated.quantity ?? 1,
            environment: stated.environment ?? environment, token: nil, purchasedAt: purchasedAt,
            signedAt: purchasedAt.adding(seconds: -1), revokedAt: stated.revokedAt,
            isRenewal: stated.isRenewal ?? (product.type == .autoRenewable && originalID != id),
            isFromReceipt: true, price: stated.price, terms: terms, statesReason: false)
        return PreparedPurchase(
            row: row, transaction: transaction,
            proof: PurchaseProof(kind: .receipt, bytes: Self.text(of: transaction)), isSigned: false)
    }

    /// Kept where the proof would be: what the row said, without the user.
    private static func text(of transaction: PaidTransaction) -> [UInt8] {
        var members: [String: JSONValue] = [
            "transactionId": .string(transaction.id.text),
            "originalTransactionId": .string(transaction.originalID.text),
            "productId": .string(transaction.productID.text), "quantity": .int(Int64(transaction.quantity)),
            "environment": .string(transaction.environment.rawValue),
            "purchasedAt": .string(transaction.purchasedAt.rfc3339), "isRenewal": .bool(transaction.isRenewal),
            "isFamilyShared": .bool(transaction.terms.isFamilyShared),
        ]
        if let expires = transaction.terms.expiresAt { members["expiresAt"] = .string(expires.rfc3339) }
        if let revoked = transaction.revokedAt { members["revokedAt"] = .string(revoked.rfc3339) }
        if let storefront = transaction.terms.storefront { members["storefront"] = .string(storefront) }
        if let price = transaction.price {
            members["price"] = .int(price.amount)
            members["currency"] = .string(price.currency.text)
        }
        return JSONValue.object(members).encodedBytes()
    }
}
