import Foundation
import TillCrypto

@testable import TillLedger

/// Writes the seeds of the fuzzers: valid proofs of every kind, signed by a chain whose private keys exist only in this
/// process, and the parts that reach code behind a signature. `scripts/fuzz seeds` runs it; its output is committed.
struct SeedCorpus {
    private let chain: TestChain
    private(set) var seeds: [(target: FuzzTarget, name: String, bytes: [UInt8])] = []
    /// Everything that the chain signed, by SHA-256, with its name.
    private(set) var signed: [(hash: String, name: String)] = []

    init() throws(SigningError) {
        chain = try TestChain("Till seeds")
        try addReceipts()
        try addTokens()
        addTexts()
        addForms()
        try addStored()
        addSignatures()
    }

    /// Writes `corpus` and `authority` into the package's folder `Fuzz`.
    func write(to folder: URL) throws {
        for seed in seeds {
            let place = folder.appendingPathComponent("corpus/\(seed.target.rawValue)")
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            try Data(seed.bytes).write(to: place.appendingPathComponent(seed.name))
        }
        let authority = folder.appendingPathComponent("authority")
        try FileManager.default.createDirectory(at: authority, withIntermediateDirectories: true)
        for (name, root) in zip(["tokens.cer", "receipts.cer"], chain.roots) {
            try Data(root).write(to: authority.appendingPathComponent(name))
        }
        let lines = signed.map { "\($0.hash) \($0.name)\n" }.joined()
        let head = "# SHA-256 of everything that the keys of these roots have signed. The keys were discarded.\n"
        try Data((head + lines).utf8).write(to: authority.appendingPathComponent("signed.txt"))
    }

    private mutating func add(_ target: FuzzTarget, _ name: String, _ bytes: some Sequence<UInt8>) {
        seeds.append((target, name, Array(bytes)))
    }

    private mutating func addReceipts() throws(SigningError) {
        let payload = SamplePayloads.receipt
        for form in ReceiptForge.Form.allCases {
            let receipt = try ReceiptForge.receipt(payload, form, by: chain.receiptSigner)
            signed.append((FuzzBench.hash(ReceiptForge.content(payload, form)), "receipt, \(form)"))
            add(.receipt, "receipt-\(form)", receipt)
            if form == .der {
                add(.receipt, "receipt-pem", PEM.encode(receipt, label: "PKCS7").utf8)
                add(.receipt, "receipt-base64", Base64.encode(receipt).utf8)
            }
        }
        add(.receipt, "content", payload)
        add(.receipt, "content-wrapped", DERWriter.octetString(payload))
        add(.receipt, "content-in-pieces", [0x24, 0x80] + DERWriter.octetString(payload) + [0, 0])
        let small = [
            ReceiptWriter.text(0, "Production"), ReceiptWriter.text(2, "b"),
            ReceiptWriter.text(12, "2025-06-01T00:00:00Z"),
        ]
        add(.receipt, "content-small", DERWriter.setOf(small.compactMap { $0 }))
        try addOldStyleReceipts()
    }

    private mutating func addOldStyleReceipts() throws(SigningError) {
        let info = """
            {\n\t"original-purchase-date-ms" = "1333000000000";\n\t"purchase-date-ms" = "1333000000000";
            \t"transaction-id" = "170000029449420";\n\t"quantity" = "1";\n\t"product-id" = "com.example.learn.coins60";
            \t"bid" = "com.example.learn";\n\t"bvrs" = "1.0";\n}
            """
        let certificate = chain.receiptSigner.chain[0]
        let count = withUnsafeBytes(of: UInt32(certificate.count).bigEndian) { Array($0) }
        for (version, length) in [(2, 128), (3, 256)] as [(UInt8, Int)] {
            let blob = [version] + [UInt8](repeating: 7, count: length) + count + certificate
            let text = """
                {\n\t"signature" = "\(Base64.encode(blob))";\n\t"purchase-info" = "\(Base64.encode(Array(info.utf8)))";
                \t"environment" = "Sandbox";\n\t"pod" = "100";\n\t"signing-status" = "0";\n}
                """
            add(.receipt, "old-style-\(version)", text.utf8)
            if version == 2 { add(.receipt, "old-style-base64", Base64.encode(Array(text.utf8)).utf8) }
            add(.receipt, "blob-\(version)", blob)
        }
    }

