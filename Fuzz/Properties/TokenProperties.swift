import TillBilling
import TillCrypto
import TillJSON

@testable import TillAppStore

/// The properties of all bytes that arrive as a JWS: a token; a payload, which is signed here; or header, NUL, payload,
/// with the header used unchanged, so that its rules are tested with a valid signature.
///
/// In signed inputs, `$leaf`, `$intermediate` and `$root` stand for the process's certificates, and `$transaction`,
/// `$renewal` and `$app` for valid tokens of the process.
struct TokenProperties {
    private let bench: FuzzBench

    init(_ bench: FuzzBench) { self.bench = bench }

    func check(_ input: [UInt8]) throws(PropertyError) {
        try partsMakeTheToken(input)
        if input.first == UInt8(ascii: "{") {
            if let border = input.firstIndex(of: 0) {
                try headerDecides(Array(input[..<border]), payload: Array(input[(border + 1)...]))
            } else {
                try payloadIsAcceptedOnlyIfWhole(filled(input))
            }
        } else {
            try onlySignedTokensAreAccepted(input)
        }
    }

    // MARK: - Tokens as received

    private func partsMakeTheToken(_ input: [UInt8]) throws(PropertyError) {
        guard let token = CompactToken(input) else { return }
        let dots = input.count { $0 == UInt8(ascii: ".") }
        try hold(dots == 2, "a token has three parts")
        let parts = [
            token.header ?? Base64.decode(token.headerPrefix.dropLast(), .url), token.payload, token.signature,
        ]
        guard parts[0] != nil else { return }
        let text = parts.map { Base64.encode($0 ?? [], .url) }.joined(separator: ".")
        try hold(text.utf8.elementsEqual(input), "a token is its parts")
    }

    /// The seeds' roots signed a few tokens. Any other token that is accepted under them is a forgery.
    private func onlySignedTokensAreAccepted(_ input: [UInt8]) throws(PropertyError) {
        let end = input.lastIndex(of: UInt8(ascii: ".")) ?? 0
        let kind = try acceptedKind(input, bench.seedVerifier)
        if let kind {
            try hold(bench.wasSigned(input[..<end]), "an accepted \(kind) was signed")
            try hold(try acceptedKind(input, bench.verifier) == nil, "another root refuses it")
            let fresh = try held(
                try? SignedDataVerifier(policy: FuzzBench.trust(bench.seedRoots)), "the seeds' roots are roots")
            try hold(try acceptedKind(input, fresh) == kind, "a chain remembered and a chain built say the same")
        }
        let inspection = ProofInspection.inspect(input, policy: FuzzBench.inspection(bench.seedRoots))
        try hold(
            (try? JSONValue(decoding: inspection.json.encoded())) == inspection.json,
            "a record of an inspection is JSON")
        if let kind {
            try hold(inspection.isOK && inspection.kind.rawValue == "jws-\(kind)", "what is accepted inspects as ok")
        }
        guard inspection.isOK else { return }
        let text = ProofText.trimmed(input)
        let isToken = inspection.kind.rawValue.hasPrefix("jws-")
        let signed = text[..<(text.lastIndex(of: UInt8(ascii: ".")) ?? 0)]
        try hold(!isToken || bench.wasSigned(signed), "an inspected token was signed")
    }

    /// The kind as which the token is accepted; at most one, whatever the token states.
    private func acceptedKind(_ token: [UInt8], _ verifier: SignedDataVerifier) throws(PropertyError) -> String? {
        var kinds: [String] = []
        if try accepted({ () throws(VerificationError) in try verifier.transaction(token) }) != nil {
            kinds.append("transaction")
        }
        if try accepted({ () throws(VerificationError) in try verifier.renewalInfo(token) }) != nil {
            kinds.append("renewal")
        }
        if try accepted({ () throws(VerificationError) in try verifier.appTransaction(token) }) != nil {
            kinds.append("apptransaction")
        }
        if try accepted({ () throws(VerificationError) in try verifier.notification(token) }) != nil {
            kinds.append("notification")
        }
        try hold(kinds.count <= 1, "a token of one kind is not taken for another: \(kinds)")
        return kinds.first
    }

