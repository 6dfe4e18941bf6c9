import TillAppStore
import TillCrypto

/// A token split into the octets of its three parts.
struct TokenParts {
    var header: [UInt8]
    var payload: [UInt8]
    var signature: [UInt8]

    init(_ token: [UInt8]) {
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { Base64.decode($0, .url) ?? [] }
        (header, payload, signature) = (parts[0], parts[1], parts[2])
    }

    var bytes: [UInt8] { CorpusAuthority.join(header, payload, signature) }
}

extension [UInt8] {
    func flipped(_ bit: Int) -> [UInt8] {
        var flipped = self
        flipped[bit >> 3] ^= 1 << UInt8(bit & 7)
        return flipped
    }
}

extension HostileCorpus {
    /// The signature covers the text of header and payload, and base64 has one spelling: every bit of a token matters.
    mutating func addTokenBits() {
        var generator = generator(.tokenBits)
        for base in Self.tokenBases {
            let token = bytes(base)
            let count = (base == "transaction" ? 320 : 110) * scale
            for _ in 0..<count {
                let bit = Int.random(in: 0..<token.count * 8, using: &generator)
                add(.tokenBits, base, "bit \(bit) of the text flipped", token.flipped(bit))
            }
            for _ in 0..<count / 4 {
                var harmed = token
                let bits = (0..<Int.random(in: 2...16, using: &generator)).map { _ in
                    Int.random(in: 0..<token.count * 8, using: &generator)
                }
                for bit in bits { harmed = harmed.flipped(bit) }
                add(.tokenBits, base, "bits \(bits) of the text flipped", harmed)
            }
            let parts = TokenParts(token)
            for (name, path) in [("header", \TokenParts.header), ("payload", \.payload), ("signature", \.signature)] {
                let part = parts[keyPath: path]
                for _ in 0..<count / 4 {
                    let bit = Int.random(in: 0..<part.count * 8, using: &generator)
                    var harmed = parts
                    harmed[keyPath: path] = part.flipped(bit)
                    add(.tokenBits, base, "bit \(bit) of the \(name)'s octets flipped", harmed.bytes)
                }
            }
            for _ in 0..<12 * scale {
                let end = Int.random(in: 0..<token.count, using: &generator)
                add(.tokenBits, base, "cut after \(end) characters", Array(token[..<end]))
            }
        }
    }

    /// Changes a certificate, and lets the genuine leaf sign the header that carries it: only the chain can show the
    /// change. The third certificate is not read (facts/jws §2, step 4), so changing it has no effect.
    mutating func addCertificateBits() {
        var generator = generator(.certificateBits)
        let chain = authority.chain
        let payload = TokenParts(bytes("transaction")).payload
        for (index, name) in ["leaf", "intermediate", "third certificate"].enumerated() {
            let isIdle = index == 2
            for _ in 0..<(isIdle ? 60 : 220) * scale {
                let bit = Int.random(in: 0..<chain[index].count * 8, using: &generator)
                var harmed = chain
                harmed[index] = chain[index].flipped(bit)
                let token = authority.token(header: authority.header(harmed), payload: payload)
                add(
                    isIdle ? .harmless : .certificateBits, "transaction",
                    "bit \(bit) of the \(name) flipped, then signed", token)
            }
        }
    }

    /// The kind of place of an octet in a receipt, which decides the effect of flipping it.
    enum Ground {
        /// Signed, or checked by a rule.
        case covered
        /// Neither: the enclosed root, versions, parameters, algorithm lists.
        case unsigned
    }

    /// The places in the output of `HandmadeReceipt`, octet by octet.
    func grounds(of receipt: [UInt8]) -> [Ground] {
        var grounds = [Ground](repeating: .covered, count: receipt.count)
        func mark(_ range: Range<Int>) { for index in range { grounds[index] = .unsigned } }
        func inside(_ range: Range<Int>) -> [(start: Int, content: Range<Int>)] {
            HandmadeDER.elements(of: receipt, in: range)
        }
        let outer = inside(inside(0..<receipt.count)[0].content)
        let signedData = inside(inside(outer[1].content)[0].content)
        mark(signedData[0].start..<signedData[0].content.upperBound)
        mark(signedData[1].start..<signedData[1].content.upperBound)
        // OpenSSL does not check that a SET OF is marked as constructed.
        for set in signedData[3...4] { mark(set.start..<set.content.lowerBound) }
        for certificate in inside(signedData[3].content) {
            let parts = inside(certificate.content)
            let isRoot = certificate.content.upperBound == signedData[3].content.upperBound
            if isRoot { mark(certificate.start..<certificate.content.upperBound) }
            // The outer lengths and the algorithm beside the signature are not signed.
            mark(certificate.start..<parts[0].start)
            mark(parts[1].start..<parts[2].content.lowerBound + 1)
        }
        let signer = inside(inside(signedData[4].content)[0].content)
        mark(signer[0].start..<signer[0].content.upperBound)
        // Names are compared as RFC 5280 §7.1 requires, ignoring case and the kind of string.
        mark(inside(signer[1].content)[0].start..<inside(signer[1].content)[0].content.upperBound)
        for algorithm in [signer[2], signer[signer.count - 2]] { mark(algorithm.start..<algorithm.content.upperBound) }
        return grounds
    }

    mutating func addReceiptBits() {
        var generator = generator(.receiptBits)
        for base in ["receipt-sha256", "receipt-sha1", "receipt-attributes"] {
            let receipt = bytes(base)
            let grounds = grounds(of: receipt)
            for _ in 0..<(base == "receipt-sha256" ? 420 : 200) * scale {
                let bit = Int.random(in: 0..<receipt.count * 8, using: &generator)
                let family: HostileFamily = grounds[bit >> 3] == .covered ? .receiptBits : .unsignedParts
                add(family, base, "bit \(bit) flipped", receipt.flipped(bit))
            }
            for _ in 0..<40 * scale {
                let end = Int.random(in: 0..<receipt.count, using: &generator)
                add(.receiptBits, base, "cut after \(end) octets", Array(receipt[..<end]), .malformed)
            }
            for _ in 0..<30 * scale {
                let at = Int.random(in: 0..<receipt.count, using: &generator)
                var longer = receipt
                longer.insert(UInt8.random(in: 0...255, using: &generator), at: at)
                add(.receiptBits, base, "an octet put in at \(at)", longer)
            }
        }
        let ber = bytes("receipt-ber")
        let content = authority.receipt().content
        // In BER the content lies within many lengths; the signed octets stay the same.
        guard let start = ber.firstIndex(of: content) else { preconditionFailure("the content is in the receipt") }
        for _ in 0..<80 * scale {
            let bit = Int.random(in: 0..<content.count * 8, using: &generator) + start * 8
            add(.receiptBits, "receipt-ber", "bit \(bit) of the content flipped", ber.flipped(bit))
        }
    }
}

extension [UInt8] {
    /// The first position of another array.
    func firstIndex(of part: [UInt8]) -> Int? {
        guard part.count <= count else { return nil }
        return (0...(count - part.count)).first { self[$0..<$0 + part.count].elementsEqual(part) }
    }
}
