import TillAppStore
import TillCrypto

extension HostileCorpus {
    private static let base = "receipt-sha256"

    // MARK: Lengths and tags

    /// One element of a container: its place, and whether it lies in a certificate's signed part.
    private struct Node {
        let start: Int
        let content: Range<Int>
        let depth: Int
        let isInBody: Bool
    }

    private static func nodes(of bytes: [UInt8]) -> [Node] {
        var found: [Node] = []
        func visit(_ range: Range<Int>, _ depth: Int, _ isInBody: Bool) {
            for (start, content) in HandmadeDER.elements(of: bytes, in: range) {
                // Certificates are five levels down, their signed bodies six.
                let isBody = isInBody || (depth == 5 && bytes[start] == 0x30 && content.count > 150)
                found.append(Node(start: start, content: content, depth: depth, isInBody: isBody))
                if bytes[start] & 0x20 != 0 { visit(content, depth + 1, isBody) }
            }
        }
        visit(0..<bytes.count, 0, false)
        return found
    }

    /// Tags and lengths that are too large, too small or empty; and BER's alternatives to DER's encoding.
    mutating func addReceiptLengths() {
        var generator = generator(.receiptLengths)
        let receipt = bytes(Self.base)
        let grounds = grounds(of: receipt)
        let lengths: [(String, [UInt8])] = [
            ("2^31 - 1", [0x84, 0x7F, 0xFF, 0xFF, 0xFF]), ("2^31", [0x84, 0x80, 0, 0, 0]),
            ("2^32 - 1", [0x84, 0xFF, 0xFF, 0xFF, 0xFF]),
            ("2^63 - 1", [0x88, 0x7F] + [UInt8](repeating: 0xFF, count: 7)),
            ("2^63", [0x88, 0x80] + [UInt8](repeating: 0, count: 7)),
            ("2^64 - 1", [0x88] + [UInt8](repeating: 0xFF, count: 8)),
            ("of 126 octets", [0xFE] + [UInt8](repeating: 0xFF, count: 126)),
            ("reserved", [0xFF]), ("one octet more than there are", [0x83, 0x0F, 0xFF, 0xFF]),
        ]
        for node in Self.nodes(of: receipt) {
            let family: HostileFamily = grounds[node.start] == .covered ? .receiptLengths : .unsignedParts
            let head = receipt[...node.start]
            let where_ = "element at \(node.start)"
            for (name, length) in lengths.shuffled(using: &generator).prefix(2) {
                add(family, Self.base, "\(where_): length \(name)", head + length + receipt[node.content.lowerBound...])
            }
            let lengthEnd = node.content.lowerBound - 1
            for (name, step) in [("one more", 1), ("one less", -1)] {
                var harmed = receipt
                harmed[lengthEnd] = UInt8(truncatingIfNeeded: Int(receipt[lengthEnd]) + step)
                add(family, Self.base, "\(where_): length \(name)", harmed)
            }
            var harmed = receipt
            harmed[node.start] ^= [0x01, 0x20, 0x40, 0x80, 0x1F].randomElement(using: &generator) ?? 0x20
            add(family, Self.base, "\(where_): tag \(harmed[node.start])", harmed)
            addBER(node, in: receipt, isSigned: node.isInBody && family == .receiptLengths)
        }
    }

    /// Encodings that BER allows and DER does not: only a part whose octets are hashed is affected.
    private mutating func addBER(_ node: Node, in receipt: [UInt8], isSigned: Bool) {
        let tag = receipt[node.start]
        let content = Array(receipt[node.content])
        let length = [24, 16, 8, 0].map { UInt8(content.count >> $0 & 0xFF) }
        var forms = [("a length in four octets", [tag, 0x84] + length + content)]
        if tag & 0x20 != 0 { forms.append(("an indefinite length", [tag, 0x80] + content + [0, 0])) }
        for (name, form) in forms {
            let harmed = Self.replacing(node, with: form, in: receipt, 0..<receipt.count)
            add(
                isSigned ? .receiptLengths : .unsignedParts, Self.base, "element at \(node.start): \(name)", harmed)
        }
    }

    /// The container with one element encoded differently, and correct lengths around it.
    private static func replacing(_ node: Node, with form: [UInt8], in bytes: [UInt8], _ range: Range<Int>) -> [UInt8] {
        HandmadeDER.elements(of: bytes, in: range).flatMap { start, content -> [UInt8] in
            if start == node.start { return form }
            guard content.contains(node.start) else { return Array(bytes[start..<content.upperBound]) }
            return DERWriter.value(tag: bytes[start], replacing(node, with: form, in: bytes, content))
        }
    }

