import TillAppStore
import TillBilling
import TillLedger
import TillSQL

/// The one place where money becomes goods. Three doors lead here: an app's proof, Apple's notification, and Apple's
/// answer to our own question; each brings a `VerifiedTransaction`, which only the verifier can make. Facts are loaded,
/// `Settlement` decides, and the decision is carried out, all in one commit (DESIGN §4, invariant 2).
struct Settle: Sendable {
    let database: any Database
    let catalogs: CatalogHistory
    let clock: Server.Clock
    let entropy: Server.Entropy
    let debt: DebtTerms
    let reminders: ReminderPolicy
    let receipts: ReceiptTerms
    let guests: GuestTerms
    /// What Apple is told by ourselves; nil where there is no key to tell it with.
    var errands: ErrandBook.Policy?

    var catalog: Catalog { catalogs.current }

    enum Door: String, Sendable {
        case app
        case notification
        case restore
        /// Apple's answer to our own question.
        case reconciliation
        /// Out of quarantine, for whoever showed that it is theirs.
        case claim
        /// Nobody's: what we told Apple.
        case errand
    }

    /// Through which door a transaction came, brought by whom, with what said beside it.
    struct Origin: Sendable {
        let door: Door
        let caller: Caller
        let claimedOrder: OrderID?
        /// What proves that the token is an order id of the caller's, for a token that names no order.
        var tokenProof: TokenProof?
        /// The device it came from, as orders name it.
        var device: DeviceID?
        /// The address a user sent it from (`HTTPRequest.clientNetwork`), by which callers take turns; nil for others.
        var network: String?
        /// Who restores it, and may have it if it is nobody's.
        var claimant: UserID?
        /// Who claims it out of quarantine.
        var claim: OwnershipClaim?
        /// What an operator said why.
        var claimReason: String?
        /// Who it was, if that is no caller of the API.
        var actor: String?

        /// Whom a backend or an operator names as the customer.
        var namedUser: UserID? {
            guard case .backend(_, let named) = caller else { return nil }
            return named ?? claimant ?? claim?.user
        }

        /// As it stands in evidence.
        var callerName: String {
            if let actor { return actor }
            return switch caller {
            case .backend(let keyID, _): "key:\(keyID)"
            case .user(let user): "user:\(user)"
            case .apple: "apple"
            }
        }
    }

    /// The nonce of an order id, and the user that the id commits to: the caller, or a guest merged into the caller.
    struct TokenProof: Sendable {
        let nonce: OrderIDNonce
        let user: UserID

        func proves(_ token: OrderID) -> Bool { OrderIDCommitment(user: user, nonce: nonce).id == token }
    }

    /// The signed bytes, as they came.
    struct Proof: Sendable {
        let kind: ProofTable.Kind
        let bytes: [UInt8]
        /// It was accepted on its signature, while nobody could say whether its signer's certificate was revoked (U7).
        var isUnderDoubt = false

        /// What the ledger has of it already.
        static let kept = Proof(kind: .signedTransaction, bytes: [])
    }

    /// What Apple signed about the next renewal, with the bytes as they came.
    struct Renewal: Sendable {
        let info: VerifiedRenewalInfo
        let proof: [UInt8]
    }

    enum Outcome: Sendable {
        case granted(Grant)
        case alreadyGranted(Grant)
        /// Granted by a receipt before; now its signed copy has moved it to whom that names.
        case moved(Grant)
        /// Granted by a receipt; its signed copy names nobody who is known, so the owner keeps it for now.
        case contested(Grant, QuarantineReason)
        case revoked(Grant)
        /// Apple took it back before anything was granted. With the order that it paid for, if that was known.
        case revokedUnseen(Order?)
        case quarantined(QuarantineReason)

