import TillBilling
import TillCrypto
import TillSQL

/// The issuer's keys and certificates, and the key that API callers sign with, kept in the store's own database: one
/// file is the whole state, and only its owner can read it.
enum IdentityTable {
    /// The issuer as it was stored; nil in a new database.
    static func issuer(_ session: any Connection) throws -> Issuer? {
        var stored: [Issuer.Name: (key: PrivateKey, certificate: [UInt8])] = [:]
        let rows = try session.query("SELECT name, private_key, certificate FROM identities", []) { row in
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

    static func store(_ issuer: Issuer, _ session: any Connection) throws {
        for (name, identity) in issuer.identities {
            try session.execute(
                "INSERT INTO identities (name, private_key, certificate) VALUES (?, ?, ?)",
                [.text(name.rawValue), .text(try identity.key.pem()), .blob(identity.chain.first ?? [])])
        }
    }

    private static let apiKeyName = "apiKey"

    static func apiKey(_ session: any Connection) throws -> PrivateKey? {
        let pem = try session.first(
            "SELECT private_key FROM identities WHERE name = ?", [.text(apiKeyName)]
        ) { $0.text("private_key") }
        return try pem.map { try PrivateKey(pem: $0) }
    }

    static func store(apiKey: PrivateKey, _ session: any Connection) throws {
        try session.execute(
            "INSERT INTO identities (name, private_key) VALUES (?, ?)",
            [.text(apiKeyName), .text(try apiKey.pem())])
    }
}

extension Issuer.Name {
    /// Whose certificates stand above this one's, beginning with its own.
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
