import TillAppStore
import TillCrypto

/// Kinds of damage, each with its possible verdicts.
enum HostileFamily: String, CaseIterable, Sendable {
    case tokenBits = "token-bits"
    case certificateBits = "certificate-bits"
    case swappedParts = "swapped-parts"
    case foreignKey = "foreign-key"
    case nestedTokens = "nested-tokens"
    case nestedPayloads = "nested-payloads"
    case algorithms
    case headerExtensions = "header-extensions"
    case certificateLists = "certificate-lists"
    case chains
    case dates
    case signatures
    case tokenText = "token-text"
    case jsonGrammar = "json-grammar"
    case jsonTypes = "json-types"
    case jsonDuplicates = "json-duplicates"
    case jsonMissing = "json-missing"
    case receiptBits = "receipt-bits"
    case receiptLengths = "receipt-lengths"
    case receiptStructure = "receipt-structure"
    case receiptChains = "receipt-chains"
    case receiptContent = "receipt-content"
    case receiptText = "receipt-text"
    case oldStyle = "old-style"
    case rubbish
    /// Changes that no rule checks, or that have the same meaning: accepted, with exactly the same content.
    case harmless
    /// Changes in unsigned and untrusted parts of a container: refused, or accepted with the same content.
    case unsignedParts = "unsigned-parts"
    /// Unusual, signed by the genuine chain, and with one meaning that the case states.
    case oneMeaning = "one-meaning"

    /// The possible results of a case of this family.
    enum Ending {
        case refused(Set<Verdict>)
        case same
        case refusedOrSame(Set<Verdict>)
        case stated
    }

    private static let chainVerdicts: Set<Verdict> = [.badCertificate, .chainUntrusted, .chainExpired]

    /// The table of families and their results.
    var ending: Ending {
        switch self {
        case .tokenBits:
            .refused(Self.chainVerdicts.union([.malformed, .missingX5C, .chainLength, .badSignature, .missingOID]))
        case .certificateBits: .refused(Self.chainVerdicts)
        case .swappedParts: .refused([.badSignature, .chainUntrusted, .malformed])
        case .foreignKey: .refused([.badSignature])
        case .nestedTokens:
            .refused(
                Self.chainVerdicts.union([
                    .malformed, .missingX5C, .chainLength, .missingOID, .badSignature, .wrongApp, .wrongEnvironment,
                ]))
        case .nestedPayloads: .refused([.malformed, .chainExpired, .wrongApp, .wrongEnvironment])
        case .algorithms: .refused([.malformed, .badSignature])
        case .headerExtensions: .refused([.malformed, .missingX5C, .badSignature])
        case .certificateLists:
            .refused([.missingX5C, .chainLength, .badCertificate, .chainUntrusted, .missingOID, .badSignature])
        case .chains: .refused(Self.chainVerdicts.union([.missingOID, .badSignature]))
        case .dates: .refused([.malformed, .chainExpired])
        case .signatures: .refused([.badSignature, .malformed])
        case .tokenText: .refused([.malformed, .badSignature])
        case .jsonGrammar, .jsonTypes, .jsonDuplicates: .refused([.malformed])
        case .jsonMissing: .refused([.malformed, .wrongApp, .wrongEnvironment])
        case .receiptBits, .receiptLengths: .refused(Self.chainVerdicts.union([.malformed, .badSignature]))
        case .receiptStructure:
            .refused(Self.chainVerdicts.union([.malformed, .badSignature]))
        case .receiptChains: .refused(Self.chainVerdicts.union([.missingOID, .badSignature]))
        case .receiptContent: .refused([.malformed, .wrongApp, .wrongEnvironment, .chainExpired])
        case .receiptText: .refused([.malformed, .badSignature, .badCertificate, .chainUntrusted])
        case .oldStyle: .refused([])
        case .rubbish: .refused([.malformed])
        case .harmless: .same
        case .unsignedParts: .refusedOrSame(Self.chainVerdicts.union([.malformed, .badSignature]))
        case .oneMeaning: .stated
        }
    }

