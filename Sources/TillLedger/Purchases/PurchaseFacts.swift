import TillBilling
import TillSQL

/// What the ledger knows about one transaction: every read that its decision depends on, and the rows that the recorder
/// changes.
struct PurchaseContext {
    let shared: SharedFacts
    /// The newest copy: the submitted one or the recorded one.
    private(set) var transaction: PaidTransaction
    /// The submitted copy.
    let submitted: PaidTransaction
    private(set) var stored: TransactionTable.Stored?
    private(set) var grant: Grant?
    /// The ownership basis of that grant, if it is not a token.
    private(set) var basis: OwnershipTable.Stored?
    /// The orders that the decision may name, with their rows.
    private(set) var orders: [OrderID: OrderTable.Stored]
    /// The numbers of the customers that were looked up.
    private(set) var customers: [(user: UserID, number: Int64)]
    /// The signed token, if it names no order and no account.
    private(set) var unmatchedToken: OrderID?
    /// Whether the proof names a device that the grant's order lacks, although its plan is limited to one device.
    private(set) var isDeviceMissing = false

    /// Whether the submitted copy is newer than the recorded one. An older copy changes nothing.
    var isNew: Bool {
        shared.facts.known.map { SignedCopy(transaction).isNewer(than: SignedCopy($0)) } ?? true
    }

    /// The same facts after the first copy was recorded in this commit.
    func recorded(as row: TransactionTable.Stored?) -> PurchaseContext {
        var known = self
        known.stored = row
        return known
    }

    init(_ transaction: PaidTransaction, from origin: PurchaseOrigin, _ reader: PurchaseReader) throws {
        var reader = reader
        try reader.connection.prefetch { PurchaseReader.reads(of: transaction, from: origin) }
        self.transaction = transaction
        submitted = transaction
        stored = try TransactionTable(reader.connection).find(transaction.id, in: transaction.environment)
        let copy = try stored.flatMap { try RecordedCopies(reader.connection).find($0.rowID) }
        if let stored, stored.state != .quarantined {
            grant = try GrantTable(reader.connection).find(transaction: stored.rowID)
                .map { try GrantOwnerTable(reader.connection).present($0, of: stored.rowID) }
            basis = try grant == nil ? nil : reader.ownership.find(stored.rowID)
            if basis?.isWithdrawn == true { grant = nil }
        }
        if let copy, SignedCopy(transaction).isOlder(than: SignedCopy(copy)) { self.transaction.yield(to: copy) }
        if let copy { self.transaction.keepToken(of: copy) }
        let chain = try reader.chain(of: self.transaction, from: origin)
        if let decided = chain?.transaction { self.transaction = decided }
        let token = try reader.token(of: self.transaction, from: origin)
        unmatchedToken = token.unmatched
        var facts = try reader.facts(
            self.transaction, from: origin, chain, token, stored: stored, copy: copy, grant: grant)
        facts.submitted = transaction
        facts.known = copy
        if let basis { facts.basis = basis.basis }
        if grant != nil, let copy, SignedCopy(transaction) < SignedCopy(copy) {
            facts.userOfSubmittedToken = try reader.user(namedBy: transaction.signedToken, in: transaction.environment)
        }
        try reader.readNewOwners(&facts, chain, token)
        isDeviceMissing = try reader.isDeviceMissing(of: facts.product, stored, from: origin)
        shared = SharedFacts(facts)
        orders = reader.orders
        customers = reader.numbers
    }

    func number(of user: UserID) -> Int64? { customers.first { $0.user == user }?.number }
}

/// Reads a purchase's facts. It keeps the orders that it finds, because a decision may name only those.
struct PurchaseReader {
    let connection: any Connection
    let terms: PurchaseTerms
    let now: Instant
    let ownership: OwnershipTable
    let customers: CustomerTable
    let grantOwners: GrantOwnerTable
    fileprivate(set) var orders: [OrderID: OrderTable.Stored] = [:]
    fileprivate(set) var numbers: [(user: UserID, number: Int64)] = []

    init(_ connection: any Connection, _ terms: PurchaseTerms, now: Instant) {
        self.connection = connection
        self.terms = terms
        self.now = now
        ownership = OwnershipTable(connection)
        customers = CustomerTable(connection)
        grantOwners = GrantOwnerTable(connection)
    }

