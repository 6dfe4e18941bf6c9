import Foundation
import Testing
import TillAppStore
import TillCrypto
import TillJSON

@testable import till

@Suite("till verify, as a process")
struct VerifyTests {
    /// A token with untrusted certificates and an invalid signature.
    private func token(_ payload: JSONValue, certificates: Int = 3) -> String {
        let certificate = JSONValue.string(Base64.encode(foreignCertificate()))
        let header: JSONValue = ["alg": "ES256", "x5c": .array(Array(repeating: certificate, count: certificates))]
        let parts = [Array(header.encoded().utf8), Array(payload.encoded().utf8), [UInt8](repeating: 1, count: 64)]
        return parts.map { Base64.encode($0, .url) }.joined(separator: ".")
    }

    private let transaction: JSONValue = [
        "transactionId": "2000000000000001", "productId": "com.example.points60", "bundleId": "com.example",
        "environment": "Xcode", "purchaseDate": 1_700_000_000_000, "signedDate": 1_700_000_000_000,
    ]

    @Test("an untrusted token is refused: exit 1, the reason on stderr, one JSON document on stdout")
    func untrusted() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("proof.jws", token(transaction) + "\n")
        let ran = try runTill(["verify", file, "--json"])
        #expect(ran.code == 1)
        #expect(ran.error.hasPrefix("till: chain_untrusted: its certificates do not lead to a trusted root"))
        let json = try JSONValue(decoding: ran.out)
        #expect(json["kind"] == "jws-transaction" && json["verdict"] == "chain_untrusted")
        #expect(json["fields"]?["payload"]?["transactionId"] == "2000000000000001")
        #expect(Set(json.object?.keys.map { $0 } ?? []) == ["kind", "verdict", "detail", "fields", "record"])
    }

    @Test(
        "people see each check, which ones ran, and that claims are unverified, in both languages")
    func forPeople() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("proof.jws", token(transaction))
        let english = try runTill(["verify", file, "--bundle-id", "com.example"]).out
        #expect(english.contains("Kind: jws-transaction, a signed transaction"))
        #expect(english.contains("✓  format\n") && english.contains("✓  certificates can be read\n"))
        #expect(english.contains("✗  certificates lead to a trusted root"))
        #expect(english.contains("-  signature (not reached)") && english.contains("-  app (not reached)"))
        #expect(english.contains("Unverified content (do not trust):"))
        #expect(english.contains("2023-11-14T22:13:20.000Z"))
        let chinese = try runTill(["verify", file, "--lang", "zh"])
        #expect(chinese.out.contains("种类：jws-transaction，签名交易") && chinese.out.contains("未经验证的内容（不可信）"))
        #expect(chinese.error.contains("证书链通不到受信任的根"))
    }

    @Test(
        "under --environment xcode a token is decoded, not trusted: exit 1, and no check of trust passes"
    )
    func withoutTrust() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("proof.jws", token(transaction, certificates: 1))
        let ran = try runTill(["verify", file, "--environment", "xcode"])
        #expect(ran.code == 1 && ran.error.hasPrefix("till: ok-unverified"))
        #expect(ran.out.contains("-  signature (not checked)") && !ran.out.contains("✓  signature"))
        #expect(ran.out.contains("Unverified content (do not trust):"))
    }

    @Test(
        "each kind of damage has its verdict",
        arguments: [
            ("", "malformed"), ("hello", "malformed"), ("a.b.c", "malformed"),
            ("{\"signature\" = \"x\";}", "malformed"),
        ])
    func damaged(content: String, verdict: String) throws {
        let ran = try runTill(["verify", "-", "--json"], input: Array(content.utf8))
        #expect(ran.code == 1)
        #expect(try JSONValue(decoding: ran.out)["verdict"]?.string == verdict)
        #expect(ran.error.hasPrefix("till: \(verdict)"))
    }

    @Test("certificates are counted, an invalid root is reported, and a root alone makes no valid signer")
    func certificates() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("proof.jws", token(transaction))
        let short = try directory.write("short.jws", token(transaction, certificates: 2))
        let nothing = try directory.write("nothing.cer", "no certificate")
        let root = try directory.write("root.cer", foreignCertificate())
        func verdict(_ arguments: [String]) throws -> String? {
            try JSONValue(decoding: try runTill(["verify", "--json"] + arguments).out)["verdict"]?.string
        }
        #expect(try verdict([short]) == "chain_length")
        #expect(try verdict([file, "--root", nothing]) == "bad_root")
        // Trusting this certificate makes the chain valid, but not permitted to sign App Store proofs.
        #expect(try verdict([file, "--root", root]) == "missing_oid")
    }

    @Test("stdin and a file give the same answer")
    func standardInput() throws {
        let directory = try TemporaryDirectory()
        let text = token(transaction)
        let fromFile = try runTill(["verify", try directory.write("proof.jws", text), "--json"])
        let fromInput = try runTill(["verify", "-", "--json"], input: Array(text.utf8))
        #expect(fromFile.out == fromInput.out && !fromInput.out.isEmpty && fromFile.code == fromInput.code)
    }

    @Test("a missing file, a missing root and an endless proof are refused with nothing on stdout")
    func unreadable() throws {
        for (arguments, reason) in [
            (["/nonexistent.jws"], "/nonexistent.jws: there is no such file"),
            (["-", "--root", "/nonexistent.cer"], "/nonexistent.cer: there is no such file"),
            (["/dev/zero"], "/dev/zero: is longer than 16777216 bytes"),
        ] {
            let ran = try runTill(["verify", "--json"] + arguments)
            #expect(ran.code == 1 && ran.out.isEmpty && ran.error == "till: \(reason)\n")
        }
    }

    @Test(
        "wrong flags are wrong usage",
        arguments: [
            (["verify"], "FILE is missing"),
            (["verify", "-", "--environment", "Sandbox"], "Did you mean sandbox?"),
            (["verify", "-", "--at", "-1"], "--at must be a whole number from 0"),
            (["verify", "-", "--app-apple-id", "x"], "--app-apple-id must be a whole number of at least 1"),
            (["verify", "-", "--device-guid", "xyz"], "--device-guid must be hexadecimal digits"),
            (["verify", "-", "--roots", "x"], "Did you mean --root?"),
        ])
    func wrongUsage(arguments: [String], expected: String) throws {
        let ran = try runTill(arguments)
        #expect(ran.code == 2 && ran.out.isEmpty && ran.error.contains(expected), "\(ran.error)")
    }

    @Test("a hostile proof's content can't write to the terminal, and dates beyond the calendar are numbers")
    func hostileClaims() throws {
        let hostile: JSONValue = [
            "transactionId": "\u{1B}]0;gotcha\u{7}", "productId": .string(String(repeating: "x", count: 10_000)),
            "purchaseDate": .int(.min), "expiresDate": .int(.max), "signedDate": .int(.min), "\u{1B}[2J": "clear",
        ]
        for flags in [[], ["--environment", "xcode"], ["--json"]] {
            let ran = try runTill(["verify", "-"] + flags, input: Array(token(hostile).utf8))
            #expect(ran.code == 1)
            #expect(!(ran.out + ran.error).contains { $0 == "\u{1B}" || $0 == "\u{7}" })
        }
        let ran = try runTill(["verify", "-"], input: Array(token(hostile).utf8))
        #expect(ran.out.contains("-9223372036854775808") && ran.out.utf8.count < 3_000)
    }

    @Test("the record accompanies the verdict: the input, each check, its hash, and the failed one")
    func record() throws {
        let text = Array(token(transaction).utf8)
        let json = try JSONValue(decoding: try runTill(["verify", "-", "--json"], input: text).out)
        let record = try #require(json["record"])
        #expect(record["sha256"]?.string == hexadecimal(Digest.sha256.hash(text)))
        #expect(record["size"]?.int == Int64(text.count) && record["verdict"] == json["verdict"])
        #expect(record["failed"] == "chain" && record["verifiedAt"]?["source"] == "signedDate")
        let checks = try #require(record["checks"]?.array)
        #expect(checks.map { $0["code"]?.string ?? "" } == CheckCode.all(of: .transaction).map(\.rawValue))
        #expect(checks.filter { $0["outcome"] == "failed" }.count == 1)
        #expect(checks.first { $0["code"] == "app" }?["reason"] == "not_reached")
        #expect(record["certificates"]?.array?.first?["key"] == "EC P-256")
        for (language, words) in [("en", "Certificate: came with the proof"), ("zh", "证书：凭证附带")] {
            let ran = try runTill(["verify", "-", "--lang", language], input: text)
            #expect(ran.out.contains(words) && ran.out.contains(hexadecimal(Digest.sha256.hash(text))))
        }
    }

    private static let vectors = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("shared/vectors/apple__app-store-server-library-swift")
    private static let vectorsAreHere = FileManager.default.fileExists(atPath: vectors.path)

    @Test(
        "a genuine proof exits 0 with the right flags, and not with wrong ones",
        .enabled(if: vectorsAreHere, "../shared/vectors is not beside the repository"))
    func genuine() throws {
        let proof = Self.vectors.path + "/mock_signed_data/testNotification"
        let flags = ["--root", Self.vectors.path + "/certs/testCA.der", "--json"]
        let ran = try runTill(["verify", proof, "--bundle-id", "com.example", "--environment", "sandbox"] + flags)
        #expect(ran.code == 0 && ran.error.isEmpty)
        #expect(try JSONValue(decoding: ran.out)["verdict"] == "ok")
        for (wrong, verdict) in [
            (["--environment", "production"], "wrong_environment"), (["--bundle-id", "com.example.x"], "wrong_app"),
            (["--at", "0"], "chain_expired"),
        ] {
            let refused = try runTill(["verify", proof] + flags + wrong)
            #expect(refused.code == 1)
            #expect(try JSONValue(decoding: refused.out)["verdict"]?.string == verdict)
        }
    }

    @Test(
        "a device id is accepted as people copy it: with hyphens or colons, in either case",
        .enabled(if: vectorsAreHere, "../shared/vectors is not beside the repository"),
        arguments: [
            ("956328d9cc6a47f4be406953fb0ab6c7", 0), ("956328D9-CC6A-47F4-BE40-6953FB0AB6C7", 0),
            ("956328d9-cc6a-47f4-be40-6953fb0ab6c7", 0), ("00:11:22:33:44:55", 1), ("001122334455", 1),
            ("956328d9cc6a47f4be406953fb0ab6c8", 1), ("956328d9cc6a47f4be406953fb0ab6c", 2), ("", 2),
        ])
    func device(text: String, code: Int32) throws {
        let folder = Self.vectors.deletingLastPathComponent().appendingPathComponent("tikhop__TPInAppReceipt")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        let bundle = ["--bundle-id", "dev.bonzer.weeka.app"]
        let file = try #require(
            try files.first { try runTill(["verify", folder.path + "/" + $0] + bundle).code == 0 })
        let ran = try runTill(["verify", folder.path + "/" + file, "--device-guid", text, "--json"] + bundle)
        #expect(ran.code == code, "\(ran.error)")
        guard code < 2 else { return }
        let json = try JSONValue(decoding: ran.out)
        #expect(json["verdict"]?.string == (code == 0 ? "ok" : "wrong_device"))
        #expect(json["fields"]?["device_hash_valid"] == .bool(code == 0))
    }

    @Test(
        "an old-style receipt's unsigned lines are shown as such, and have no effect (T8)",
        .enabled(if: vectorsAreHere, "../shared/vectors is not beside the repository"))
    func unsignedLines() throws {
        let folder = Self.vectors.deletingLastPathComponent().appendingPathComponent("voltrue2__in-app-purchase")
        let file = try #require(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).first {
                try runTill(["verify", folder.path + "/" + $0]).out.contains("old-style-receipt")
            })
        let ran = try runTill(["verify", folder.path + "/" + file, "--environment", "production"])
        #expect(ran.code == 0 && ran.out.contains("environment (not checked: not signed)"))
        #expect(ran.out.contains("Lines without a signature:") && ran.out.contains("environment = Sandbox"))
        let chinese = try runTill(["verify", folder.path + "/" + file, "--environment", "production", "--lang", "zh"])
        #expect(chinese.out.contains("环境（不检查：没有签名保护）"))
    }
}
