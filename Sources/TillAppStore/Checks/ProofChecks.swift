import TillBilling
import TillCrypto
import TillJSON

/// The checks of every proof. `SignedDataVerifier` and `ProofInspection` share them, so both make the same checks. With
/// a journal, each check is recorded.
struct ProofChecks {
    let demands: ProofDemands
    let journal: VerificationJournal?
    /// Signers with a verified chain, which are not verified again; nil verifies every certificate.
    let chains: ChainCache?
    /// Receives the signers that the checks rely on.
    let witness: SignerWitness?

    init(
        _ demands: ProofDemands, journal: VerificationJournal? = nil, chains: ChainCache? = nil,
        witness: SignerWitness? = nil
    ) {
        self.demands = demands
        self.journal = journal
        self.chains = chains
        self.witness = witness
    }

    /// Makes one check. Every failure is thrown inside one.
    @inline(__always)
    func check<Result>(
        _ code: CheckCode, _ body: () throws(VerificationFailure) -> Result
    ) throws(VerificationFailure) -> Result {
        guard let journal else { return try body() }
        journal.begin(code)
        do throws(VerificationFailure) {
            let result = try body()
            journal.pass()
            return result
        } catch {
            journal.fail(error)
            throw error
        }
    }

    /// The date at which the certificates must be valid: the policy's, else the proof's own, else now.
    func date(of claims: ProofClaims, now: Instant) -> Instant {
        let (instant, source): (Instant, VerificationRecord.JudgedAt.Source) =
            if let at = demands.at {
                (at, .policy)
            } else if let date = claims.date {
                (date, claims.dateSource)
            } else {
                (now, .now)
            }
        journal?.judge(at: instant, from: source)
        return instant
    }

    // MARK: - Certificates

    /// The chain of a JWS header's `x5c`. The third certificate is ignored: the root must be a configured one.
    func chain(x5c: [JSONValue], at date: Instant) throws(VerificationFailure) -> SigningChain {
        try check(.certificateCount) { () throws(VerificationFailure) in
            journal?.compare(expected: "3", found: String(x5c.count))
            guard x5c.count == 3 else { throw VerificationFailure(.chainLength, String(x5c.count)) }
        }
        let (leafDER, intermediateDER) = try check(.certificateEncoding) { () throws(VerificationFailure) in
            let texts = x5c.prefix(2).map { $0.string.flatMap { Base64.decode($0) } }
            guard let leaf = texts[0], let intermediate = texts[1] else {
                throw VerificationFailure(.badCertificate, "x5c is not base64")
            }
            return (leaf, intermediate)
        }
        var trust = try roots()
        #if PLANTED_MISTAKES
            trust = Self.presentedRoot(x5c) ?? trust
        #endif
        let (leaf, intermediate) = try check(.certificates) { () throws(VerificationFailure) in
            journal?.look(at: leafDER + intermediateDER)
            guard let leaf = Certificate(der: leafDER) else { throw VerificationFailure(.badCertificate, "leaf") }
            guard let intermediate = Certificate(der: intermediateDER) else {
                throw VerificationFailure(.badCertificate, "intermediate")
            }
            return (leaf, intermediate)
        }
        return try chain(leaf: leaf, others: [intermediate], trust: trust, at: date)
    }

    #if PLANTED_MISTAKES
        /// The root that the planted mistake `believesAnySignature` trusts: the one the token itself contains;
        /// otherwise nil.
        private static func presentedRoot(_ x5c: [JSONValue]) -> TrustStore? {
            guard PlantedMistake.believesAnySignature.isPlanted, let text = x5c[2].string,
                let der = Base64.decode(text),
                let root = Certificate(der: der)
            else { return nil }
            return TrustStore(roots: [root], strict: false)
        }
    #endif

    func roots() throws(VerificationFailure) -> TrustStore {
        try check(.roots) { () throws(VerificationFailure) in
            guard let trust = demands.trust else { throw VerificationFailure(.badRoot) }
            return trust
        }
    }

