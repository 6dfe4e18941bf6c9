import TillBilling
import TillCrypto
import TillJSON

@testable import TillAppStore

/// The properties of all bytes that arrive as a receipt: a container, a bare content (which is signed here, to reach
/// the code behind the signature), an old-style text, or none of these.
struct ReceiptProperties {
    private let bench: FuzzBench

    init(_ bench: FuzzBench) { self.bench = bench }

    func check(_ input: [UInt8]) throws(PropertyError) {
        try base64IsStrict(input)
        try elementsReadBack(input[...], depth: 0)
        try onlySignedContentIsAccepted(input)
        try inspectionIsARecord(input)
        try contentIsAcceptedOnlyIfWhole(input)
        try oldStyleReceiptsAreTakenApart(input)
    }

    // MARK: - ASN.1

    /// Every element lies within its parent, and reads the same when it is written with a definite length.
    private func elementsReadBack(_ bytes: ArraySlice<UInt8>, depth: Int) throws(PropertyError) {
        guard depth < 4 else { return }
        var reader = ASN1Reader(bytes)
        while !reader.isAtEnd {
            guard let element = try? reader.next() else { return }
            let content = element.content
            try hold(
                bytes.startIndex <= content.startIndex && content.endIndex <= bytes.endIndex, "an element is inside")
            let again = try? ASN1Reader.single(DERWriter.value(tag: element.tag, Array(content))[...])
            try hold(
                again?.tag == element.tag && again?.content.elementsEqual(content) == true, "an element reads back")
            if let number = try? ASN1Reader.integer(element) {
                let written = DERWriter.integer(number)
                try hold(
                    (try? ASN1Reader.integer(ASN1Reader.single(written[...]))) == number
                        && written.count <= 2 + content.count, "an integer reads back, and DER is shortest")
            }
            if let text = try? ASN1Reader.text(element) {
                try hold(Array(text.utf8) == Array(content), "a text is its bytes")
            }
            if let octets = try? ASN1Reader.octets(element) {
                try hold(octets.count <= content.count, "octets are no more than what they come in")
            }
            if element.isConstructed { try elementsReadBack(content, depth: depth + 1) }
        }
    }

    // MARK: - Containers

    /// The seeds' roots signed a few contents. Any other content that is accepted under them is a forgery.
    private func onlySignedContentIsAccepted(_ input: [UInt8]) throws(PropertyError) {
        guard let receipt = try accepted({ () throws(VerificationError) in try bench.seedVerifier.receipt(input) })
        else { return }
        let message = try held(try? SignedMessage(input), "an accepted receipt is a signed message")
        try hold(bench.wasSigned(message.content), "an accepted content was signed")
        try hold(
            receipt.payload.bundleID == receipt.bundleID && receipt.payload.creationDate == receipt.creationDate,
            "an accepted receipt is its payload")
        try hold(
            (try refusal { () throws(VerificationError) in try bench.verifier.receipt(input) }) == .chainUntrusted,
            "another root refuses it")
        let text = Base64.encode(input)
        let lines = stride(from: 0, to: text.utf8.count, by: 76).map { text.utf8.dropFirst($0).prefix(76) }
        try hold(
            try accepted { () throws(VerificationError) in
                try bench.seedVerifier.receipt(base64: lines.map { String(Substring($0)) }.joined(separator: "\r\n"))
            } != nil, "its base64 in lines is the same receipt")
    }

    /// An inspection is never more positive than the verifier, and its record is JSON.
    private func inspectionIsARecord(_ input: [UInt8]) throws(PropertyError) {
        let inspection = ProofInspection.inspect(input, policy: FuzzBench.inspection(bench.seedRoots))
        let text = inspection.json.encoded()
        try hold((try? JSONValue(decoding: text)) == inspection.json, "a record of an inspection is JSON")
        switch inspection.kind {
        case .oldStyleReceipt: try hold(!inspection.isOK, "only Apple's keys make an old-style receipt")
        case .receipt where inspection.isOK:
            var message: SignedMessage?
            if case .receipt(let container) = ProofFormat(input) { message = try? SignedMessage(container) }
            try hold(message.map { bench.wasSigned($0.content) } == true, "an inspected content was signed")
        case .receipt: break
        default:
            try hold(!inspection.isOK || bench.wasSigned(Self.signingInput(input)), "an inspected token was signed")
        }
    }

    private static func signingInput(_ input: [UInt8]) -> ArraySlice<UInt8> {
        let text = ProofText.trimmed(input)
        return text[..<(text.lastIndex(of: UInt8(ascii: ".")) ?? 0)]
    }

    // MARK: - Contents

    /// With a trusted signature, a content is accepted if and only if it is readable and complete.
    private func contentIsAcceptedOnlyIfWhole(_ input: [UInt8]) throws(PropertyError) {
        guard let tag = input.first, [0x31, 0x04, 0x24].contains(tag) else { return }
        guard let payload = try? ReceiptPayload(input) else {
            guard let forged = try? forge(input, .der, signature: [UInt8](repeating: 1, count: 256)) else { return }
            let verdict = try refusal { () throws(VerificationError) in try bench.verifier.receipt(forged) }
            return try hold(verdict == .malformed, "a content that cannot be read is malformed")
        }
        try contentReadsBack(payload)
        let form = ReceiptForge.Form.allCases[input.count % ReceiptForge.Form.allCases.count]
        let message = try held(try? forge(input, form), "any content can be signed")
        let isDoublyWrapped = form == .wrapped && tag != 0x31
        let receipt = try accepted { () throws(VerificationError) in try bench.verifier.receipt(message) }
        try hold((receipt != nil) == (isWhole(payload) && !isDoublyWrapped), "accepted exactly if whole, as \(form)")
        guard let receipt else { return }
        try hold(
            Self.summary(of: receipt.payload) == Self.summary(of: payload), "a signature changes nothing, as \(form)")
        try transactionsAreBounded(receipt)
        // Each of these builds a chain again, which costs as much as all other checks.
        guard FuzzBench.isDrawn(input, oneIn: 4) else { return }
        try deviceDecides(message, payload)
        let inspection = ProofInspection.inspect(message, policy: FuzzBench.inspection(bench.chain.roots))
        try hold(inspection.isOK && inspection.kind == .receipt, "what is accepted inspects as ok, as \(form)")
        try alteredContentIsRefused(message, content: ReceiptForge.content(input, form), form)
    }