    /// Whether an inspection may accept the proof. An inspection shows any payload that Apple's key signed, without the
    /// fields that processing needs. An inspection can't lead to a grant.
    var mayPassInspection: Bool {
        switch self {
        case .jsonTypes, .jsonMissing, .dates, .nestedPayloads, .harmless, .unsignedParts, .oneMeaning: true
        default: false
        }
    }

    /// The least number of distinct members of each family, at the usual size of the corpus.
    var leastCount: Int {
        switch self {
        case .tokenBits: 1_000
        case .certificateBits: 400
        case .swappedParts: 150
        case .foreignKey: 30
        case .nestedTokens: 120
        case .nestedPayloads: 30
        case .algorithms: 250
        case .headerExtensions: 30
        case .certificateLists: 400
        case .chains: 30
        case .dates: 60
        case .signatures: 300
        case .tokenText: 150
        case .jsonGrammar: 60
        case .jsonTypes: 200
        case .jsonDuplicates: 100
        case .jsonMissing: 20
        case .receiptBits: 700
        case .receiptLengths: 400
        case .receiptStructure: 50
        case .receiptChains: 12
        case .receiptContent: 60
        case .receiptText: 30
        case .oldStyle: 25
        case .rubbish: 150
        case .harmless: 140
        case .unsignedParts: 100
        case .oneMeaning: 15
        }
    }
}

/// One proof of the corpus.
struct HostileCase: Sendable {
    let family: HostileFamily
    /// The good proof it was made from.
    let base: GoodProof
    /// A description of the damage.
    let harm: String
    let bytes: [UInt8]
    /// The one verdict, if the family's table allows several; nil uses the table.
    var verdict: Verdict?
    /// The content that an accepted case of `oneMeaning` must have; nil means that it must be refused.
    var meaning: String?
    let sha256: [UInt8]

    var kind: ProofKind { base.kind }
}

/// The cases of all families. A repeated case, and one that equals a good proof, is not added.
struct HostileCorpus {
    /// Multiplies the number of random cases; listed cases stay.
    let scale: Int
    let seed: UInt64
    let authority: CorpusAuthority
    let good: [String: GoodProof]
    private(set) var cases: [HostileCase] = []
    private var seen: Set<[UInt8]> = []

    init(seed: UInt64, scale: Int = 1) {
        self.seed = seed
        self.scale = scale
        authority = CorpusAuthority("corpus \(seed)")
        let proofs = authority.goodProofs()
        good = Dictionary(uniqueKeysWithValues: proofs.map { ($0.id, $0) })
        for proof in proofs { seen.insert(Digest.sha256.hash(proof.bytes)) }
        addTokenBits()
        addCertificateBits()
        addSwappedParts()
        addForeignKeys()
        addAlgorithms()
        addHeaderExtensions()
        addCertificateLists()
        addChains()
        addDates()
        addSignatures()
        addTokenText()
        addJSON()
        addReceiptBits()
        addReceiptLengths()
        addReceiptStructure()
        addReceiptChains()
        addReceiptContent()
        addReceiptText()
        addOldStyle()
        addRubbish()
        // Last, because it nests the proofs of the other families.
        addNestedTokens()
    }

    /// - Parameter base: the id of a good proof.
    mutating func add(
        _ family: HostileFamily, _ base: String, _ harm: String, _ bytes: [UInt8], _ verdict: Verdict? = nil,
        meaning: String? = nil
    ) {
        guard let proof = good[base] else { preconditionFailure("no good proof is called \(base)") }
        let digest = Digest.sha256.hash(bytes)
        guard seen.insert(digest).inserted else { return }
        cases.append(
            HostileCase(
                family: family, base: proof, harm: harm, bytes: bytes, verdict: verdict, meaning: meaning,
                sha256: digest))
    }

    /// Every family has its own random stream, so that a change in one leaves the others unchanged.
    func generator(_ family: HostileFamily) -> SeededGenerator {
        let mixed = family.rawValue.utf8.reduce(seed ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return SeededGenerator(state: mixed)
    }

    func bytes(_ base: String) -> [UInt8] { good[base]?.bytes ?? [] }

    static let tokenBases = ["transaction", "renewal", "app-transaction", "notification"]
}
