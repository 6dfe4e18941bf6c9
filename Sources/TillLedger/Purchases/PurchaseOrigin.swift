import TillBilling

/// Where a transaction came from.
package enum PurchaseSource: String, Sendable {
    case app
    case notification
    case restore
    /// Apple's answer to our own question.
    case reconciliation
    /// Out of quarantine, for the customer who showed that it is theirs.
    case claim
    /// What we told Apple ourselves.
    case appleTask = "errand"
}

/// Where a transaction came from, who brought it, and what was said beside it.
package struct PurchaseOrigin: Sendable {
    package let source: PurchaseSource
    package let caller: Caller
    package let claimedOrder: OrderID?
    /// What proves that the token is an order id of the caller's, for a token that names no order.
    package var tokenProof: TokenProof?
    /// The device it came from, as orders name it.
    package var device: DeviceID?
    /// The address a user sent it from (`HTTPRequest.clientNetwork`), by which callers take turns; nil for others.
    package var network: String?
    /// Who restores it, and may have it if it has no owner.
    package var claimant: UserID?
    /// Who claims it out of quarantine.
    package var claim: OwnershipClaim?
    /// What an operator said why.
    package var claimReason: String?
    /// Who it was, if that is no caller of the API.
    package var actor: String?

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

    /// What Apple signed, without a word beside it.
    static func apple(_ source: PurchaseSource) -> PurchaseOrigin { PurchaseOrigin(source: source, caller: .apple) }

    /// The customer whom a backend or an operator names.
    var namedUser: UserID? {
        guard case .backend(_, let named) = caller else { return nil }
        return named ?? claimant ?? claim?.user
    }

    /// As it stands in evidence.
    package var callerName: String {
        if let actor { return actor }
        return switch caller {
        case .backend(let keyID, _): "key:\(keyID)"
        case .user(let user): "user:\(user)"
        case .apple: "apple"
        }
    }
}

/// The nonce of an order id, and the user that the id commits to: the caller, or a guest merged into the caller.
package struct TokenProof: Sendable {
    package let nonce: OrderIDNonce
    package let user: UserID

    package init(nonce: OrderIDNonce, user: UserID) {
        self.nonce = nonce
        self.user = user
    }

    package func proves(_ token: OrderID) -> Bool { OrderIDCommitment(user: user, nonce: nonce).id == token }
}

extension PurchaseOrigin {
    /// As whom it takes turns at Apple: one name for each user, also of those whom a backend names.
    package var asker: SignedTransactionLookup.Asker {
        if case .backend = caller, let user = namedUser { return .init(name: "\(callerName) user:\(user)") }
        return .init(name: callerName, network: network)
    }

    package var isTrustedWithNumber: Bool {
        if case .backend = caller { return namedUser == nil }
        return false
    }

    /// How the origin of a proof that waits is kept.
    package var bearer: WaitingProofTable.Bearer {
        var named: String?
        if case .backend(_, let user) = caller { named = user?.text }
        return WaitingProofTable.Bearer(
            name: callerName, namedUser: named, claimedOrder: claimedOrder, device: device, network: network)
    }

    /// Nil for a name that this program did not write.
    init?(_ bearer: WaitingProofTable.Bearer) {
        guard let caller = Caller(name: bearer.name, naming: bearer.namedUser) else { return nil }
        self.init(source: .app, caller: caller, claimedOrder: bearer.claimedOrder, device: bearer.device)
        network = bearer.network
    }
}

extension Caller {
    /// From how it stands in evidence; nil for a name that this program did not write.
    package init?(name: String, naming named: String?) {
        // By bytes: a mark that follows the colon is not a part of it.
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