    // MARK: - Signed payloads

    private func payloadIsAcceptedOnlyIfWhole(_ payload: [UInt8]) throws(PropertyError) {
        let token = try signed(payload, header: header())
        let expected = TokenExpectation(payload, bench.verifier)
        let kind = try acceptedKind(token, bench.verifier)
        try hold(
            kind == Self.within(limit: token, expected.kind), "accepted as \(kind ?? "nothing"), expected: \(expected)")
        guard let kind else { return }
        try fieldsAreWhatWasSigned(token, payload, kind)
        try alteredTokensAreRefused(token)
        guard FuzzBench.isDrawn(payload, oneIn: 8) else { return }
        let inspection = ProofInspection.inspect(token, policy: FuzzBench.inspection(bench.chain.roots))
        try hold(inspection.kind.rawValue == "jws-\(kind)", "the inspection sees the same kind")
        try hold(inspection.isOK, "what is accepted inspects as ok, not \(inspection.verdict): \(inspection.detail)")
        try hold(
            (try? JSONValue(decoding: inspection.json.encoded())) == inspection.json,
            "a record of an inspection is JSON")
    }

    private func fieldsAreWhatWasSigned(
        _ token: [UInt8], _ payload: [UInt8], _ kind: String
    ) throws(PropertyError) {
        let json = try held(try? JSONValue(decoding: payload), "an accepted payload is JSON")
        switch kind {
        case "transaction":
            let transaction = try held(try? bench.verifier.transaction(token), "accepted twice")
            try hold(
                Self.agree(json["transactionId"], transaction.id.text)
                    && Self.agree(json["productId"], transaction.productID.text)
                    && Self.agree(json["bundleId"], transaction.bundleID)
                    && Self.agree(json["appAccountToken"], transaction.appAccountTokenText)
                    && Self.agree(json["environment"], transaction.environment.rawValue)
                    && (json["quantity"]?.int ?? 1) == Int64(transaction.quantity)
                    && json["price"]?.int == transaction.payload.priceMilliunits
                    && (1...Int(Int32.max)).contains(transaction.quantity)
                    && transaction.isRevoked == (json["revocationDate"]?.number != nil),
                "a transaction is what was signed")
            _ = transaction.price
            _ = transaction.appAccountToken
        case "renewal":
            let renewal = try held(try? bench.verifier.renewalInfo(token), "accepted twice")
            try hold(
                Self.agree(json["originalTransactionId"], renewal.payload.originalTransactionID)
                    && Self.agree(json["autoRenewProductId"], renewal.payload.autoRenewProductID)
                    && json["autoRenewStatus"]?.int.map { Int($0) } == renewal.payload.autoRenewStatus?.rawValue,
                "a renewal info is what was signed")
        case "apptransaction":
            let app = try held(try? bench.verifier.appTransaction(token), "accepted twice")
            try hold(
                Self.agree(json["bundleId"], app.payload.bundleID) && json["appAppleId"]?.int == app.payload.appAppleID,
                "an app transaction is what was signed")
        default:
            let notification = try held(try? bench.verifier.notification(token), "accepted twice")
            try hold(
                Self.agree(json["notificationUUID"], notification.id)
                    && Self.agree(json["notificationType"], notification.type?.rawValue)
                    && Self.agree(json["subtype"], notification.subtype?.rawValue)
                    && (json["data"]?["signedTransactionInfo"]?.string == nil || notification.transaction != nil),
                "a notification is what was signed")
        }
    }

    /// Compares byte by byte; `null` and a missing member are nil.
    private static func agree(_ value: JSONValue?, _ text: String?) -> Bool {
        value?.string.map { Array($0.utf8) } == text.map { Array($0.utf8) }
    }

    /// A different signature, a truncated one, and a different payload under the same signature are refused.
    private func alteredTokensAreRefused(_ token: [UInt8]) throws(PropertyError) {
        let end = token.lastIndex(of: UInt8(ascii: ".")) ?? 0
        var otherSignature = token
        otherSignature[end + 40] = otherSignature[end + 40] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        var zeros = token
        for index in (end + 1)..<zeros.count { zeros[index] = UInt8(ascii: "A") }
        for altered in [otherSignature, zeros, Array(token.dropLast(2)), Array(token[...end])] {
            try hold(try acceptedKind(altered, bench.verifier) == nil, "an altered signature is refused")
        }
    }