    /// The chain that Apple's signatures require: leaf, Worldwide Developer Relations, root (facts/jws §2,
    /// facts/pkcs7-receipt §5.1).
    func chain(
        leaf: Certificate, others: [Certificate], trust: TrustStore, at date: Instant
    ) throws(VerificationFailure) -> SigningChain {
        journal?.found(presented: [leaf] + others)
        let certificates = try path(leaf: leaf, others: others, trust: trust, at: date)
        try check(.leafMarker) { () throws(VerificationFailure) in
            journal?.look(at: leaf.der)
            journal?.compare(expected: SigningChain.leafMarker, found: nil)
            guard leaf.hasExtension(SigningChain.leafMarker) else { throw VerificationFailure(.missingOID, "leaf") }
        }
        if demands.requiresIntermediateMarker {
            try check(.intermediateMarker) { () throws(VerificationFailure) in
                journal?.compare(expected: SigningChain.intermediateMarker, found: nil)
                guard certificates.count > 1, certificates[1].hasExtension(SigningChain.intermediateMarker) else {
                    throw VerificationFailure(.missingOID, "intermediate")
                }
            }
        }
        return try check(.chainLength) { () throws(VerificationFailure) in
            journal?.compare(expected: "3", found: String(certificates.count))
            guard let chain = SigningChain(certificates) else {
                throw VerificationFailure(.chainUntrusted, "\(certificates.count) certificates")
            }
            return chain
        }
    }

    /// OpenSSL verifies signatures and dates in one call; the record reports them as separate checks.
    private func path(
        leaf: Certificate, others: [Certificate], trust: TrustStore, at date: Instant
    ) throws(VerificationFailure) -> [Certificate] {
        let judged = Result { () throws(VerificationFailure) in
            try SigningChain.path(leaf: leaf, others: others, trust: trust, at: date.seconds)
        }
        try check(.chain) { () throws(VerificationFailure) in
            guard case .failure(let failure) = judged else { return }
            guard failure.verdict == .chainExpired else { throw failure }
            guard let journal else { return }
            if let chain = Self.path(leaf: leaf, others: others, trust: trust) {
                journal.found(chain: chain)
            } else {
                journal.leaveUndecided()
            }
        }
        return try check(.validity) { () throws(VerificationFailure) in
            if let journal {
                let chain = (try? judged.get()) ?? [leaf] + others
                let from = chain.map(\.notBefore).max() ?? .max
                let to = chain.map(\.notAfter).min() ?? .min
                journal.compare(
                    expected: "\(Instant(seconds: from).rfc3339) – \(Instant(seconds: to).rfc3339)",
                    found: date.rfc3339)
            }
            let chain = try judged.get()
            journal?.found(chain: chain)
            return chain
        }
    }

    /// The chain at a moment when all its certificates are valid; nil if there is no such moment, or no chain.
    private static func path(leaf: Certificate, others: [Certificate], trust: TrustStore) -> [Certificate]? {
        let certificates = [leaf] + others
        guard let from = certificates.map(\.notBefore).max(), let to = certificates.map(\.notAfter).min(), from < to
        else { return nil }
        return try? SigningChain.path(leaf: leaf, others: others, trust: trust, at: from)
    }

    // MARK: - App and environment, in the order in which Apple's libraries report them.

    func checkApp(of claims: ProofClaims) throws(VerificationFailure) {
        guard claims.statesApp, let expected = demands.bundleID else { return }
        try check(.app) { () throws(VerificationFailure) in
            journal?.compare(expected: expected, found: claims.bundleID)
            guard claims.bundleID == expected else { throw VerificationFailure(.wrongApp, "bundleId") }
        }
    }

    func subject(of claims: ProofClaims) throws(VerificationFailure) {
        try checkApp(of: claims)
        if claims.statesAppNumber, let expected = demands.appAppleID,
            demands.environment.asksForAppNumber(of: claims.environment)
        {
            try check(.appNumber) { () throws(VerificationFailure) in
                journal?.compare(expected: String(expected), found: claims.appAppleID.map { String($0) })
                guard claims.appAppleID == expected else { throw VerificationFailure(.wrongApp, "appAppleId") }
            }
        }
        if case .unasked = demands.environment { return }
        try check(.environment) { () throws(VerificationFailure) in
            journal?.compare(expected: demands.environment.words, found: claims.environment)
            guard demands.environment.accepts(claims.environment) else {
                throw VerificationFailure(.wrongEnvironment, claims.environment.map(bounded) ?? "none")
            }
        }
    }

    /// Checks the subject, and accepts only Apple's two environments.
    func environment(of claims: ProofClaims) throws(VerificationFailure) -> Environment {
        try subject(of: claims)
        guard let environment = claims.environment.flatMap(Environment.init(rawValue:)) else {
            throw VerificationFailure(.wrongEnvironment, claims.environment.map(bounded) ?? "none")
        }
        return environment
    }
}
