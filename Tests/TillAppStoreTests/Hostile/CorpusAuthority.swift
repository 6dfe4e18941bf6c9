import TillBilling
import TillCrypto
import TillJSON

/// The signers of the corpus: the tests' own genuine Apple, a second one with an untrusted root, and the good proofs
/// that the corpus damages. The label decides all of it.
struct CorpusAuthority: Sendable {
    let root, intermediate, leaf: HandmadeCertificate
    /// A second signer under the same intermediate.
    let secondLeaf: HandmadeCertificate
    let foreignRoot, foreignIntermediate, foreignLeaf: HandmadeCertificate
    /// The signers of receipts: RSA.
    let receiptRoot, receiptIntermediate, receiptLeaf: HandmadeCertificate
    let foreignReceiptRoot, foreignReceiptIntermediate, foreignReceiptLeaf: HandmadeCertificate

    init(_ label: String) {
        func chain(_ prefix: String, _ kind: SeededKey.Kind, _ key: String) -> [HandmadeCertificate] {
            var rootTemplate = HandmadeCertificate.Template("\(prefix) Root")
            rootTemplate.isCA = true
            let root = HandmadeCertificate(rootTemplate, key: SeededKey(kind, "\(label) \(key) root"))
            var middleTemplate = HandmadeCertificate.Template(
                "\(prefix) Intermediate", markers: [HandmadeCertificate.intermediateMarker])
            middleTemplate.isCA = true
            middleTemplate.pathLength = 0
            let middle = HandmadeCertificate(
                middleTemplate, key: SeededKey(kind, "\(label) \(key) middle"), issuer: root)
            let leaf = HandmadeCertificate(
                HandmadeCertificate.Template("\(prefix) Leaf", markers: [HandmadeCertificate.leafMarker]),
                key: SeededKey(kind, "\(label) \(key) leaf"), issuer: middle)
            return [root, middle, leaf]
        }
        let tokens = chain("Corpus", .p256, "token")
        (root, intermediate, leaf) = (tokens[0], tokens[1], tokens[2])
        var second = HandmadeCertificate.Template("Corpus Leaf 2", markers: [HandmadeCertificate.leafMarker])
        second.serial = [0x12]
        secondLeaf = HandmadeCertificate(second, key: SeededKey(.p256, "\(label) leaf 2"), issuer: tokens[1])
        let foreign = chain("Corpus", .p256, "foreign token")
        (foreignRoot, foreignIntermediate, foreignLeaf) = (foreign[0], foreign[1], foreign[2])
        let receipts = chain("Corpus Receipt", .rsa, "receipt")
        (receiptRoot, receiptIntermediate, receiptLeaf) = (receipts[0], receipts[1], receipts[2])
        let foreignReceipts = chain("Corpus Receipt", .rsa, "foreign receipt")
        (foreignReceiptRoot, foreignReceiptIntermediate, foreignReceiptLeaf) =
            (foreignReceipts[0], foreignReceipts[1], foreignReceipts[2])
    }

    var roots: [[UInt8]] { [root.der, receiptRoot.der] }
    var chain: [[UInt8]] { [leaf.der, intermediate.der, root.der] }

    // MARK: Tokens

    func header(_ x5c: [[UInt8]]? = nil, alg: JSONValue = "ES256", _ more: [String: JSONValue] = [:]) -> [UInt8] {
        var members = more
        members["alg"] = alg
        members["x5c"] = .array((x5c ?? chain).map { .string(Base64.encode($0)) })
        return Array(JSONValue.object(members).encoded().utf8)
    }

    static func join(_ header: [UInt8], _ payload: [UInt8], _ signature: [UInt8]) -> [UInt8] {
        let text = [header, payload, signature].map { Base64.encode($0, .url) }.joined(separator: ".")
        return Array(text.utf8)
    }

    /// - Parameter key: the signing key; the genuine leaf's if nil.
    func token(header: [UInt8]? = nil, payload: [UInt8], by key: SeededKey? = nil) -> [UInt8] {
        let header = header ?? self.header()
        let input = Base64.encode(header, .url) + "." + Base64.encode(payload, .url)
        return Self.join(header, payload, (key ?? leaf.key).es256(Array(input.utf8)))
    }