        /// A stable word.
        var name: String {
            switch self {
            case .granted: "granted"
            case .alreadyGranted: "alreadyGranted"
            case .moved: "moved"
            case .contested(_, let reason): "contested \(reason.rawValue)"
            case .revoked, .revokedUnseen: "revoked"
            case .quarantined(let reason): "quarantined \(reason.rawValue)"
            }
        }
    }

    /// - Parameter renewal: what came beside it about the next renewal; kept in the same commit, if it is news.
    func callAsFunction(
        _ verified: VerifiedTransaction, proof: Proof, origin: Origin, renewal: Renewal? = nil
    ) async throws -> Outcome {
        let transaction = PaidTransaction(verified)
        let now = clock()
        // What is paid under a catalogue is priced by it for ever, so the ledger has it by then.
        _ = try await catalogs.record(in: database)
        let outcome = try await database.write { session in
            try book(transaction, proof: proof, origin: origin, renewal: renewal, at: now, session)
        }
        #if PLANTED_MISTAKES
            if PlantedMistake.tellsApart.isPlanted, case .granted(let grant) = outcome {
                try await tellApart(of: grant)
            }
        #endif
        return outcome
    }

    /// Settles once more what is in quarantine, as the ledger has it, for whoever claims it.
    ///
    /// - Returns: nil if it isn't in quarantine any more.
    func claimed(_ sequence: Int64, origin: Origin, now: Instant, _ session: any Connection) throws -> Outcome? {
        guard try TransactionTable(session).find(sequence: sequence)?.state == .quarantined,
            let copy = try RecordedCopies(session).find(sequence)
        else { return nil }
        return try book(copy, proof: .kept, origin: origin, renewal: nil, at: now, session)
    }

    /// The same before a ledger that is open already, for who has more to write in the same commit.
    func book(
        _ transaction: PaidTransaction, proof: Proof, origin: Origin, renewal: Renewal?, at now: Instant,
        _ session: any Connection
    ) throws -> Outcome {
        #if PLANTED_MISTAKES
            if PlantedMistake.refusesLate.isPlanted, transaction.purchasedAt.adding(seconds: 86_400) < now {
                return .revokedUnseen(nil)
            }
        #endif
        if let user = origin.namedUser { try CustomerTable(session).recordNamed(user, under: guests, at: now) }
        let purchase = try purchaseToRestore(with: transaction, origin, session)
        var decided = try decide(transaction, proof, origin, now, session)
        // A copy that says nothing new costs what it costs to recognize it, however long the customer's history is.
        if purchase == nil, try decided.saysNothingNew() {
            let outcome = try carryOut(&decided)
            let changed = try renewal.map { try ChainWatch.record($0, now: now, session) } ?? []
            try remind(about: [], and: changed, now, session)
            return outcome
        }
        var chains = ChainWatch(now: now, session)
        try chains.watch(transaction)
        if let purchase {
            _ = try settle(purchase, .kept, origin, now, session)
            decided = try decide(transaction, proof, origin, now, session)
        }
        let outcome = try carryOut(&decided)
        let given = try settleWaiting(for: [transaction], origin, &chains, now, session)
        try chains.list(transaction)
        let moved = try align(chainOf: transaction, origin, now, session)
        try settleReplacedTime(inChainOf: transaction, origin, now, session)
        let isKept = try renewal.map { try chains.keep($0) } ?? true
        var changed = try chains.tell()
        if let renewal, !isKept { changed += try ChainWatch.record(renewal, now: now, session) }
        try remind(about: [transaction] + given + moved, and: changed, now, session)
        return outcome
    }

    /// Keeps what Apple signed about a subscription's next renewal, if it is newer than what is known.
    ///
    /// - Parameter proof: the signed renewal info, as it came.
    func recordRenewal(_ info: VerifiedRenewalInfo, proof: [UInt8]) async throws {
        let now = clock()
        let renewal = Renewal(info: info, proof: proof)
        try await database.write { session in
            try remind(about: [], and: try ChainWatch.record(renewal, now: now, session), now, session)
        }
    }

