import TillBilling
import TillCrypto
import TillSQL

/// Signs Apple's payloads with a root certificate of its own, whose name says so.
///
/// One root, P-384 like Apple Root CA – G3, stands above both chains, so a configuration has to trust only `GET
/// /emulator/root.cer`. It is an EC root because signed transactions are Apple's current format, and their chain then
/// has exactly Apple's key types and signature algorithms. The receipt's RSA intermediate below it differs from Apple's
/// only in its issuer, which a verifier of X.509 chains accepts.
public struct Issuer: Sendable {
    /// The names under which the store keeps the identities.
    enum Name: String, CaseIterable {
        case root
        case intermediate
        case signer
        case receiptIntermediate
        case receiptSigner
        /// Signs the receipts of single transactions, as the iTunes Store did before iOS 7. The receipt contains only
        /// its certificate, so the root itself issued it.
        case purchaseSigner
    }

    /// Apple's marker for its intermediates (facts/jws §2, step 6).
    static let intermediateMarker = "1.2.840.113635.100.6.2.1"
    /// Apple's marker for the certificates that sign receipts and transactions.
    static let signerMarker = "1.2.840.113635.100.6.11.1"

    let identities: [Name: SigningIdentity]
    private let signer: SigningIdentity
    private let receiptSigner: SigningIdentity
    let purchaseSigner: SigningIdentity
    /// The encoded header with the dot after it, in base64url: it is the same for every payload.
    private let header: [UInt8]
    /// The clock that dates payloads; nil: that of the requested endpoint.
    var clock: SkewedClock?

    init(identities: [Name: SigningIdentity]) throws(SigningError) {
        guard let signer = identities[.signer], let receiptSigner = identities[.receiptSigner],
            let purchaseSigner = identities[.purchaseSigner]
        else { throw SigningError("an issuer needs a signer, a receipt signer and a purchase signer") }
        self.identities = identities
        self.signer = signer
        self.receiptSigner = receiptSigner
        self.purchaseSigner = purchaseSigner
        let certificates = signer.chain.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",")
        let text = "{\"alg\":\"ES256\",\"x5c\":[\(certificates)]}"
        header = Array(Base64.encode(Array(text.utf8), .url).utf8) + [UInt8(ascii: ".")]
    }

    /// A new authority. Its certificates are valid from a year before `now` until longer than a store's clock can be
    /// advanced: Apple changes its signers every two years, and a test that advances by ten years would find only
    /// expired ones.
    ///
    /// - Parameter keys: PEM private keys by name, for reproducible runs; missing ones are generated.
    /// - Parameter certificates: DER certificates of these keys by name. If none is missing, none is issued.
    /// - Parameter serials: returns 16 random bytes on each call.
    public static func create(
        at now: Instant, keys: [String: String] = [:], certificates: [String: [UInt8]] = [:],
        commonName: String = "Till Emulator Root CA", serials: () -> [UInt8]
    ) throws(SigningError) -> Issuer {
        if let known = try Issuer(keys: keys, certificates: certificates) { return known }
        func key(_ name: Name, _ kind: PrivateKey.Kind) throws(SigningError) -> PrivateKey {
            guard let pem = keys[name.rawValue] else { return try .generate(kind) }
            let key = try PrivateKey(pem: pem)
            guard key.kind == kind else { throw SigningError("the key for \(name.rawValue) must be \(kind.rawValue)") }
            return key
        }
        func template(
            _ commonName: String, _ unit: String, years: ClosedRange<Int64>, _ role: CertificateTemplate.Role,
            _ markers: [String]
        ) -> CertificateTemplate {
            let year: Int64 = 365 * 86_400
            var serial = serials()
            // A positive number of sixteen bytes, whatever the random bytes are.
            serial[0] = serial[0] & 0x3F | 0x40
            return CertificateTemplate(
                subject: [("CN", commonName), ("OU", unit), ("O", "Till"), ("C", "CN")], serial: serial,
                validity: now.seconds + years.lowerBound * year...now.seconds + years.upperBound * year, role: role,
                markers: markers)
        }
        let root = try SigningIdentity.root(
            template(commonName, "Not Apple: for tests only", years: -1...150, .authority(pathLength: nil), []),
            key: try key(.root, .p384))
        let relations = "Till Emulator Developer Relations CA"
        let intermediate = try root.issue(
            template(relations, "E1", years: -1...150, .authority(pathLength: 0), [intermediateMarker]),
            key: try key(.intermediate, .p384))
        let signer = try intermediate.issue(
            template("Till Emulator ECC Receipt Signing", relations, years: -1...150, .signer, [signerMarker]),
            key: try key(.signer, .p256))
        let receiptIntermediate = try root.issue(
            template(relations, "R1", years: -1...150, .authority(pathLength: 0), [intermediateMarker]),
            key: try key(.receiptIntermediate, .rsa2048))
        let receiptSigner = try receiptIntermediate.issue(
            template("Till Emulator Receipt Signing", relations, years: -1...150, .signer, [signerMarker]),
            key: try key(.receiptSigner, .rsa2048))
        let purchaseSigner = try root.issue(
            template(
                "Till Emulator Purchase Receipt Signing", "Not Apple: for tests only", years: -1...150, .signer, []),
            key: try key(.purchaseSigner, .rsa1024))
        return try Issuer(identities: [
            .root: root, .intermediate: intermediate, .signer: signer, .receiptIntermediate: receiptIntermediate,
            .receiptSigner: receiptSigner, .purchaseSigner: purchaseSigner,
        ])
    }

    /// Nil unless there are a key and a certificate of every name.
    private init?(keys: [String: String], certificates: [String: [UInt8]]) throws(SigningError) {
        var identities: [Name: SigningIdentity] = [:]
        for name in Name.allCases {
            let chain = name.chain.compactMap { certificates[$0.rawValue] }
            guard let pem = keys[name.rawValue], chain.count == name.chain.count else { return nil }
            identities[name] = try SigningIdentity(key: try PrivateKey(pem: pem), chain: chain)
        }
        try self.init(identities: identities)
    }

    /// The private keys as PEM by name, for `create`.
    package func keys() throws(SigningError) -> [String: String] {
        var keys: [String: String] = [:]
        for (name, identity) in identities { keys[name.rawValue] = try identity.key.pem() }
        return keys
    }

    /// The certificates as DER by name, for `create`.
    package var certificates: [String: [UInt8]] {
        Dictionary(uniqueKeysWithValues: identities.map { ($0.key.rawValue, $0.value.chain.first ?? []) })
    }

    /// DER of the root certificate: all that a configuration needs to trust this issuer.
    public var rootCertificate: [UInt8] { signer.chain.last ?? [] }

    /// JWS compact serialization of a JSON payload in Apple's form: ES256 and an `x5c` of three certificates (facts/jws
    /// §1).
    public func sign(payload: [UInt8]) throws(SigningError) -> String {
        var token = header
        token.reserveCapacity(header.count + (payload.count + 2) / 3 * 4 + 1 + 86)
        Base64.append(payload, .url, to: &token)
        let signature = try signer.key.signES256(token)
        token.append(UInt8(ascii: "."))
        Base64.append(signature, .url, to: &token)
        return String(decoding: token, as: UTF8.self)
    }

    /// An app receipt with this `payload`: DER of CMS SignedData (facts/pkcs7-receipt §2).
    public func receipt(payload: [UInt8]) throws(SigningError) -> [UInt8] {
        try SignedMessageWriter.sign(payload, by: receiptSigner)
    }

    /// A forged copy of a signed payload: the same content, signed by an authority of another root with the same names
    /// and markers. Nil if `token` is no compact serialization.
    public static func forged(
        _ token: String, at now: Instant, serials: () -> [UInt8]
    ) throws(SigningError) -> String? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64.decode(parts[1], .url) else { return nil }
        return try create(at: now, serials: serials).sign(payload: payload)
    }

    /// The same for an app receipt. Nil if `receipt` is invalid.
    public static func forged(
        receipt: [UInt8], at now: Instant, serials: () -> [UInt8]
    ) throws(SigningError) -> [UInt8]? {
        guard let message = try? SignedMessage(receipt) else { return nil }
        return try create(at: now, serials: serials).receipt(payload: message.content)
    }
}

