import TillBilling
import TillJSON
import TillSQL

/// Erases customers from a ledger (docs/personal-data.md, docs/decisions/0078).
///
/// The first commit takes the person's name from the ledger: the customer's row gets a pseudonym, and what names the
/// person elsewhere is removed or hashed. The orders and the stored answers follow in bounded commits (`finish`); a
/// crash leaves the erasure unfinished, and the job `erasures` goes on with it.
public struct Erasures: Sendable {
    let database: any Database
    let key: ErasureKey
    /// The key of the ledger's seals: what the seals say of a customer stays valid without the name.
    let sealKey: SealKey?

    public init(_ database: any Database, key: ErasureKey, sealKey: SealKey?) {
        self.database = database
        self.key = key
        self.sealKey = sealKey
    }

    /// Who erases, and when.
    struct Cause: Sendable {
        /// `key:backend`, `operator:mei`, `till`, `replay`.
        let caller: String
        let at: Instant
    }

    /// A customer to be erased.
    struct Person: Sendable, Hashable {
        let customerID: Int64
        let user: UserID
        let firstSeen: Instant
    }

    // MARK: The first commit

    /// Takes the name of a customer, and of the guests merged into it, from the ledger.
    ///
    /// - Parameter check: refuses the erasure, in the same commit.
    /// - Returns: the erasures, the customer's own first; empty if the ledger has no such customer.
    func begin(
        _ user: UserID, _ cause: Cause, check: @escaping @Sendable (any Connection) throws -> Void
    ) async throws -> [ErasureTable.Stored] {
        let keys = (key, sealKey)
        return try await database.write(locking: [.customer(user)]) { connection in
            guard let person = try PersonTable(connection).find(user) else { return [] }
            try CustomerTable(connection).requireUnmerged(user)
            try check(connection)
            let guests = try CustomerTable(connection).guests(of: user)
            connection.lock(guests.map { .customer($0) })
            let people = [person] + (try guests.compactMap { try PersonTable(connection).find($0) })
            for person in people { try ErasedCustomer(person, keys, cause, connection).take() }
            return try people.compactMap { try ErasureTable(connection).find(customer: $0.customerID) }
        }
    }

    /// The same for one customer without its guests, by its number, unless it is erased already.
    func begin(customer: Int64, of user: UserID, _ cause: Cause) async throws {
        let keys = (key, sealKey)
        try await database.write(locking: [.customer(user)]) { connection in
            guard let person = try PersonTable(connection).find(user), person.customerID == customer else { return }
            try ErasedCustomer(person, keys, cause, connection).take()
        }
    }

    // MARK: The rest

    /// Orders cleared in one commit.
    static let batch = 200

    /// Clears what the erasures that are not finished left, however many rows these are.
    public func finish(at now: Instant) async throws {
        while true {
            let open = try await database.read { try ErasureTable($0).unfinished(limit: 100) }
            guard !open.isEmpty else { return }
            for erasure in open {
                var position = erasure.position
                while let last = try await clearOrders(of: erasure, after: position) { position = last }
            }
            try await removeAnswers(about: Set(open.map(\.userHash)))
            try await database.write(locking: [.ledger("erasures")]) { connection in
                for erasure in open { try ErasureTable(connection).finish(erasure.rowID, at: now) }
            }
        }
    }

    /// - Returns: the last order that was cleared; nil if none was left.
    private func clearOrders(of erasure: ErasureTable.Stored, after position: Int64) async throws -> Int64? {
        let key = key
        let page = try await database.read {
            try PersonTable($0).orders(of: erasure.customerID, after: position, limit: Self.batch)
        }
        guard let last = page.last else { return nil }
        try await database.write(locking: page.map { .order($0.id) }) { connection in
            let table = PersonTable(connection)
            for order in try table.orders(of: erasure.customerID, after: position, limit: Self.batch) {
                try table.clear(
                    order, device: order.device.map { key.device($0, customer: erasure.customerID) },
                    phone: order.phone.map { key.device($0, customer: erasure.customerID) })
            }
            try ErasureTable(connection).advance(erasure.rowID, to: last.rowID)
        }
        return last.rowID
    }