    func settle(
        _ transaction: PaidTransaction, _ proof: Proof, _ origin: Origin, _ now: Instant, _ session: any Connection
    ) throws -> Outcome {
        var decided = try decide(transaction, proof, origin, now, session)
        return try carryOut(&decided)
    }

    /// A decision that is not carried out yet, with what it rests on.
    private struct Decided {
        var books: SettlementBooks
        let facts: SettlementFacts
        let settlement: Settlement

        mutating func saysNothingNew() throws -> Bool { try books.saysNothingNew(settlement, facts) }
    }

    private func decide(
        _ transaction: PaidTransaction, _ proof: Proof, _ origin: Origin, _ now: Instant, _ session: any Connection
    ) throws -> Decided {
        var books = SettlementBooks(
            session: session, transaction: transaction, proof: proof, origin: origin, now: now, settle: self)
        let facts = try books.load(product: catalog[transaction.productID])
        return Decided(books: books, facts: facts, settlement: Settlement(facts))
    }

    private func carryOut(_ decided: inout Decided) throws -> Outcome {
        try decided.books.carryOut(decided.settlement, decided.facts, freshGrantID: UniqueID(random: entropy(16))) {
            UniqueID(random: entropy(16))
        }
    }

    /// Gives what was paid under a token before an order or an account had it. Called in the commit that opens the
    /// order or registers the account token.
    func release(paidUnder token: OrderID, at now: Instant, _ session: any Connection) throws {
        let origin = Origin(door: .claim, caller: .apple, claimedOrder: nil)
        var given: [PaidTransaction] = []
        var chains = ChainWatch(now: now, session)
        for environment in Environment.allCases
        where try UnmatchedTokenTable(session).contains(token, in: environment) {
            try decideContested(by: token, in: environment, origin, now, session)
            guard let first = try RecordedCopies(session).waiting(forOrder: token, of: environment).first else {
                continue
            }
            given += try settleWaiting(for: [first.transaction], includingThem: true, origin, &chains, now, session)
        }
        for transaction in given {
            given += try align(chainOf: transaction, origin, now, session)
            try settleReplacedTime(inChainOf: transaction, origin, now, session)
        }
        try remind(about: given, and: try chains.tell(), now, session)
    }

    /// What was paid and could not be given before this came: renewals of its chain that named nobody (U1, rung 3), and
    /// what was paid under its order beside it.
    ///
    /// - Parameter includingThem: whether the transactions themselves still wait.
    /// - Returns: what was given now.
    private func settleWaiting(
        for settled: [PaidTransaction], includingThem: Bool = false, _ origin: Origin, _ chains: inout ChainWatch,
        _ now: Instant, _ session: any Connection
    ) throws -> [PaidTransaction] {
        var given: [PaidTransaction] = []
        let copies = RecordedCopies(session)
        let origin = Origin(door: origin.door, caller: .apple, claimedOrder: nil)
        var queue = settled
        let done = includingThem ? [] : Set(settled.map(\.id))
        var seen: Set<TransactionID> = []
        var tokens: Set<OrderID> = []
        while let next = queue.popLast() {
            var waiting: [RecordedCopies.Copy] = []
            if case .order(let token)? = next.token, tokens.insert(token).inserted {
                waiting += try copies.waiting(forOrder: token, of: next.environment)
                try decideContested(by: token, in: next.environment, except: done, origin, now, session)
            }
            if seen.insert(next.originalID).inserted {
                waiting += try copies.waiting(inChain: next.originalID, of: next.environment)
            }
            for copy in waiting where !done.contains(copy.transaction.id) {
                var books = SettlementBooks(
                    session: session, transaction: copy.transaction, proof: .kept, origin: origin, now: now,
                    settle: self)
                let facts = try books.load(product: catalog[copy.transaction.productID])
                let settlement = Settlement(facts)
                if facts.recorded?.state == .revoked { try books.adopt(facts) { UniqueID(random: entropy(16)) } }
                guard facts.recorded?.state == .quarantined else { continue }
                if case .quarantine(.contradictsOrder) = settlement { try books.tellContradiction(facts) }
                guard case .grant = settlement else { continue }
                try chains.watch(copy.transaction)
                _ = try books.carryOut(settlement, facts, freshGrantID: UniqueID(random: entropy(16))) {
                    UniqueID(random: entropy(16))
                }
                queue.append(copy.transaction)
                given.append(copy.transaction)
            }
        }
        return given
    }