/// The issuer's keys and certificates, and the key of API callers, in the store's own database: one file holds the
/// whole state, and only its owner can read it.
enum IdentityTable {
    static let columns: Columns = "name, private_key, certificate"

    /// The stored issuer; nil in a new database.
    static func issuer(_ connection: any Connection) throws -> Issuer? {
        var stored: [Issuer.Name: (key: PrivateKey, certificate: [UInt8])] = [:]
        let rows = try connection.query("SELECT \(columns) FROM identities", []) { row in
            (row.text("name"), row.text("private_key"), row.isNull("certificate") ? nil : row.blob("certificate"))
        }
        for (text, pem, certificate) in rows {
            guard let name = Issuer.Name(rawValue: text), let certificate else { continue }
            stored[name] = (try PrivateKey(pem: pem), certificate)
        }
        guard !stored.isEmpty else { return nil }
        var identities: [Issuer.Name: SigningIdentity] = [:]
        for name in Issuer.Name.allCases {
            let chain = name.chain.compactMap { stored[$0]?.certificate }
            guard let own = stored[name], chain.count == name.chain.count else {
                throw DatabaseError(.corrupt, "the emulator's database lacks the key or a certificate of \(name)")
            }
            identities[name] = try SigningIdentity(key: own.key, chain: chain)
        }
        return try Issuer(identities: identities)
    }

    static func store(_ issuer: Issuer, _ connection: any Connection) throws {
        for (name, identity) in issuer.identities {
            try connection.execute(
                "INSERT INTO identities (\(columns)) VALUES (\(marks: 3))",
                [.text(name.rawValue), .text(try identity.key.pem()), .blob(identity.chain.first ?? [])])
        }
    }

    private static let apiKeyName = "apiKey"

    static func apiKey(_ connection: any Connection) throws -> PrivateKey? {
        let pem = try connection.first(
            "SELECT private_key FROM identities WHERE name = ?", [.text(apiKeyName)]
        ) { $0.text("private_key") }
        return try pem.map { try PrivateKey(pem: $0) }
    }

    static func store(apiKey: PrivateKey, _ connection: any Connection) throws {
        try connection.execute(
            "INSERT INTO identities (name, private_key) VALUES (?, ?)",
            [.text(apiKeyName), .text(try apiKey.pem())])
    }
}

extension Issuer.Name {
    /// The names of this certificate's chain, starting with its own.
    fileprivate var chain: [Issuer.Name] {
        switch self {
        case .root: [.root]
        case .intermediate: [.intermediate, .root]
        case .signer: [.signer, .intermediate, .root]
        case .receiptIntermediate: [.receiptIntermediate, .root]
        case .receiptSigner: [.receiptSigner, .receiptIntermediate, .root]
        case .purchaseSigner: [.purchaseSigner, .root]
        }
    }
}
