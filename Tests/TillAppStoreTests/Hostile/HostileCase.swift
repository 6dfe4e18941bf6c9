import TillAppStore
import TillCrypto

/// Kinds of harm, each with the verdicts that may answer it.
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
    /// Changes that the rules do not look at, or that mean the same: accepted, with exactly the same content.
    case harmless
    /// Changes in parts of a container that nobody signed and nobody believes: refused, or the same content.
    case unsignedParts = "unsigned-parts"
    /// Signed by the genuine chain, odd, and with one meaning that is stated beside it.
    case oneMeaning = "one-meaning"

    /// What a case of this family may end as.
    enum Ending {
        case refused(Set<Verdict>)
        case same
        case refusedOrSame(Set<Verdict>)
        case stated
    }

    private static let chainVerdicts: Set<Verdict> = [.badCertificate, .chainUntrusted, .chainExpired]

    /// The table: which family is answered how.
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

    /// Whether an inspection, which shows any payload that Apple's key signed without asking what a settlement needs,
    /// may call the proof good. Nothing can be granted on an inspection.
    var mayPassInspection: Bool {
        switch self {
        case .jsonTypes, .jsonMissing, .dates, .nestedPayloads, .harmless, .unsignedParts, .oneMeaning: true
        default: false
        }
    }

    /// As many distinct members as each family has at least, at the usual size of the corpus.
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
    /// What was done to it.
    let harm: String
    let bytes: [UInt8]
    /// The one verdict, where the family's table allows several; nil leaves it at the table.
    var verdict: Verdict?
    /// What is accepted must say this, for cases of `oneMeaning`; nil there means refused.
    var meaning: String?
    let sha256: [UInt8]

    var kind: ProofKind { base.kind }
}

/// Cases as families hand them in: what is not new, or not bad, does not count.
struct HostileCorpus {
    /// Multiplies what is drawn at random; what is listed stays.
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
        // Last, for it nests what the others made.
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

    /// Every family draws from a stream of its own, so that a change in one leaves the others as they were.
    func generator(_ family: HostileFamily) -> SeededGenerator {
        let mixed = family.rawValue.utf8.reduce(seed ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return SeededGenerator(state: mixed)
    }

    func bytes(_ base: String) -> [UInt8] { good[base]?.bytes ?? [] }

    static let tokenBases = ["transaction", "renewal", "app-transaction", "notification"]
}
