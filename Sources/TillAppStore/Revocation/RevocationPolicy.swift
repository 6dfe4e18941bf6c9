import TillBilling
import TillCrypto

/// Whether Apple is asked if the certificates behind a proof were revoked, and what counts while Apple says nothing
/// (facts/jws §2 step 8, §8).
public enum RevocationPolicy: String, Sendable, CaseIterable {
    /// Nobody is asked: proofs are judged by themselves, offline.
    case off
    /// Asked; while there is no answer, a proof counts on its signature (U7).
    case soft
    /// Asked; while there is no answer, a proof has to wait. It is not refused.
    case hard
}

/// How the signers of one proof stand with those who issued their certificates.
public enum SignerStanding: Sendable, Hashable {
    case good
    /// Nothing reliable was said about some certificate; the text says about which and why, for operators.
    case unknown(String)
    /// Suspended by its authority: it may be revoked yet, or be good again.
    case onHold(String)
    /// Revoked in a way that takes this proof along; the text has the date and the reason. Final.
    case revoked(String)

    /// How much there is to worry, to find the worst of several.
    private var weight: Int {
        switch self {
        case .good: 0
        case .unknown: 1
        case .onHold: 2
        case .revoked: 3
        }
    }

    func worse(of other: SignerStanding) -> SignerStanding { other.weight > weight ? other : self }
}

extension CRLReason {
    /// Whether the reason itself says that the key stayed in the right hands, so that the date a signer wrote beside
    /// its signature can be believed (decisions/0015). No reason given says nothing of the kind.
    var leavesKeySound: Bool {
        switch self {
        case .affiliationChanged, .superseded, .cessationOfOperation, .privilegeWithdrawn, .certificateHold: true
        default: false
        }
    }
}

extension SignerStanding {
    /// What a revocation means for a proof.
    ///
    /// - Parameter signedAt: as the signer says; nil if it does not, and then nothing can be older than the revocation.
    init(
        _ certificate: Certificate, revokedAt seconds: Int64, reason: CRLReason?, signedAt: Instant?
    ) {
        let date = Instant(seconds: seconds)
        if let reason, reason.leavesKeySound, let signedAt, signedAt < date {
            self = .good
            return
        }
        let cause = reason?.name ?? "no reason given"
        if reason == .certificateHold {
            self = .onHold("\(certificate.subject): on hold since \(date.rfc3339)")
        } else {
            self = .revoked("\(certificate.subject): revoked at \(date.rfc3339), \(cause)")
        }
    }
}