    func token(_ payload: JSONValue) -> [UInt8] { token(payload: Array(payload.encoded().utf8)) }

    // MARK: Receipts

    func receipt(_ content: [UInt8] = CorpusContent.sound) -> HandmadeReceipt {
        HandmadeReceipt(
            content: content, signer: receiptLeaf,
            certificates: [receiptLeaf.der, receiptIntermediate.der, receiptRoot.der])
    }

    // MARK: Good proofs

    func goodProofs() -> [GoodProof] {
        let transaction = TestPayloads.transaction()
        let renewal = TestPayloads.renewal()
        let nested: [String: JSONValue?] = [
            "signedTransactionInfo": .string(String(decoding: token(transaction), as: UTF8.self)),
            "signedRenewalInfo": .string(String(decoding: token(renewal), as: UTF8.self)),
        ]
        var attributes = receipt()
        attributes.attributes = .sound
        var sha1 = receipt()
        sha1.digest = "sha1"
        let der = receipt().der
        return [
            GoodProof("transaction", .transaction, token(transaction)),
            GoodProof("renewal", .renewal, token(renewal)),
            GoodProof("app-transaction", .appTransaction, token(TestPayloads.appTransaction())),
            GoodProof("notification", .notification, token(TestPayloads.notification(data: nested))),
            GoodProof("receipt-sha256", .receipt, der),
            GoodProof("receipt-sha1", .receipt, sha1.der),
            GoodProof("receipt-attributes", .receipt, attributes.der),
            GoodProof("receipt-ber", .receipt, Relengthened.indefinite(der, maximumDepth: 3)),
            GoodProof("receipt-text", .receiptText, Array(Base64.encode(der).utf8)),
        ]
    }
}

/// A proof that must be accepted; damaged copies are compared with it.
struct GoodProof: Sendable {
    let id: String
    let kind: ProofKind
    let bytes: [UInt8]

    init(_ id: String, _ kind: ProofKind, _ bytes: [UInt8]) {
        self.id = id
        self.kind = kind
        self.bytes = bytes
    }
}

/// The entry of the verifier that a proof is for.
enum ProofKind: String, CaseIterable, Sendable {
    case transaction, renewal, appTransaction, notification
    /// Octets of a PKCS#7 receipt.
    case receipt
    /// A receipt in base64, as clients post it.
    case receiptText
    /// NeXTSTEP text, which only an inspection reads.
    case oldStyle

    var isToken: Bool { [.transaction, .renewal, .appTransaction, .notification].contains(self) }
}

/// Contents of receipts in strict DER.
enum CorpusContent {
    static func attribute(_ type: Int64, _ value: [UInt8], version: Int64 = 1) -> [UInt8] {
        DERWriter.sequence(DERWriter.integer(type), DERWriter.integer(version), DERWriter.octetString(value))
    }

    static func utf8(_ type: Int64, _ text: String) -> [UInt8] { attribute(type, DERWriter.utf8String(text)) }
    static func ia5(_ type: Int64, _ text: String) -> [UInt8] { attribute(type, DERWriter.ia5String(text)) }
    static func number(_ type: Int64, _ value: Int64) -> [UInt8] { attribute(type, DERWriter.integer(value)) }
    static func set(_ attributes: [[UInt8]]) -> [UInt8] { DERWriter.value(tag: 0x31, attributes.flatMap { $0 }) }

    static let id = "2000000900000001"
    static let product = "com.example.learn.coins60"
    static let bundle = "com.example.learn"
    static let created = "2025-06-01T00:00:00Z"

    static func purchaseFields(id: String = id, product: String = product) -> [[UInt8]] {
        [
            number(1701, 2), utf8(1702, product), utf8(1703, id), utf8(1705, id),
            ia5(1704, "2025-05-31T23:59:00Z"), number(1707, 1), ia5(1708, ""), ia5(1712, ""),
        ]
    }

    static func purchase(_ fields: [[UInt8]] = purchaseFields()) -> [UInt8] { attribute(17, set(fields)) }

    static let base = [
        utf8(0, "Production"), utf8(2, bundle), utf8(3, "1"), attribute(4, [UInt8](repeating: 0xA5, count: 16)),
        ia5(12, created), purchase(),
    ]

    static let sound = DERWriter.setOf(base)
}