    // MARK: Structure

    private mutating func add(
        _ family: HostileFamily, _ harm: String, _ verdict: Verdict? = nil, base: String = Self.base,
        _ change: (inout HandmadeReceipt) -> Void
    ) {
        var receipt = authority.receipt()
        change(&receipt)
        add(family, base, harm, receipt.der, verdict)
    }

    mutating func addReceiptStructure() {
        let structure = HostileFamily.receiptStructure
        let (leaf, middle, root) = (
            authority.receiptLeaf.der, authority.receiptIntermediate.der, authority.receiptRoot.der
        )
        for count in [0, 2, 3, 50] { add(structure, "\(count) signers", .malformed) { $0.signerCount = count } }
        for digest in ["md5", "sha512", "none"] {
            add(structure, "digest \(digest)", .malformed) { $0.digest = digest }
        }
        add(structure, "content left out", .malformed) { $0.isDetached = true }
        for type in ["1.2.840.113549.1.7.1", "1.2.840.113549.1.7.3", "1.2.840.113549.1.7.5", "1.2.3"] {
            add(structure, "type \(type)", .malformed) { $0.type = type }
        }
        for type in ["1.2.840.113549.1.7.2", "1.2.840.113549.1.7.3", "1.2.840.113549.1.9.16.1.4", "1.2.3"] {
            add(structure, "content type \(type)", .malformed) { $0.contentType = type }
            add(structure, "content type \(type), with attributes", .malformed) {
                $0.contentType = type
                $0.attributes = .sound
            }
        }
        let lists: [(String, [[UInt8]], Verdict)] = [
            ("no certificates", [], .badCertificate), ("no leaf", [middle, root], .badCertificate),
            ("only the leaf", [leaf], .chainUntrusted),
            ("no intermediate", [leaf, root], .chainUntrusted),
            ("a foreign leaf only", [authority.foreignReceiptLeaf.der], .chainUntrusted),
            ("a foreign intermediate", [leaf, authority.foreignReceiptIntermediate.der, root], .chainUntrusted),
            ("33 certificates", [leaf, middle] + Array(repeating: root, count: 31), .malformed),
            ("2000 certificates", Array(repeating: root, count: 2_000), .malformed),
        ]
        for (name, list, verdict) in lists { add(structure, name, verdict) { $0.certificates = list } }
        let same = [
            ("reversed", [root, middle, leaf]), ("no root", [leaf, middle]), ("leaf twice", [leaf, leaf, middle]),
            ("a foreign root", [leaf, middle, authority.foreignReceiptRoot.der]),
            ("32 certificates", [leaf, middle] + Array(repeating: root, count: 30)),
        ]
        for (name, list) in same { add(.harmless, "certificates: \(name)") { $0.certificates = list } }
        // OpenSSL uses the first issuer with the right name, and these authorities have no key identifiers.
        add(.unsignedParts, "certificates: a namesake of the intermediate first") { [authority] in
            $0.certificates = [authority.foreignReceiptIntermediate.der, leaf, middle, root]
        }
        add(structure, "a version of 64 bits", .malformed) { $0.version = .max }
        add(structure, "signed by a foreign key", .badSignature) { [key = authority.foreignReceiptLeaf.key] in
            $0.signature = key.signature($0.content)
        }
        add(structure, "PSS", .badSignature) { $0.isPSS = true }
        add(structure, "PSS, named so", .badSignature) {
            $0.isPSS = true
            $0.signatureAlgorithm = "1.2.840.113549.1.1.10"
        }
        add(structure, "PSS with attributes", .badSignature) {
            $0.isPSS = true
            $0.signatureAlgorithm = "1.2.840.113549.1.1.10"
            $0.attributes = .sound
        }
        for algorithm in ["1.2.840.10045.4.3.2", "1.2.840.10040.4.1", "1.3.101.112", "1.2.840.113549.1.1.7"] {
            add(structure, "signature algorithm \(algorithm)", .badSignature) { $0.signatureAlgorithm = algorithm }
        }
        addReceiptSignatures()
        addAttributes()
        addReceiptShapes()
    }

