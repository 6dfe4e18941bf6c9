import TillBilling

/// The source of a transaction.
package enum PurchaseSource: String, Sendable {
    case app
    case notification
    case restore
    /// Apple's response to a request of the server.
    case reconciliation
    /// A claim out of quarantine, by the customer who proved ownership.
    case claim
    /// A task for Apple: information that the server sent to Apple.
    case appleTask = "task"
    /// A row of a file that a shop moves in with.
    case imported = "import"
}

/// The source of a transaction, who submitted it, and the unverified claims beside it.
package struct PurchaseOrigin: Sendable {
    package let source: PurchaseSource
    package let caller: Caller
    package let claimedOrder: OrderID?
    /// Proves that the token is an order id of the caller, if the token names no order.
    package var tokenProof: TokenProof?
    /// The device that submitted it, as orders name it; for a plan, the device that the plan is for.
    package var device: DeviceID?
    /// The phone that submitted it, if it was named beside that device.
    package var phone: DeviceID?
    /// The network that a user sent it from (`HTTPRequest.clientNetwork`), used to share requests to Apple fairly; nil
    /// for others.
    package var network: String?
    /// The user who restores it and gets it if it has no owner.
    package var claimant: UserID?
    /// The claim that releases it from quarantine.
    package var claim: OwnershipClaim?
    /// The operator's reason.
    package var claimReason: String?
    /// The actor, if it is not a caller of the API.
    package var actor: String?
    /// For an import: the id of the order that is opened for it; nil: a random one.
    var importedOrder: OrderID?
    var isImport: Bool { source == .imported }

    package init(
        source: PurchaseSource, caller: Caller, claimedOrder: OrderID? = nil, device: DeviceID? = nil,
        claimant: UserID? = nil
    ) {
        self.source = source
        self.caller = caller
        self.claimedOrder = claimedOrder
        self.device = device
        self.claimant = claimant
    }

    /// Signed by Apple, without claims beside it.
    static func apple(_ source: PurchaseSource) -> PurchaseOrigin { PurchaseOrigin(source: source, caller: .apple) }

    /// The device whose orders may match it.
    package var submittingDevice: DeviceID? { phone ?? device }

    /// The customer whom a backend or an operator names.
    var namedUser: UserID? {
        guard case .backend(_, let named) = caller else { return nil }
        return named ?? claimant ?? claim?.user
    }

    /// The customer who probably gets the purchase, before the ledger is read.
    var declaredUser: UserID? {
        if case .user(let user) = caller { return user }
        return namedUser ?? claimant
    }

    /// The name recorded in evidence.
    package var callerName: String {
        if let actor { return actor }
        return switch caller {
        case .backend(let keyID, _): "key:\(keyID)"
        case .user(let user): "user:\(user)"
        case .apple: "apple"
        }
    }
}

/// The nonce or the app's own number of an order, and the user that the order's id commits to: the caller, or a guest
/// merged into the caller.
package struct TokenProof: Sendable {
    private let commitment: OrderIDCommitment

    package var user: UserID { commitment.user }

    package init(nonce: OrderIDNonce, user: UserID) { commitment = OrderIDCommitment(user: user, nonce: nonce) }

    package init(orderNumber: String, user: UserID) {
        commitment = OrderIDCommitment(user: user, orderNumber: orderNumber)
    }

    package func proves(_ token: OrderID) -> Bool { commitment.id == token }
}

extension PurchaseOrigin {
    /// The name under which requests to Apple are shared fairly: one for each user, including those whom a backend
    /// names.
    package var requester: SignedTransactionLookup.Requester {
        if case .backend = caller, let user = namedUser { return .init(name: "\(callerName) user:\(user)") }
        return .init(name: callerName, network: network)
    }

    package var isTrustedWithNumber: Bool {
        if case .backend = caller { return namedUser == nil }
        return false
    }

    /// The form in which the origin of a waiting proof is stored.
    package var submitter: WaitingProofTable.Submitter {
        var named: String?
        if case .backend(_, let user) = caller { named = user?.text }
        return WaitingProofTable.Submitter(
            name: callerName, namedUser: named, claimedOrder: claimedOrder, device: device, phone: phone,
            network: network)
    }

    /// Nil for a name that this program did not write.
    init?(_ submitter: WaitingProofTable.Submitter) {
        guard let caller = Caller(name: submitter.name, naming: submitter.namedUser) else { return nil }
        self.init(source: .app, caller: caller, claimedOrder: submitter.claimedOrder, device: submitter.device)
        phone = submitter.phone
        network = submitter.network
    }
}

extension Caller {
    /// Reads a caller from its name in evidence; nil for a name that this program did not write.
    package init?(name: String, naming named: String?) {
        // By bytes: a combining mark after the colon would otherwise merge with it into one character.
        let parts = name.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        switch String(decoding: parts[0], as: UTF8.self) {
        case "user": self = .user(UserID(String(decoding: parts[1], as: UTF8.self)))
        case "key":
            self = .backend(keyID: String(decoding: parts[1], as: UTF8.self), naming: named.map { UserID($0) })
        default: return nil
        }
    }
}