    /// A token that exceeds the limit of its kind is refused.
    private static func within(limit token: [UInt8], _ kind: String?) -> String? {
        let limit =
            kind == "notification" ? SignedDataVerifier.notificationLimit : SignedDataVerifier.tokenLimit
        return token.count <= limit ? kind : nil
    }

    // MARK: - Headers

    /// Exactly the header's algorithm and its first two certificates count (facts/jws §2).
    private func headerDecides(_ header: [UInt8], payload: [UInt8]) throws(PropertyError) {
        let header = try filled(header)
        let payload = try filled(payload)
        let token = try signed(payload, header: header)
        let verifier = try held(
            try? SignedDataVerifier(policy: FuzzBench.trust(bench.chain.roots)), "the process's roots are roots")
        let isGood = isGood(header)
        let kind = try acceptedKind(token, verifier)
        let expected = isGood ? TokenExpectation(payload, verifier).kind : nil
        try hold(kind == Self.within(limit: token, expected), "the header decides, not \(kind ?? "none")")
        if kind != nil { try hold(verifier.cachedChainCount > 0, "the chain of an accepted token is remembered") }
        if !isGood { try hold(verifier.cachedChainCount == 0, "no chain of a bad header is remembered") }
        let inspection = ProofInspection.inspect(token, policy: FuzzBench.inspection(bench.chain.roots))
        try hold(!inspection.isOK || isGood, "the inspection reads headers as strictly")
    }

    private func isGood(_ header: [UInt8]) -> Bool {
        guard let json = try? JSONValue(decoding: header),
            json["alg"]?.string?.utf8.elementsEqual("ES256".utf8) == true,
            let certificates = json["x5c"]?.array, certificates.count == 3
        else { return false }
        return zip(certificates.prefix(2), bench.chain.tokenSigner.chain).allSatisfy { stated, own in
            stated.string.flatMap { Base64.decode($0) } == own
        }
    }

    // MARK: - Token creation

    private func header() -> [UInt8] {
        let certificates = bench.chain.tokenSigner.chain.map { JSONValue.string(Base64.encode($0)) }
        return Array(JSONValue.object(["alg": "ES256", "x5c": .array(certificates)]).encoded().utf8)
    }

    private func signed(_ payload: [UInt8], header: [UInt8]) throws(PropertyError) -> [UInt8] {
        let text = Array((Base64.encode(header, .url) + "." + Base64.encode(payload, .url)).utf8)
        let signature = try held(try? bench.chain.tokenSigner.key.signES256(text), "the process's key signs")
        return text + Array(("." + Base64.encode(signature, .url)).utf8)
    }

    /// The text with its placeholders replaced.
    private func filled(_ text: [UInt8]) throws(PropertyError) -> [UInt8] {
        guard text.contains(UInt8(ascii: "$")) else { return text }
        let chain = bench.chain.tokenSigner.chain.map { Array(Base64.encode($0).utf8) }
        var result: [UInt8] = []
        var rest = text[...]
        // The limit stops a text of placeholders only, which would grow a hundredfold.
        while let mark = rest.firstIndex(of: UInt8(ascii: "$")), result.count < 64 << 10 {
            result += rest[..<mark]
            rest = rest[(mark + 1)...]
            var replacement: (name: String, text: [UInt8])?
            for (index, name) in ["leaf", "intermediate", "root"].enumerated() where rest.starts(with: name.utf8) {
                replacement = (name, chain[index])
            }
            for (name, payload) in SamplePayloads.nested where rest.starts(with: name.utf8) {
                replacement = (name, try signed(Array(payload.utf8), header: header()))
            }
            result += replacement?.text ?? [UInt8(ascii: "$")]
            rest = rest.dropFirst(replacement?.name.utf8.count ?? 0)
        }
        return result + rest
    }
}