    private mutating func addReceiptSignatures() {
        let receipt = authority.receipt()
        let sound = receipt.signer.key.signature(receipt.content)
        let hash = Digest.sha256.hash(receipt.content)
        let key = receipt.signer.key
        let signatures: [(String, [UInt8])] = [
            ("empty", []), ("one octet", [1]), ("255 octets", Array(sound.dropLast())), ("257 octets", sound + [0]),
            ("a zero before", [0] + sound), ("zeros", [UInt8](repeating: 0, count: 256)),
            ("ones", [UInt8](repeating: 0xFF, count: 256)),
            ("the number one", [UInt8](repeating: 0, count: 255) + [1]), ("reversed", sound.reversed()),
            ("over the hash", key.signature(hash)),
            ("over another digest", key.signature(receipt.content, digest: HandmadeCertificate.sha1)),
            ("over the octet string", key.signature(DERWriter.octetString(receipt.content))),
            ("over nothing", key.signature([])), ("twice", sound + sound),
            ("4 KB", [UInt8](repeating: 0x55, count: 4_096)),
            ("over a SET in another order", key.signature(CorpusContent.set(CorpusContent.base.reversed()))),
        ]
        for (name, signature) in signatures {
            add(.receiptStructure, "signature: \(name)", .badSignature) { $0.signature = signature }
            add(.receiptStructure, "signature with attributes: \(name)", .badSignature, base: "receipt-attributes") {
                $0.attributes = .sound
                $0.signature = signature
            }
        }
    }

    /// RFC 5652 §5.3, §11: contentType and messageDigest once each, with one correct value.
    private mutating func addAttributes() {
        let sound = authority.receipt().soundAttributes
        let (type, digest) = (sound[0], sound[1])
        func messageDigest(_ values: [[UInt8]]) -> [UInt8] {
            HandmadeReceipt.attribute(HandmadeReceipt.messageDigestAttribute, values)
        }
        func contentType(_ values: [[UInt8]]) -> [UInt8] {
            HandmadeReceipt.attribute(HandmadeReceipt.contentTypeAttribute, values)
        }
        let hash = Digest.sha256.hash(CorpusContent.sound)
        let data = HandmadeDER.oid("1.2.840.113549.1.7.1")
        let wrong = DERWriter.octetString(Digest.sha256.hash([1]))
        let right = DERWriter.octetString(hash)
        let lists: [(String, [[UInt8]])] = [
            ("none", []), ("no digest", [type]), ("no type", [digest]),
            ("wrong digest", [type, messageDigest([wrong])]),
            ("digest twice", [type, digest, digest]), ("two digests", [type, digest, messageDigest([wrong])]),
            ("two values", [type, messageDigest([right, wrong])]),
            ("no value", [type, messageDigest([])]),
            ("digest as text", [type, messageDigest([DERWriter.utf8String("x")])]),
            ("SHA-1 digest", [type, messageDigest([DERWriter.octetString(Digest.sha1.hash(CorpusContent.sound))])]),
            ("empty digest", [type, messageDigest([DERWriter.octetString([])])]),
            ("cut digest", [type, messageDigest([DERWriter.octetString(Array(hash.dropLast()))])]),
            ("longer digest", [type, messageDigest([DERWriter.octetString(hash + [0])])]),
            ("another type", [contentType([HandmadeDER.oid("1.2.840.113549.1.7.2")]), digest]),
            ("type twice", [type, type, digest]), ("two types", [contentType([data, data]), digest]),
        ]
        for (name, list) in lists {
            add(.receiptStructure, "attributes: \(name)", .badSignature, base: "receipt-attributes") {
                $0.attributes = .these(list)
            }
        }
        let others = (0..<2_000).map { HandmadeReceipt.attribute("1.2.3.\($0)", [DERWriter.null]) }
        let good = [
            ("the other order", [digest, type]),
            (
                "a signing time",
                sound + [
                    HandmadeReceipt.attribute(
                        "1.2.840.113549.1.9.5", [DERWriter.value(tag: 0x17, Array("250601000000Z".utf8))])
                ]
            ), ("2000 unknown ones", sound + others),
        ]
        for (name, list) in good {
            add(.unsignedParts, "attributes: \(name)", base: "receipt-attributes") { $0.attributes = .these(list) }
        }
        add(.receiptStructure, "attributes signed with their own tag", .badSignature, base: "receipt-attributes") {
            $0.attributes = .these(sound)
            $0.signature = $0.signer.key.signature(DERWriter.value(tag: 0xA0, sound.flatMap { $0 }))
        }
        add(.receiptStructure, "attributes, but the content is signed", .badSignature, base: "receipt-attributes") {
            $0.attributes = .these(sound)
            $0.signature = $0.signer.key.signature($0.content)
        }
        // The attributes of a genuine signature as content: a verifier that confuses the two grants purchases that were
        // never made.
        add(.receiptStructure, "attributes as content", .malformed) {
            $0.content = DERWriter.value(tag: 0x31, sound.flatMap { $0 })
        }
    }