    fileprivate mutating func facts(
        _ transaction: PaidTransaction, from origin: PurchaseOrigin, _ chain: ChainFacts?, _ token: TokenFacts,
        stored: TransactionTable.Stored?, copy: PaidTransaction?, grant: Grant?
    ) throws -> PurchaseFacts {
        if let order = chain?.order { orders[order.order.id] = order }
        let claimed = token.decidesAlone ? nil : try origin.claimedOrder.flatMap { try order($0) }
        var facts = PurchaseFacts(
            transaction: transaction, caller: try caller(of: origin, claiming: claimed),
            recorded: stored.map { stored in
                RecordedTransaction(state: stored.state, newest: SignedCopy(copy ?? transaction), grant: grant)
            },
            tokenOrder: token.order, claimedOrderID: origin.claimedOrder, claimedOrder: claimed,
            originalOrder: chain?.order?.order, product: terms.catalogs.current[transaction.productID],
            claimant: try claimant(of: transaction, from: origin, chain))
        facts.renewed = chain?.renewed
        facts.replacedOwner = chain?.replacedOwner
        facts.tokenAccount = token.account
        facts.provenUser = token.provenUser
        facts.isTokenOlderThanOrder = token.isOlderThanOrder
        // All facts are passed only where they are needed: see `SharedFacts`.
        if transaction.id != transaction.originalID {
            facts.isInChainOfTokenOrder = try isInChain(ofTokenOrderIn: SharedFacts(facts), chain)
        }
        facts.deviceOrders = try deviceOrders(for: transaction, from: origin)
        facts.ownershipClaim = try claim(to: transaction, from: origin, chain, token)
        facts.originalBasis = chain?.basis
        facts.isImport = origin.isImport
        if transaction.hidesToken, !origin.isImport { facts.needsSignedCopy = try needsSignedCopy(facts) }
        return facts
    }

    /// What nearly every decision reads, for databases where each query is a round trip.
    static func reads(of transaction: PaidTransaction, from origin: PurchaseOrigin) -> [Statement] {
        let environment = transaction.environment
        var reads = [TransactionTable.finding(transaction.id, in: environment)]
        if case .order(let token)? = transaction.token {
            reads += [OrderTable.finding(token), UnmatchedTokenTable.finding(token, in: environment)]
        }
        if let order = origin.claimedOrder { reads.append(OrderTable.finding(order)) }
        if let user = origin.declaredUser { reads.append(CustomerTable.finding(user)) }
        return reads
    }

    mutating func order(_ id: OrderID) throws -> Order? {
        guard let found = try OrderTable(connection).find(id) else { return nil }
        orders[id] = found
        return found.order
    }

    func account(of user: UserID) throws -> UserID { try customers.account(of: user) ?? user }

    // MARK: The caller

    /// A guest who signed in may also submit purchases for the account's orders that were opened for payments under
    /// way.
    private func caller(of origin: PurchaseOrigin, claiming order: Order?) throws -> Caller {
        guard let order, case .user(let guest) = origin.caller, guest != order.userID,
            try customers.account(of: guest) == order.userID
        else { return origin.caller }
        return .user(order.userID)
    }

    /// Unpaid orders of the submitting device, from users for whom Apple's token completed an order on that device
    /// before, with the same Apple Account: a device's id is not secret. Only if Apple signed no token.
    private mutating func deviceOrders(
        for transaction: PaidTransaction, from origin: PurchaseOrigin
    ) throws -> [Order]? {
        guard let device = origin.submittingDevice, transaction.token == nil, !transaction.isFromReceipt else {
            return nil
        }
        var payer: String? = transaction.appTransactionID ?? ""
        #if PLANTED_MISTAKES
            if PlantedMistake.trustsAnyDevice.isPlanted { payer = nil }
        #endif
        let found = try OrderTable(connection).unpaid(
            onDevice: device, product: transaction.productID, quantity: transaction.quantity,
            openedBy: transaction.purchasedAt.adding(seconds: PurchaseFacts.clockTolerance),
            ofBuyersBy: payer, limit: PurchaseFacts.deviceOrderLimit)
        for stored in found { orders[stored.order.id] = stored }
        return found.map(\.order)
    }

    fileprivate func isDeviceMissing(
        of product: CatalogProduct?, _ stored: TransactionTable.Stored?, from origin: PurchaseOrigin
    ) throws -> Bool {
        guard origin.device != nil, product.flatMap({ Plan(soldBy: $0) })?.scope == .device,
            let rowID = stored?.orderRowID
        else { return false }
        return try OrderTable(connection).find(rowID: rowID)?.order.deviceID == nil
    }

    // MARK: Restores and claims

    /// The user who may get a purchase without an owner: the one who restores or claims it, unless another customer
    /// owns something of its chain.
    private func unlessOwned(_ transaction: PaidTransaction, by user: UserID, _ chain: ChainFacts?) throws -> UserID? {
        try chainOwners(of: transaction, chain).isSubset(of: [try account(of: user)]) ? user : nil
    }

