import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto

/// CPU time of this thread, so that other threads' work does not count.
private func processorSeconds(_ work: () -> Void) -> Double {
    var before = timespec()
    var after = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before)
    work()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after)
    return Double(after.tv_sec - before.tv_sec) + Double(after.tv_nsec - before.tv_nsec) / 1e9
}

@Suite("The cost of a hostile proof is proportional to its size")
struct HostileTimeTests {
    /// A shape that grows: the proof at a number of octets, and its reader.
    struct Shape: Sendable, CustomTestStringConvertible {
        let name: String
        let kind: ProofKind
        let make: @Sendable (Int) -> [UInt8]
        var testDescription: String { name }

        init(_ name: String, _ kind: ProofKind, _ make: @escaping @Sendable (Int) -> [UInt8]) {
            self.name = name
            self.kind = kind
            self.make = make
        }
    }

    private static let authority = CorpusAuthority("time")

    private static func repeated(_ piece: [UInt8], _ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + piece.count)
        while bytes.count < count { bytes += piece }
        return bytes
    }

    private static func repeated(_ piece: String, _ count: Int) -> [UInt8] { repeated(Array(piece.utf8), count) }

    /// A notification with these members before its own, signed by the genuine leaf.
    private static func token(_ members: [UInt8]) -> [UInt8] {
        let payload = Array(TestPayloads.notification().encoded().utf8).dropFirst()
        return authority.token(payload: Array("{".utf8) + members + payload)
    }

    private static func receipt(_ change: (inout HandmadeReceipt) -> Void) -> [UInt8] {
        var receipt = authority.receipt()
        change(&receipt)
        return receipt.der
    }

    private static func numbered(_ count: Int, _ width: Int, _ make: (Int) -> String) -> [UInt8] {
        Array((0..<max(1, count / width)).map(make).joined().utf8)
    }

    static let shapes: [Shape] = [
        Shape("a token of many members", .notification) { count in
            token(numbered(count * 3 / 4, 14) { "\"m\(1_000_000 + $0)\":0," })
        },
        Shape("a token of many members with escapes in their names", .notification) { count in
            token(numbered(count * 3 / 4, 20) { "\"\\u006d\(1_000_000 + $0)\":0," })
        },
        Shape("a token of one long number", .notification) { count in
            token(Array("\"n\":".utf8) + repeated("9", count * 3 / 4) + Array(",".utf8))
        },
        Shape("a token whose date is a long fraction", .notification) { count in
            let digits = String(decoding: repeated("7", count * 3 / 4), as: UTF8.self)
            let text = TestPayloads.notification().encoded()
            let date = #""signedDate":1748736000000"#
            return authority.token(payload: Array(text.replacingOccurrences(of: date, with: date + "." + digits).utf8))
        },
        Shape("a token of one long text of escapes", .notification) { count in
            token(Array("\"t\":\"".utf8) + repeated("\\u00e9\\n", count * 3 / 4) + Array("\",".utf8))
        },
        Shape("a token whose type is a long text of escapes", .notification) { count in
            let text = TestPayloads.notification().encoded()
            let long = String(decoding: repeated("\\ud83d\\ude00", count * 3 / 4), as: UTF8.self)
            return authority.token(payload: Array(text.replacingOccurrences(of: "ONE_TIME_CHARGE", with: long).utf8))
        },
        Shape("a token of lists in lists, again and again", .notification) { count in
            let deep = String(repeating: "[", count: 60) + String(repeating: "]", count: 60) + ","
            return token(Array("\"l\":[".utf8) + repeated(deep, count * 3 / 4) + Array("0],".utf8))
        },
        Shape("a token of open brackets", .notification) { count in
            authority.token(payload: Array("{\"l\":".utf8) + repeated("[", count * 3 / 4))
        },
        Shape("a token of blanks", .notification) { count in token(repeated(" ", count * 3 / 4)) },
        Shape("a header of many certificates", .notification) { count in
            let chain = Array(repeating: authority.leaf.der, count: max(4, count / 600))
            return authority.token(
                header: authority.header(chain), payload: Array(TestPayloads.notification().encoded().utf8))
        },
        Shape("dots", .notification) { repeated(".", $0) },
        Shape("a receipt of many attributes", .receipt) { count in
            let extra = (0..<max(1, count / 13)).map { CorpusContent.attribute(50_000 + Int64($0), []) }
            return authority.receipt(CorpusContent.set(CorpusContent.base + extra)).der
        },
        Shape("a receipt of many purchases", .receipt) { count in
            let purchases = (0..<max(1, count / 180)).map {
                CorpusContent.purchase(CorpusContent.purchaseFields(id: "\(1_000_000 + $0)"))
            }
            return authority.receipt(CorpusContent.set(Array(CorpusContent.base.dropLast()) + purchases)).der
        },
        Shape("a receipt in many pieces", .receipt) { count in
            let content = CorpusContent.set(
                CorpusContent.base + [CorpusContent.attribute(9_999, repeated("x", count / 4))])
            let pieces = content.flatMap { [0x04, 0x01, $0] as [UInt8] }
            return authority.receipt(DERWriter.value(tag: 0x24, pieces)).der
        },
        Shape("a receipt of many certificates", .receipt) { count in
            receipt { $0.certificates = Array(repeating: authority.receiptRoot.der, count: max(3, count / 800)) }
        },
        Shape("a receipt that announces many digests", .receipt) { count in
            let algorithm = DERWriter.sequence(HandmadeDER.oid("1.3.14.3.2.26"))
            return receipt { $0.digestAlgorithms = Array(repeating: algorithm, count: max(1, count / 9)) }
        },
        Shape("a receipt of many signed attributes", .receipt) { count in
            let many = (0..<max(1, count / 13)).map { HandmadeReceipt.attribute("1.2.3.\($0)", [DERWriter.null]) }
            return receipt { $0.attributes = .these($0.soundAttributes + many) }
        },
        Shape("a receipt of many unsigned attributes", .receipt) { count in
            let one = HandmadeReceipt.attribute("1.2.3", [DERWriter.null])
            return receipt { $0.unsignedAttributes = DERWriter.value(tag: 0xA1, repeated(one, count)) }
        },
        Shape("a receipt of many signers", .receipt) { count in receipt { $0.signerCount = max(2, count / 400) } },
        Shape("a receipt of open lengths", .receipt) { repeated([0x30, 0x80], $0) },
        Shape("a receipt of open pieces", .receipt) { repeated([0x24, 0x80], $0) },
        Shape("a content of open sets", .receipt) { authority.receipt(repeated([0x31, 0x80], $0)).der },
        Shape("a content of ends", .receipt) {
            authority.receipt([0x31, 0x80] + repeated([0x30, 0x00], $0) + [0, 0]).der
        },
        Shape("a signer with a long name", .receipt) { count in
            var template = HandmadeCertificate.Template("Long", markers: [HandmadeCertificate.leafMarker])
            for number in 0..<max(1, count / 24) { template.name.append(("2.5.4.11", "unit \(number)")) }
            let (key, issuer) = (authority.receiptLeaf.key, authority.receiptIntermediate)
            let leaf = HandmadeCertificate(template, key: key, issuer: issuer)
            return receipt {
                $0.signer = leaf
                $0.certificates = [leaf.der, authority.receiptIntermediate.der]
            }
        },
        Shape("a signer of many extensions", .receipt) { count in
            var template = HandmadeCertificate.Template("Many", markers: [HandmadeCertificate.leafMarker])
            template.extensions = (0..<max(1, count / 14)).map {
                HandmadeCertificate.added("1.2.3.\($0)", DERWriter.null)
            }
            let (key, issuer) = (authority.receiptLeaf.key, authority.receiptIntermediate)
            let leaf = HandmadeCertificate(template, key: key, issuer: issuer)
            return receipt {
                $0.signer = leaf
                $0.certificates = [leaf.der, authority.receiptIntermediate.der]
            }
        },
        Shape("base64 of blanks", .receiptText) { repeated(" \n", $0) },
        Shape("base64 of nothing", .receiptText) { repeated("A", $0) },
        Shape("an old-style receipt of quotes", .oldStyle) { repeated("{\"", 2) + repeated("\"", $0) },
        Shape("an old-style receipt of half pairs", .oldStyle) { repeated("{", 1) + repeated("\"a\" = \"b\" ", $0) },
        Shape("an old-style receipt of blanks", .oldStyle) { repeated("{\"a\"", 4) + repeated(" ", $0) },
        Shape("an old-style receipt of many pairs", .oldStyle) { count in
            Array("{".utf8) + numbered(count, 16) { "\"\(1_000_000 + $0)\"=\"v\";" }
        },
        Shape("a PEM of lines", .oldStyle) { Array("-----BEGIN PKCS7-----\n".utf8) + repeated("A\n", $0) },
        Shape("a PEM of combining marks", .oldStyle) {
            Array("-----BEGIN PKCS7-----\n".utf8) + repeated("\u{301}", $0)
        },
    ]

    /// Three sizes, each four times the one before, give two slopes, which exclude the fixed cost of a proof.
    /// Proportional work gives equal slopes; quadratic work makes the second one four times as steep. A limit of two
    /// and a half leaves room for sorting, caches and a noisy machine. `TILL_CORPUS_OCTETS=8388608` is for release
    /// builds.
    @Test("Reading or refusing a proof takes time in proportion to its size", arguments: shapes)
    func proportion(shape: Shape) throws {
        let wanted = ProcessInfo.processInfo.environment["TILL_CORPUS_OCTETS"].flatMap { Int($0) } ?? 128 << 10
        let largest = min(wanted, shape.kind == .notification ? SignedDataVerifier.notificationLimit * 3 / 4 : 8 << 20)
        let sizes = [16, 4, 1].map { max(1_024, largest / $0) }
        var policy = TrustPolicy(bundleID: nil, environments: nil) { TestAuthority.today }
        policy.roots = Self.authority.roots
        let verifier = try SignedDataVerifier(policy: policy)
        var inspection = InspectionPolicy { TestAuthority.today }
        inspection.roots = policy.roots
        func cost(_ bytes: [UInt8]) -> Double {
            (0..<3).map { _ in
                processorSeconds {
                    if shape.kind != .oldStyle { _ = CorpusVerifier.outcome(bytes, as: shape.kind, verifier) }
                    _ = ProofInspection.inspect(bytes, policy: inspection)
                }
            }.min() ?? 0
        }
        let proofs = sizes.map(shape.make)
        var ratio = Double.infinity
        var figures = ""
        // Other processes can spoil a measurement; quadratic work is steep every time.
        for _ in 0..<4 where ratio >= 2.5 {
            let costs = proofs.map { (octets: Double($0.count), seconds: cost($0)) }
            func slope(_ from: Int, _ to: Int) -> Double {
                (costs[to].seconds - costs[from].seconds) / (costs[to].octets - costs[from].octets)
            }
            // Costs below that of base64 are noise.
            ratio = slope(1, 2) / max(slope(0, 1), Self.passCost)
            figures = costs.map { "\(Int($0.octets)) octets \(Int($0.seconds * 1e6)) µs" }.joined(separator: ", ")
        }
        print("hostile time, \(shape.name): \(figures), ratio \((ratio * 100).rounded() / 100)")
        #expect(ratio < 2.5, "\(figures)")
    }

    /// Seconds that decoding an octet of base64 costs this build on this machine, measured once.
    private static let passCost: Double = {
        let text = [UInt8](repeating: 0x41, count: 1 << 18)
        let seconds = (0..<3).map { _ in processorSeconds { _ = Base64.decode(text) } }.min() ?? 0
        return seconds / Double(text.count)
    }()
}