    /// Deletes the stored answers to requests of or about these users. They name the users only in their texts.
    private func removeAnswers(about hashes: Set<[UInt8]>) async throws {
        let key = key
        var position: StoredAnswers.Key?
        while true {
            let after = position
            let page = try await database.read { try StoredAnswers($0).list(after: after, limit: Self.batch) }
            guard let last = page.last else { return }
            position = last.key
            let found = page.filter { answer in answer.names { hashes.contains(key.hash(of: $0)) } }.map(\.key)
            guard !found.isEmpty else { continue }
            try await database.write(locking: [.idempotency("erasures")]) { connection in
                for answer in found { try StoredAnswers(connection).remove(answer) }
            }
        }
    }
}

/// What the first commit of an erasure changes, about one customer.
private struct ErasedCustomer {
    private let person: Erasures.Person
    private let key: ErasureKey
    private let sealKey: SealKey?
    private let cause: Erasures.Cause
    private let connection: any Connection
    private let pseudonym: UserID

    init(
        _ person: Erasures.Person, _ keys: (ErasureKey, SealKey?), _ cause: Erasures.Cause,
        _ connection: any Connection
    ) {
        self.person = person
        (key, sealKey) = keys
        self.cause = cause
        self.connection = connection
        pseudonym = key.pseudonym(of: person.user, customer: person.customerID)
    }

    func take() throws {
        connection.lock([.customer(pseudonym)])
        let table = PersonTable(connection)
        try rename(in: table)
        try table.rename(person.customerID, to: pseudonym, at: cause.at)
        try ErasureTable(connection).insert(
            person.customerID, hash: key.hash(of: person.user), caller: cause.caller, at: cause.at,
            sealedName: try sealedName())
        let tokens = try AccountTokenTable(connection).list(of: pseudonym, limit: 1_000)
        connection.lock(tokens.map { .order($0.token) })
        try table.removeAccountTokens(person.customerID)
        try sealTokens()
        try table.clearClaims(person.customerID, at: cause.at)
        try table.removeRefusedProofs(person.customerID)
        try withdrawConsent()
        var body: [String: JSONValue] = [:]
        if let order = try table.newestOrder(person.customerID) { body["orderId"] = .string(order.description) }
        try EventRecorder(connection).record(
            type: EventType.customerErased.rawValue, user: pseudonym, about: pseudonym.text, happensOnce: true,
            body: body, at: cause.at)
    }

    /// Without the key, the seal of a customer whose name is gone could never be compared again.
    private func sealedName() throws -> [UInt8]? {
        if let sealKey { return sealKey.name(of: person.user, customer: person.customerID) }
        guard try SealTable(connection).newest(of: .customers) != nil else { return nil }
        throw RefusalError(
            .noErasureKey, "the ledger has seals; set seals.keyFile to their key, then erase again",
            zh: "账本带有封印；请把 seals.keyFile 设为封印的密钥，再重新抹除")
    }

    /// What the seals say of the person's tokens stays valid without the tokens.
    private func sealTokens() throws {
        let table = AccountTokenTable(connection)
        for row in try table.logged(of: person.customerID) {
            try table.seal(row.rowID, as: sealKey?.token(row.token, customer: person.customerID))
        }
    }

    /// Proofs that wait to be processed name their sender in text. They go on under the pseudonym.
    private func rename(in table: PersonTable) throws {
        let saved = try table.savedProofs(of: person.user)
        let waiting = try table.waitingProofs(of: person.user)
        connection.lock(
            saved.map { .work("saved proof", $0.rowID) } + waiting.map { .waiting($0.transactionID, $0.environment) })
        for proof in saved + waiting {
            try table.rename(
                proof, from: person.user, to: pseudonym,
                device: proof.device.map { key.device($0, customer: person.customerID) },
                phone: proof.phone.map { key.device($0, customer: person.customerID) })
        }
    }

    /// Without consent nothing more is told to Apple about the person.
    private func withdrawConsent() throws {
        let consents = ConsentTable(connection)
        guard try consents.newest(of: pseudonym)?.isGiven == true else { return }
        try consents.insert(.init(isGiven: false, actor: cause.caller, at: cause.at), of: pseudonym)
    }
}