    private func forge(
        _ payload: [UInt8], _ form: ReceiptForge.Form, signature: [UInt8]? = nil
    ) throws(SigningError) -> [UInt8] {
        try ReceiptForge.receipt(payload, form, by: bench.chain.receiptSigner, signature: signature)
    }

    /// facts/pkcs7-receipt §4: the fields that a verifier requires.
    private func isWhole(_ payload: ReceiptPayload) -> Bool {
        let known = ["Production", "ProductionVPP", "ProductionSandbox", "ProductionVPPSandbox"]
        guard let created = payload.creationDate?.seconds, let bundleID = payload.bundleID,
            let type = payload.receiptType
        else { return false }
        return TestChain.validity.lowerBound <= created && created < TestChain.validity.upperBound
            && (1...255).contains(bundleID.utf8.count) && known.contains { $0.utf8.elementsEqual(type.utf8) }
    }

    /// A payload that is written again as plain DER has the same values.
    private func contentReadsBack(_ payload: ReceiptPayload) throws(PropertyError) {
        guard Self.dates(of: payload).allSatisfy({ Instant(rfc3339: $0.rfc3339) == $0 }) else { return }
        let again = try held(
            try? ReceiptPayload(ReceiptWriter.content(of: payload)), "a payload written anew can be read")
        try hold(Self.summary(of: again) == Self.summary(of: payload), "a payload written anew says the same")
    }

    private func transactionsAreBounded(_ receipt: VerifiedReceipt) throws(PropertyError) {
        try hold(receipt.transactions.count <= receipt.payload.purchases.count, "no purchase is made up")
        for transaction in receipt.transactions {
            try hold(
                transaction.quantity >= 1 && (1...128).contains(transaction.id.text.utf8.count)
                    && transaction.source == .receipt && transaction.environment == receipt.environment,
                "a transaction is within bounds")
            // Nil if the cancelling record is incomplete: then there is nothing to grant or to reverse.
            guard let found = receipt.transaction(transaction.id) else { continue }
            let isTakenBack = receipt.payload.purchases.contains {
                $0.transactionID == transaction.id.text && $0.cancellationDate != nil
            }
            try hold(found.isRevoked == isTakenBack, "the record that takes back counts")
        }
    }

    private func deviceDecides(_ message: [UInt8], _ payload: ReceiptPayload) throws(PropertyError) {
        let parts: [[UInt8]?] = [FuzzBench.device, payload.opaqueValue, payload.octets(ofType: 2)]
        let hash = Digest.sha1.hash(parts.flatMap { $0 ?? [] })
        let matches = parts.allSatisfy { $0 != nil } && hash == payload.deviceHash
        let verdict = try refusal { () throws(VerificationError) in
            try bench.verifier.receipt(message, device: FuzzBench.device)
        }
        try hold(verdict == (matches ? nil : .wrongDevice), "the device's hash decides")
    }

    /// A changed bit of the content invalidates the signature.
    private func alteredContentIsRefused(
        _ message: [UInt8], content: [UInt8], _ form: ReceiptForge.Form
    ) throws(PropertyError) {
        guard let start = Self.start(of: content.suffix(content.count - content.count / 2), in: message) else { return }
        var altered = message
        altered[start + content.count / 4] ^= 0x10
        let verdict = try refusal { () throws(VerificationError) in try bench.verifier.receipt(altered) }
        try hold(verdict != nil, "an altered content is refused, as \(form)")
    }

    private static func start(of part: ArraySlice<UInt8>, in bytes: [UInt8]) -> Int? {
        guard let first = part.first, part.count <= bytes.count else { return nil }
        return (0...(bytes.count - part.count)).first { index in
            bytes[index] == first && bytes[index..<index + part.count].elementsEqual(part)
        }
    }

    // MARK: - Old-style receipts, base64

    /// The blob of an old-style signature consists of its parts, without bytes between or after them.
    private func oldStyleReceiptsAreTakenApart(_ input: [UInt8]) throws(PropertyError) {
        for blob in [input, OldStyleReceipt(input)?.outer["signature"].flatMap { Base64.decode($0) } ?? []] {
            guard let signature = OldStyleReceipt.Signature(blob) else { continue }
            let count = withUnsafeBytes(of: UInt32(signature.certificate.count).bigEndian) { Array($0) }
            try hold(
                [signature.version] + signature.bytes + count + signature.certificate == blob, "a blob is its parts")
            guard let leaf = Certificate(der: signature.certificate) else { continue }
            _ = signature.isValid(of: input, by: leaf)
        }
    }

    /// Different texts never decode to the same bytes.
    private func base64IsStrict(_ input: [UInt8]) throws(PropertyError) {
        for alphabet in [Base64.Alphabet.standard, .url] {
            try hold(
                Base64.decode(Base64.encode(input, alphabet), alphabet) == input, "base64 reads back (\(alphabet))")
            guard let decoded = Base64.decode(input, alphabet) else { continue }
            try hold(
                Base64.encode(decoded, alphabet).utf8.elementsEqual(input), "bytes have one base64 text (\(alphabet))")
        }
    }
}