    private mutating func addTokens() throws(SigningError) {
        let transaction = try token("transaction", SamplePayloads.transaction)
        let renewal = try token("renewal", SamplePayloads.renewal)
        _ = try token("app-transaction", SamplePayloads.appTransaction)
        _ = try token(
            "notification", SamplePayloads.notification(transaction: transaction, renewal: renewal))
        let payloads = [
            ("transaction", SamplePayloads.transaction), ("revoked", SamplePayloads.revoked),
            ("renewal", SamplePayloads.renewal), ("app-transaction", SamplePayloads.appTransaction),
            ("notification", SamplePayloads.notification(transaction: "$transaction", renewal: "$renewal")),
            ("summary", SamplePayloads.summary), ("external-purchase", SamplePayloads.externalPurchase),
            ("app-data", SamplePayloads.appData),
        ]
        for (name, payload) in payloads { add(.token, "payload-\(name)", payload.utf8) }
        add(.token, "header", Array(SamplePayloads.header.utf8) + [0] + SamplePayloads.renewal.utf8)
    }

    private mutating func token(_ name: String, _ payload: String) throws(SigningError) -> String {
        let certificates = chain.tokenSigner.chain.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",")
        let header = #"{"alg":"ES256","x5c":["# + certificates + "]}"
        let text = Base64.encode(Array(header.utf8), .url) + "." + Base64.encode(Array(payload.utf8), .url)
        let token = try text + "." + Base64.encode(chain.tokenSigner.key.signES256(Array(text.utf8)), .url)
        signed.append((FuzzBench.hash(text.utf8), name))
        add(.token, "token-\(name)", token.utf8)
        return token
    }

    private mutating func addTexts() {
        let texts = [
            "transaction": SamplePayloads.transaction, "revoked": SamplePayloads.revoked,
            "summary": SamplePayloads.summary, "null": "null", "empty": "{}",
            "numbers": "[0,-1,9223372036854775807,-9223372036854775808,9223372036854775808,1e3,-2.5E-3,0.1]",
            "strings": #"["","\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud800","学点 60 😀"]"#,
            "object":
                #"{"a":null,"b":[true,false],"data":{"a":1},"signedDate":1748736000000.5,"price":6,"items":[{"a":1}]}"#,
            "marks": "[\"e" + String(repeating: "\u{301}", count: 15) + String(repeating: #"\u0316"#, count: 15)
                + "\"]",
            "twice": #"{"a":1,"\u0061":"2","":[{}]}"#,
            "depth": String(repeating: "[", count: 64) + String(repeating: "]", count: 64),
            "body-jws": #"{"signedTransaction":"a.b.c","orderId":"3F2C4D5E-0011-4a2b-8c3d-0123456789ab"}"#,
            "body-receipt": #"{"receipt":"AA==","transactionId":"1","productId":"p","userId":null}"#,
            "body-order": #"{"id":"3F2C4D5E-0011-4a2b-8c3d-0123456789ab","userId":"ann","productId":"p","quantity":1}"#,
            "body-debit": #"{"currency":"points","amount":60,"reference":"lesson 7"}"#,
        ]
        for (name, text) in texts.sorted(by: { $0.key < $1.key }) { add(.json, name, text.utf8) }
    }

    private mutating func addForms() {
        let texts = [
            "target": "/v1/orders/7%20a?status=open&limit=20&q=%E5%AD%A6%E7%82%B9",
            "form": "user=ann+b&password=%26%3D%25&empty=&&flag",
            "headers": "Host: example.org\nContent-Length: 12\nAccept-Language: zh-CN\nExpect: 100-continue",
            "chunked": "host:a\nTransfer-Encoding:chunked\nX-A:  b ",
        ]
        for (name, text) in texts.sorted(by: { $0.key < $1.key }) { add(.form, name, text.utf8) }
    }

    /// Compressed proofs under the header of `StoredProofProperties`, and payloads to compress.
    /// One for each key; the altered bit moves from r to s.
    private mutating func addSignatures() {
        for key in 0..<8 {
            var altered = [UInt8](repeating: 0, count: 64)
            altered[key * 9] = 1 << UInt8(key)
            add(.signature, "key-\(key)", [UInt8(key * 9)] + altered + Array("message \(key)".utf8))
        }
    }

    private mutating func addStored() throws(SigningError) {
        let header = StoredProofProperties.header
        for (name, payload) in [("transaction", SamplePayloads.transaction), ("revoked", SamplePayloads.revoked)] {
            add(.stored, "payload-\(name)", payload.utf8)
            let signed = Array("\(String(decoding: header, as: UTF8.self))\(Base64.encode(payload.utf8, .url))".utf8)
            let signature = Base64.encode(try chain.tokenSigner.key.signES256(signed), .url)
            let rest = Array((String(decoding: signed.dropFirst(header.count), as: UTF8.self) + "." + signature).utf8)
            add(.stored, "token-\(name)", rest)
            guard let form = try? CompressedProof(), let row = try? form.compress(header: header, rest: rest) else {
                preconditionFailure("a sample compresses")
            }
            add(.stored, "row-\(name)", row)
        }
    }
}
