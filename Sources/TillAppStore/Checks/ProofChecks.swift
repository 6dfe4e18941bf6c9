import TillBilling
import TillCrypto
import TillJSON

/// The checks of every proof. `SignedDataVerifier` and `ProofInspection` share them, so both make the same checks. With
/// a journal, each check is recorded.
struct ProofChecks {
    let verificationPolicy: VerificationPolicy
    let recorder: VerificationRecorder?
    /// Signers with a verified chain, which are not verified again; nil verifies every certificate.
    let chains: ChainCache?
    /// Receives the signers that the checks rely on.
    let observer: SignerObserver?

    init(
        _ verificationPolicy: VerificationPolicy, recorder: VerificationRecorder? = nil, chains: ChainCache? = nil,
        observer: SignerObserver? = nil
    ) {
        self.verificationPolicy = verificationPolicy
        self.recorder = recorder
        self.chains = chains
        self.observer = observer
    }

    /// Makes one check. Every failure is thrown inside one.
    @inline(__always)
    func check<Result>(
        _ code: CheckCode, _ body: () throws(VerificationError) -> Result
    ) throws(VerificationError) -> Result {
        guard let recorder else { return try body() }
        recorder.begin(code)
        do throws(VerificationError) {
            let result = try body()
            recorder.pass()
            return result
        } catch {
            recorder.fail(error)
            throw error
        }
    }

    /// The date at which the certificates must be valid: the policy's, else the proof's own, else now.
    func date(of unverified: UnverifiedPayload, now: Instant) -> Instant {
        let (instant, source): (Instant, VerificationRecord.VerificationDate.Source) =
            if let at = verificationPolicy.at {
                (at, .policy)
            } else if let date = unverified.date {
                (date, unverified.dateSource)
            } else {
                (now, .now)
            }
        recorder?.recordDate(at: instant, from: source)
        return instant
    }

    // MARK: - Certificates

    /// The chain of a JWS header's `x5c`. The third certificate is ignored: the root must be a configured one.
    func chain(x5c: [JSONValue], at date: Instant) throws(VerificationError) -> SigningChain {
        guard verificationPolicy.testCertificates.isEmpty else { return try testChain(x5c: x5c, at: date) }
        try check(.certificateCount) { () throws(VerificationError) in
            recorder?.compare(expected: "3", found: String(x5c.count))
            guard x5c.count == 3 else { throw VerificationError(.chainLength, String(x5c.count)) }
        }
        let (leafDER, intermediateDER) = try check(.certificateEncoding) { () throws(VerificationError) in
            let texts = x5c.prefix(2).map { $0.string.flatMap { Base64.decode($0) } }
            guard let leaf = texts[0], let intermediate = texts[1] else {
                throw VerificationError(.badCertificate, "x5c is not base64", zh: "x5c 不是 base64")
            }
            return (leaf, intermediate)
        }
        var trust = try roots()
        #if PLANTED_MISTAKES
            trust = Self.presentedRoot(x5c) ?? trust
        #endif
        let (leaf, intermediate) = try check(.certificates) { () throws(VerificationError) in
            recorder?.look(at: leafDER + intermediateDER)
            guard let leaf = Certificate(der: leafDER) else {
                throw VerificationError(.badCertificate, "leaf", zh: "叶证书")
            }
            guard let intermediate = Certificate(der: intermediateDER) else {
                throw VerificationError(.badCertificate, "intermediate", zh: "中间证书")
            }
            return (leaf, intermediate)
        }
        return try chain(leaf: leaf, others: [intermediate], trust: trust, at: date)
    }

    /// The one certificate by which Xcode signs local tests: byte for byte a configured one, so its own signature and
    /// names decide nothing.
    private func testChain(x5c: [JSONValue], at date: Instant) throws(VerificationError) -> SigningChain {
        try check(.certificateCount) { () throws(VerificationError) in
            recorder?.compare(expected: "1", found: String(x5c.count))
            guard x5c.count == 1 else { throw VerificationError(.chainLength, String(x5c.count)) }
        }
        let der = try check(.certificateEncoding) { () throws(VerificationError) in
            guard let der = x5c[0].string.flatMap({ Base64.decode($0) }) else {
                throw VerificationError(.badCertificate, "x5c is not base64")
            }
            return der
        }
        let certificate = try check(.certificates) { () throws(VerificationError) in
            recorder?.look(at: der)
            guard let certificate = Certificate(der: der) else { throw VerificationError(.badCertificate, "leaf") }
            return certificate
        }
        recorder?.found(presented: [certificate])
        try check(.chain) { () throws(VerificationError) in
            guard verificationPolicy.testCertificates.contains(der) else {
                throw VerificationError(
                    .chainUntrusted, "not the configured test certificate", zh: "不是所配置的测试证书")
            }
        }
        let chain = SigningChain(testCertificate: certificate)
        try check(.validity) { () throws(VerificationError) in
            recorder?.compare(
                expected:
                    "\(Instant(seconds: chain.notBefore).rfc3339) – \(Instant(seconds: chain.notAfter).rfc3339)",
                found: date.rfc3339)
            if let error = chain.error(at: date.seconds) { throw error }
        }
        return chain
    }

