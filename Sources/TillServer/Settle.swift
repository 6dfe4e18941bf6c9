import TillAppStore
import TillBilling
import TillStorage

/// The one place where money becomes goods. Three doors lead here: an app's proof, Apple's notification, and Apple's
/// answer to our own question; each brings a `VerifiedTransaction`, which only the verifier can make. Facts are loaded,
/// `Settlement` decides, and the decision is carried out, all in one commit (DESIGN §4, invariant 2).
struct Settle: Sendable {
    let database: any Database
    let catalog: Catalog
    let clock: Server.Clock
    let entropy: Server.Entropy

    enum Door: String, Sendable {
        case app
        case notification
        /// Apple's answer to our own question.
        case reconciliation
    }

    /// Through which door a transaction came, brought by whom, with what said beside it.
    struct Origin: Sendable {
        let door: Door
        let caller: Caller
        let claimedOrder: OrderID?

        /// As it stands in evidence.
        var callerName: String {
            switch caller {
            case .backend(let keyID, _): "key:\(keyID)"
            case .user(let user): "user:\(user)"
            case .apple: "apple"
            }
        }
    }

    /// The signed bytes, as they came.
    struct Proof: Sendable {
        let kind: ProofTable.Kind
        let bytes: [UInt8]
        /// It was accepted on its signature, while nobody could say whether its signer's certificate was revoked (U7).
        var isUnderDoubt = false
    }

    enum Outcome: Sendable {
        case granted(Grant)
        case alreadyGranted(Grant)
        case revoked(Grant?)
        case quarantined(QuarantineReason)
    }

    func callAsFunction(_ verified: VerifiedTransaction, proof: Proof, origin: Origin) async throws -> Outcome {
        let transaction = PaidTransaction(verified)
        let product = catalog[transaction.productID]
        let grantID = UniqueID(random: entropy(16))
        let now = clock()
        return try await database.write { session in
            var books = SettlementBooks(
                session: session, transaction: transaction, proof: proof, origin: origin, now: now)
            let facts = try books.load(product: product)
            let settlement = Settlement(facts)
            return try books.carryOut(settlement, facts, freshGrantID: grantID) { UniqueID(random: entropy(16)) }
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

extension PaidTransaction {
    /// What settling needs of what Apple signed.
    init(_ verified: VerifiedTransaction) {
        let token: AppAccountToken? =
            if let order = verified.appAccountToken {
                .order(order)
            } else if verified.appAccountTokenText?.isEmpty == false {
                .unreadable
            } else {
                nil
            }
        self.init(
            id: verified.id, originalID: verified.originalID, productID: verified.productID,
            quantity: verified.quantity, environment: verified.environment, token: token,
            purchasedAt: verified.purchaseDate, signedAt: verified.signedDate, revokedAt: verified.revocationDate,
            isRenewal: verified.isRenewal, isFromReceipt: verified.source == .receipt, price: verified.price,
            terms: TransactionTerms(verified))
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
        revocationType = verified.revocationType?.rawValue
        revocationPercentage = verified.revocationPercentage
    }
}