    private mutating func addReceiptShapes() {
        let receipt = authority.receipt()
        let der = receipt.der
        func piece(_ count: Int, _ depth: Int) -> [UInt8] {
            var piece = DERWriter.octetString([UInt8](repeating: 0, count: count))
            for _ in 0..<depth { piece = DERWriter.value(tag: 0x24, piece) }
            return piece
        }
        let shapes: [(String, [UInt8])] = [
            ("an octet after", der + [0]), ("end of contents after", der + [0, 0]), ("twice", der + der),
            ("an octet before", [0] + der),
            ("wrapped in a sequence", DERWriter.sequence(der)),
            ("wrapped in an octet string", DERWriter.octetString(der)),
            ("only the signed data", Array(der.dropFirst(19))),
            ("empty sequence", [0x30, 0]), ("empty with a long length", [0x30, 0x84, 0, 0, 0, 0]),
            ("empty set", [0x31, 0]),
            ("10000 open sequences", Array(repeating: [0x30, 0x80], count: 10_000).flatMap { $0 }),
            ("10000 open octet strings", Array(repeating: [0x24, 0x80], count: 10_000).flatMap { $0 }),
            ("10000 ends", [0x30, 0x80] + [UInt8](repeating: 0, count: 20_000)),
            ("all lengths 127", [UInt8](repeating: 0x7F, count: 5_000)),
            ("high tag", [0x3F, 0xFF, 0xFF, 0xFF, 0x7F, 0] + der),
            ("PEM in DER's place", Array(PEM.encode(der, label: "CERTIFICATE").utf8)),
            ("a certificate", authority.receiptLeaf.der), ("a key", authority.receiptLeaf.key.publicKey),
            ("a token", bytes("transaction")),
            ("indefinite without end", Array(Relengthened.indefinite(der, maximumDepth: 1).dropLast(2))),
            ("indefinite with one end too many", Relengthened.indefinite(der, maximumDepth: 2) + [0, 0]),
        ]
        for (name, bytes) in shapes { add(.receiptStructure, Self.base, name, bytes, .malformed) }
        for depth in 1...6 {
            add(
                .unsignedParts, Self.base, "indefinite lengths to depth \(depth)",
                Relengthened.indefinite(der, maximumDepth: depth))
        }
        for depth in [3, 20, 200, 2_000] {
            add(.receiptStructure, "a content in \(depth) pieces of pieces", .malformed) {
                $0.content = piece(20, depth)
            }
        }
        for version in [0, 3, 5, 127, -1] as [Int64] { add(.harmless, "version \(version)") { $0.version = version } }
        for count in [0, 2, 10, 20_000] {
            let list = Array(repeating: HandmadeReceipt.algorithm("sha256"), count: count)
            add(.harmless, "\(count) digest algorithms announced") { $0.digestAlgorithms = list }
        }
        for parameters in [[], [0x30, 0x00], [0x04, 0x01, 0x00]] as [[UInt8]] {
            add(.harmless, "signature parameters \(parameters)") { $0.signatureParameters = parameters }
        }
        let unsigned = (0..<500).map { HandmadeReceipt.attribute("1.2.3.\($0)", [DERWriter.null]) }.flatMap { $0 }
        add(.harmless, "500 unsigned attributes") { $0.unsignedAttributes = DERWriter.value(tag: 0xA1, unsigned) }
        let countersigned = HandmadeReceipt.attribute("1.2.840.113549.1.9.6", [receipt.signerInfo])
        add(.harmless, "a counter-signature") { $0.unsignedAttributes = DERWriter.value(tag: 0xA1, countersigned) }
        add(.unsignedParts, "revocation of another format") {
            $0.revocation = DERWriter.value(
                tag: 0xA1, DERWriter.value(tag: 0xA1, HandmadeDER.oid("1.2.3") + DERWriter.null))
        }
    }
}