    /// The accounts that own other periods of its chain.
    private func chainOwners(of transaction: PaidTransaction, _ chain: ChainFacts?) throws -> Set<UserID> {
        var owners = try chain?.owners ?? listedOwners(of: transaction)
        if owners == nil {
            let owner = try grantOwners.owner(of: transaction.originalID, in: transaction.environment)
            owners = Set([owner].compactMap { $0 })
        }
        return Set(try (owners ?? []).map { try account(of: $0) })
    }

    /// A renewal is restored with its purchase.
    private func claimant(
        of transaction: PaidTransaction, from origin: PurchaseOrigin, _ chain: ChainFacts?
    ) throws -> UserID? {
        guard chain?.renewed?.isWaiting != true, let claimant = origin.claimant else { return nil }
        return try unlessOwned(transaction, by: claimant, chain)
    }

    /// The claim, unless the chain belongs to another customer. A new purchase in the chain (an upgrade or a return)
    /// may still belong to another customer of the same Apple Account: then an operator decides, or the token names the
    /// customer. A customer who has merged claims as the guest that they were.
    private func claim(
        to transaction: PaidTransaction, from origin: PurchaseOrigin, _ chain: ChainFacts?, _ token: TokenFacts
    ) throws -> OwnershipClaim? {
        guard var claim = origin.claim else { return nil }
        if let guest = token.order?.userID ?? token.account, try customers.account(of: guest) == claim.user {
            claim = OwnershipClaim(user: guest, ground: claim.ground)
        }
        let isWaiting = chain?.renewed?.isWaiting == true
        // For a renewal whose purchase is in quarantine, that purchase outweighs an order number.
        let isNamed = token.order?.userID == claim.user && (!isWaiting || chain?.renewed?.isOfWithdrawn == true)
        let isDecided = claim.ground == .operatorDecision || isNamed
        // A renewal with its own token is not part of the chain owner's subscription. A receipt hides whether it has
        // one.
        let isItsOwn = chain?.renewed?.token == .ownToken || chain?.renewed?.token == .hidden
        if isDecided, !transaction.isRenewal || isWaiting || isItsOwn { return claim }
        if isWaiting { return try chainOwners(of: transaction, chain).isEmpty ? claim : nil }
        return try unlessOwned(transaction, by: claim.user, chain) == nil ? nil : claim
    }

    // MARK: Owners

    /// Whether a receipt grants nothing by itself: because of the shop's settings, or because a customer who may have
    /// sent it lost a purchase to another customer's token.
    private func needsSignedCopy(_ facts: PurchaseFacts) throws -> Bool {
        let transaction = facts.transaction
        if terms.settings.receipts.policy == .quarantine { return true }
        var candidates = [facts.claimedOrder?.userID, facts.originalOrder?.userID].compactMap { $0 }
        candidates += try candidates.compactMap { try customers.account(of: $0) }
        if facts.originalOrder != nil {
            let owner = try grantOwners.owner(of: transaction.originalID, in: transaction.environment)
            if let owner { candidates.append(owner) }
        }
        let since = now.adding(milliseconds: -ReceiptTerms.distrust)
        return try candidates.contains { try ownership.isDistrusted($0, since: since) }
    }

    /// Reads the facts that decide whether a purchase goes to another customer than the buyer.
    fileprivate mutating func readNewOwners(
        _ facts: inout PurchaseFacts, _ chain: ChainFacts?, _ token: TokenFacts
    ) throws {
        facts.chainOwner = chain?.owner
        let (transaction, caller) = (facts.transaction, facts.caller)
        var users = [
            facts.tokenOrder?.userID, token.account, token.provenUser, facts.claimedOrder?.userID,
            facts.originalOrder?.userID, facts.replacedOwner, facts.claimant, facts.ownershipClaim?.user,
        ].compactMap { $0 }
        if case .backend(_, let user?) = caller { users.append(user) }
        users += (facts.deviceOrders ?? []).map(\.userID)
        for (index, user) in users.enumerated() where !users[..<index].contains(user) {
            guard let known = try customers.known(user) else { continue }
            numbers.append((user, known.number))
            if let account = known.account { facts.accounts[user] = account }
        }
        guard transaction.originalID != transaction.id else { return }
        for order in [facts.tokenOrder, facts.claimedOrder, facts.originalOrder].compactMap({ $0?.id }) {
            guard facts.currentChainOwners[order] == nil, let stored = orders[order] else { continue }
            facts.currentChainOwners[order] = try grantOwners.owner(
                of: transaction.originalID, in: transaction.environment, orderRowID: stored.rowID)
        }
    }
}