    /// Grants by receipts whose signed copies carry a token that was unknown: decided again, in case it is known now.
    func decideContested(
        by token: UniqueID, in environment: Environment, except settled: Set<TransactionID> = [], _ origin: Origin,
        _ now: Instant, _ session: any Connection
    ) throws {
        for sequence in try OwnershipTable(session).contested(by: token, in: environment) {
            guard let copy = try RecordedCopies(session).find(sequence), !settled.contains(copy.id) else { continue }
            _ = try settle(copy, .kept, origin, now, session)
        }
    }
}

extension VerifiedTransaction {
    /// Made by Apple's server. Before API 1.8 Apple gave no reason; a receipt gives none either: then a subscription's
    /// transaction that isn't its first (facts/jws §4).
    var isRenewal: Bool {
        if let transactionReason { return transactionReason == .renewal }
        return type == .autoRenewable && id != originalID
    }
}

extension VerifiedTransaction {
    /// Nil for the purchaser's own and the family's copies. A receipt does not say.
    fileprivate var otherOwnership: String? {
        guard source == .signedTransaction, let ownership, ownership != .purchased, ownership != .familyShared else {
            return nil
        }
        #if PLANTED_MISTAKES
            if PlantedMistake.grantsUnknownOwnership.isPlanted { return nil }
        #endif
        return ownership.rawValue
    }

    /// An assigned copy repeats the purchaser's number of seats and is one of them (facts/seats-and-groups §4).
    fileprivate var seatsOfOwner: Int { otherOwnership == Ownership.assigned.rawValue ? 1 : quantity }
}

extension PaidTransaction {
    /// What settling needs of what Apple signed.
    init(_ verified: VerifiedTransaction) {
        let token: AppAccountToken? =
            if let order = verified.appAccountToken {
                order.namesNone ? nil : .order(order)
            } else if verified.appAccountTokenText?.isEmpty == false {
                .unreadable
            } else {
                nil
            }
        self.init(
            id: verified.id, originalID: verified.originalID, productID: verified.productID,
            quantity: verified.seatsOfOwner, environment: verified.environment, token: token,
            purchasedAt: verified.purchaseDate, signedAt: verified.signedDate, revokedAt: verified.revocationDate,
            isRenewal: verified.isRenewal, isFromReceipt: verified.source == .receipt, price: verified.price,
            terms: TransactionTerms(verified), chainBeganAt: verified.originalPurchaseDate,
            statesReason: verified.transactionReason != nil || !verified.isRenewal)
        appTransactionID = verified.appTransactionID.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension TransactionTerms {
    init(_ verified: VerifiedTransaction) {
        self.init(
            type: verified.type.flatMap { TillBilling.ProductType(rawValue: $0.rawValue) },
            expiresAt: verified.expiresDate,
            isUpgraded: verified.isUpgraded, isFamilyShared: verified.ownership == .familyShared,
            groupID: verified.subscriptionGroupID, storefront: verified.storefront,
            offer: verified.offer.flatMap { offer in
                offer.type.map {
                    Offer(type: $0.rawValue, id: offer.identifier, discount: offer.discountType?.rawValue)
                }
            })
        otherOwnership = verified.otherOwnership
        revocationType = verified.revocationType?.rawValue
        revocationPercentage = verified.revocationPercentage
    }
}