    #if PLANTED_MISTAKES
        /// The root that the planted mistake `acceptsAnySignature` trusts: the one the token itself contains;
        /// otherwise nil.
        private static func presentedRoot(_ x5c: [JSONValue]) -> TrustStore? {
            guard PlantedMistake.acceptsAnySignature.isPlanted, let text = x5c[2].string,
                let der = Base64.decode(text),
                let root = Certificate(der: der)
            else { return nil }
            return TrustStore(roots: [root], strict: false)
        }
    #endif

    func roots() throws(VerificationError) -> TrustStore {
        try check(.roots) { () throws(VerificationError) in
            guard let trust = verificationPolicy.trust else { throw VerificationError(.badRoot) }
            return trust
        }
    }

    /// The chain that Apple's signatures require: leaf, Worldwide Developer Relations, root (facts/jws §2,
    /// facts/pkcs7-receipt §5.1).
    func chain(
        leaf: Certificate, others: [Certificate], trust: TrustStore, at date: Instant
    ) throws(VerificationError) -> SigningChain {
        recorder?.found(presented: [leaf] + others)
        let certificates = try path(leaf: leaf, others: others, trust: trust, at: date)
        try check(.leafMarker) { () throws(VerificationError) in
            recorder?.look(at: leaf.der)
            recorder?.compare(expected: SigningChain.leafMarker, found: nil)
            guard leaf.hasExtension(SigningChain.leafMarker) else {
                throw VerificationError(.missingOID, "leaf", zh: "叶证书")
            }
        }
        if verificationPolicy.requiresIntermediateMarker {
            try check(.intermediateMarker) { () throws(VerificationError) in
                recorder?.compare(expected: SigningChain.intermediateMarker, found: nil)
                guard certificates.count > 1, certificates[1].hasExtension(SigningChain.intermediateMarker) else {
                    throw VerificationError(.missingOID, "intermediate", zh: "中间证书")
                }
            }
        }
        return try check(.chainLength) { () throws(VerificationError) in
            recorder?.compare(expected: "3", found: String(certificates.count))
            guard let chain = SigningChain(certificates) else {
                throw VerificationError(
                    .chainUntrusted, "\(certificates.count) certificates", zh: "\(certificates.count) 张证书")
            }
            return chain
        }
    }

    /// OpenSSL verifies signatures and dates in one call; the record reports them as separate checks.
    private func path(
        leaf: Certificate, others: [Certificate], trust: TrustStore, at date: Instant
    ) throws(VerificationError) -> [Certificate] {
        let result = Result { () throws(VerificationError) in
            try SigningChain.path(leaf: leaf, others: others, trust: trust, at: date.seconds)
        }
        try check(.chain) { () throws(VerificationError) in
            guard case .failure(let failure) = result else { return }
            guard failure.verdict == .chainExpired else { throw failure }
            guard let recorder else { return }
            if let chain = Self.path(leaf: leaf, others: others, trust: trust) {
                recorder.found(chain: chain)
            } else {
                recorder.leaveUndecided()
            }
        }
        return try check(.validity) { () throws(VerificationError) in
            if let recorder {
                let chain = (try? result.get()) ?? [leaf] + others
                let from = chain.map(\.notBefore).max() ?? .max
                let to = chain.map(\.notAfter).min() ?? .min
                recorder.compare(
                    expected: "\(Instant(seconds: from).rfc3339) – \(Instant(seconds: to).rfc3339)",
                    found: date.rfc3339)
            }
            let chain = try result.get()
            recorder?.found(chain: chain)
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

    func checkApp(of unverified: UnverifiedPayload) throws(VerificationError) {
        guard unverified.hasApp, let expected = verificationPolicy.bundleID else { return }
        try check(.app) { () throws(VerificationError) in
            recorder?.compare(expected: expected, found: unverified.bundleID)
            guard unverified.bundleID == expected else { throw VerificationError(.wrongApp, "bundleId") }
        }
    }

    func subject(of unverified: UnverifiedPayload) throws(VerificationError) {
        try checkApp(of: unverified)
        if unverified.hasAppNumber, let expected = verificationPolicy.appAppleID,
            verificationPolicy.environment.requiresAppNumber(of: unverified.environment)
        {
            try check(.appNumber) { () throws(VerificationError) in
                recorder?.compare(expected: String(expected), found: unverified.appAppleID.map { String($0) })
                guard unverified.appAppleID == expected else { throw VerificationError(.wrongApp, "appAppleId") }
            }
        }
        if case .any = verificationPolicy.environment { return }
        try check(.environment) { () throws(VerificationError) in
            recorder?.compare(expected: verificationPolicy.environment.text, found: unverified.environment)
            guard verificationPolicy.environment.accepts(unverified.environment) else {
                throw wrongEnvironment(unverified)
            }
        }
    }

    /// Checks the subject, and accepts only the environments that Till knows.
    func environment(of unverified: UnverifiedPayload) throws(VerificationError) -> StoreEnvironment {
        try subject(of: unverified)
        guard let environment = unverified.environment.flatMap(StoreEnvironment.init(rawValue:)) else {
            throw wrongEnvironment(unverified)
        }
        return environment
    }

    private func wrongEnvironment(_ unverified: UnverifiedPayload) -> VerificationError {
        guard let text = unverified.environment else { return VerificationError(.wrongEnvironment, "none", zh: "无") }
        return VerificationError(.wrongEnvironment, bounded(text))
    }
}
