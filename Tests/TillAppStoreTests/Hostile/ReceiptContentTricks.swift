import TillAppStore
import TillCrypto

extension HostileCorpus {
    private func der(_ content: [UInt8]) -> [UInt8] { authority.receipt(content).der }

    // MARK: Chains

    mutating func addReceiptChains() {
        let (root, middle) = (authority.receiptRoot, authority.receiptIntermediate)
        let (leafMarkers, middleMarkers) = ([HandmadeCertificate.leafMarker], [HandmadeCertificate.intermediateMarker])
        // Generating keys is slow, so the flawed certificates have those of the good ones.
        func certificate(
            _ name: String, markers: [String], issuer: HandmadeCertificate?, key: SeededKey,
            _ change: (inout HandmadeCertificate.Template) -> Void = { _ in }
        ) -> HandmadeCertificate {
            var template = HandmadeCertificate.Template(name, markers: markers)
            template.serial = [0x21]
            change(&template)
            return HandmadeCertificate(template, key: key, issuer: issuer)
        }
        func leaf(
            markers: [String] = leafMarkers, issuer: HandmadeCertificate? = middle, key: SeededKey? = nil,
            _ change: (inout HandmadeCertificate.Template) -> Void = { _ in }
        ) -> HandmadeCertificate {
            certificate("Flawed Leaf", markers: markers, issuer: issuer, key: key ?? authority.receiptLeaf.key, change)
        }
        func above(
            markers: [String] = middleMarkers, issuer: HandmadeCertificate? = root,
            _ change: (inout HandmadeCertificate.Template) -> Void = { _ in }
        ) -> HandmadeCertificate {
            certificate("Flawed Intermediate", markers: markers, issuer: issuer, key: middle.key) {
                $0.isCA = true
                change(&$0)
            }
        }
        func add(
            _ name: String, _ verdict: Verdict, _ leaf: HandmadeCertificate, _ middle: HandmadeCertificate = middle
        ) {
            var receipt = authority.receipt()
            receipt.signer = leaf
            receipt.certificates = [leaf.der, middle.der, root.der]
            self.add(.receiptChains, "receipt-sha256", name, receipt.der, verdict)
            receipt.attributes = .sound
            self.add(.receiptChains, "receipt-attributes", name, receipt.der, verdict)
        }
        for markers in [[], ["1.2.840.113635.100.6.11.2"], middleMarkers] {
            add("leaf marked \(markers)", .missingOID, leaf(markers: markers))
        }
        for markers in [[], ["1.2.840.113635.100.6.2.2"], leafMarkers] {
            let middle = above(markers: markers)
            add("intermediate marked \(markers)", .missingOID, leaf(issuer: middle), middle)
        }
        let (foreign, foreignMiddle) = (authority.foreignReceiptLeaf, authority.foreignReceiptIntermediate)
        add("a foreign chain", .chainUntrusted, foreign, foreignMiddle)
        add("a foreign leaf", .chainUntrusted, foreign)
        add("leaf signed by itself", .chainUntrusted, leaf(issuer: nil))
        add("leaf under the root directly", .missingOID, leaf(issuer: root))
        let notCA = above { $0.isCA = false }
        add("intermediate that is no authority", .chainUntrusted, leaf(issuer: notCA), notCA)
        let crossed = above(issuer: authority.foreignReceiptRoot)
        add("intermediate of a foreign root", .chainUntrusted, leaf(issuer: crossed), crossed)
        add(
            "leaf issued by the genuine leaf", .chainUntrusted, leaf(issuer: authority.receiptLeaf),
            authority.receiptLeaf)
        add("a key on P-256", .badSignature, leaf(key: authority.leaf.key))
        add("the token chain's leaf", .chainUntrusted, authority.leaf)
        for (name, from, to) in [
            ("expired", "240101000000Z", "250531235959Z"), ("too young", "250601000001Z", "260101000000Z"),
        ] {
            func period(_ template: inout HandmadeCertificate.Template) {
                (template.notBefore, template.notAfter) = (from, to)
            }
            add("leaf \(name)", .chainExpired, leaf(period))
            let middle = above(period)
            add("intermediate \(name)", .chainExpired, leaf(issuer: middle), middle)
        }
    }

    // MARK: Contents, each signed by the genuine leaf

    mutating func addReceiptContent() {
        typealias Content = CorpusContent
        func add(_ harm: String, _ content: [UInt8], _ verdict: Verdict? = .malformed) {
            self.add(.receiptContent, "receipt-sha256", harm, der(content), verdict)
        }
        func with(_ extra: [UInt8]...) -> [UInt8] { Content.set(Content.base + extra) }
        func without(_ index: Int, _ extra: [UInt8]...) -> [UInt8] {
            var attributes = Content.base
            attributes.remove(at: index)
            return Content.set(attributes + extra)
        }
        func purchase(_ fields: [UInt8]...) -> [UInt8] {
            without(5, Content.purchase(Content.purchaseFields() + fields))
        }
        // An attribute that the verifier reads may appear once: with two, readers could differ.
        for (name, attribute) in [
            ("environment", Content.utf8(0, "ProductionSandbox")), ("the same environment", Content.base[0]),
            ("bundle id", Content.utf8(2, "com.example.other")), ("the same bundle id", Content.base[1]),
            ("version", Content.utf8(3, "2")),
            ("opaque value", Content.attribute(4, [1])), ("creation date", Content.ia5(12, "2025-06-02T00:00:00Z")),
            ("empty creation date", Content.ia5(12, "")),
        ] {
            add("a second \(name)", with(attribute))
            add("a second \(name), first", Content.set([attribute] + Content.base))
        }
        for (name, field) in [
            ("product", Content.utf8(1702, "com.example.learn.coins300")), ("transaction id", Content.utf8(1703, "9")),
            ("quantity", Content.number(1701, 9)),
            ("cancellation date", Content.ia5(1712, "2025-05-31T23:59:30Z")),
            ("purchase date", Content.ia5(1704, "2025-05-01T00:00:00Z")),
            ("original id", Content.utf8(1705, "9")), ("kind", Content.number(1707, 3)),
            ("expiry", Content.ia5(1708, "2026-01-01T00:00:00Z")),
        ] { add("a purchase with a second \(name)", purchase(field)) }
        add("no environment", without(0), .wrongEnvironment)
        add("no bundle id", without(1))
        add("no creation date", without(4))
        for type in ["ProductionSandbox", "Xcode", "", "production", "Production ", "Production\u{0}", "Sandbox"] {
            add("environment \(type)", without(0, Content.utf8(0, type)), .wrongEnvironment)
        }
        for bundle in [
            "com.example.other", "com.example.Learn", "com.example.learn\u{0}", "com.example.learn.", "*",
            "com.example.le\u{430}rn",
        ] {
            add("app \(bundle)", without(1, Content.utf8(2, bundle)), .wrongApp)
        }
        add("an empty bundle id", without(1, Content.utf8(2, "")))
        add("a bundle id of 300 octets", without(1, Content.utf8(2, String(repeating: "a", count: 300))))
        for date in [
            "", "yesterday", "2025-06-01", "2025-13-01T00:00:00Z", "2025-06-01T25:00:00Z", "250601000000Z",
            "2025-06-01T00:00:00", "99999-01-01T00:00:00Z",
        ] {
            add("created \(date)", without(4, Content.ia5(12, date)))
        }
        for date in [
            "1970-01-01T00:00:00Z", "2023-12-31T23:59:59Z", "2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
            "0001-01-01T00:00:00Z",
        ] {
            add("created \(date)", without(4, Content.ia5(12, date)), .chainExpired)
        }
        addReceiptEncodings()
        addReceiptMeanings()
    }

    /// Attributes and numbers with an invalid encoding.
    private mutating func addReceiptEncodings() {
        typealias Content = CorpusContent
        func add(_ harm: String, _ content: [UInt8]) {
            self.add(.receiptContent, "receipt-sha256", harm, der(content), .malformed)
        }
        func with(_ extra: [UInt8]) -> [UInt8] { Content.set(Content.base + [extra]) }
        let (one, empty) = (DERWriter.integer(1), DERWriter.octetString([]))
        func sequence(_ parts: [UInt8]) -> [UInt8] { DERWriter.value(tag: 0x30, parts) }
        let odd: [(String, [UInt8])] = [
            ("an integer", one), ("a null", DERWriter.null), ("an empty sequence", sequence([])),
            ("only a type", sequence(one)),
            ("no value", sequence(one + one)), ("a field more", sequence(one + one + empty + one)),
            ("a value that is no octet string", sequence(one + one + one)),
            (
                "a type of nine octets",
                sequence(DERWriter.value(tag: 0x02, [UInt8](repeating: 0x7F, count: 9)) + one + empty)
            ),
            ("a type without octets", sequence([0x02, 0] + one + empty)),
            ("a text as type", sequence(DERWriter.utf8String("17") + one + empty)),
            ("a version without octets", sequence(one + [0x02, 0] + empty)), ("a length beyond", [0x30, 0x20] + one),
            ("an indefinite length without end", [0x30, 0x80] + one + one + empty),
            ("a long tag", [0x3F, 0x81, 0x01, 0x00]), ("a length of 2^63", [0x30, 0x88, 0x80, 0, 0, 0, 0, 0, 0, 0]),
            ("a set", DERWriter.value(tag: 0x31, one + one + empty)),
        ]
        for (name, attribute) in odd { add("an attribute that is \(name)", with(attribute)) }
        for (name, value) in [
            ("no text", DERWriter.integer(7)), ("overlong UTF-8", DERWriter.value(tag: 0x0C, [0xC0, 0x80])),
            ("half a character", DERWriter.value(tag: 0x0C, [0xE2, 0x82])),
            ("two texts", DERWriter.utf8String("a") + DERWriter.utf8String("b")),
            ("a text cut off", [0x0C, 0x05, 0x41]), ("UTF-16", DERWriter.value(tag: 0x1E, [0, 0x41])),
        ] { add("an original version that is \(name)", with(Content.attribute(19, value))) }
        for (name, value) in [
            ("text", DERWriter.utf8String("1")),
            ("nine octets", DERWriter.value(tag: 0x02, [UInt8](repeating: 1, count: 9))), ("empty", [0x02, 0x00]),
            ("two numbers", DERWriter.integer(1) + DERWriter.integer(2)), ("indefinite", [0x02, 0x80, 1, 0, 0]),
            ("a real", [0x09, 0x03, 0x80, 0, 1]),
        ] { add("a purchase whose quantity is \(name)", with(Content.purchase([Content.attribute(1701, value)]))) }
        for (name, value) in [
            ("empty", []), ("a sequence", sequence(one)), ("cut off", [0x31, 0x05]), ("two sets", [0x31, 0, 0x31, 0]),
        ] as [(String, [UInt8])] {
            add("a purchase that is \(name)", with(Content.attribute(17, value)))
        }
        let sound = Content.sound
        let whole: [(String, [UInt8])] = [
            ("empty", []), ("an octet", [0x31]), ("text", Array("hello".utf8)),
            ("a sequence", sequence(Content.base.flatMap { $0 })), ("trailing", sound + [0]),
            ("twice", sound + sound), ("cut", Array(sound.dropLast())),
            ("an octet string in an octet string", DERWriter.octetString(DERWriter.octetString(sound))),
            ("400 open sets", Array(repeating: [0x31, 0x80], count: 400).flatMap { $0 }),
            ("5000 open sets", Array(repeating: [0x31, 0x80], count: 5_000).flatMap { $0 }),
            (
                "5000 nested sequences",
                (0..<5_000).reduce([0x05, 0x00]) { inner, _ in
                    DERWriter.value(tag: 0x30, inner.count > 3_000 ? [] : inner)
                }
            ),
            ("JSON", Array("{\"bundle_id\":\"com.example.learn\"}".utf8)),
        ]
        for (name, content) in whole { add("a content that is \(name)", content) }
    }

    /// Unusual, signed, and with one meaning.
    private mutating func addReceiptMeanings() {
        typealias Content = CorpusContent
        func add(_ harm: String, _ content: [UInt8], _ meaning: String) {
            self.add(.oneMeaning, "receipt-sha256", harm, der(content), meaning: meaning)
        }
        func with(_ extra: [UInt8]...) -> [UInt8] { Content.set(Content.base + extra) }
        func bought(_ quantity: Int64) -> [UInt8] {
            var fields = Content.purchaseFields()
            fields[0] = Content.number(1701, quantity)
            return Content.set(Content.base.dropLast() + [Content.purchase(fields)])
        }
        let sound = "com.example.learn production: 2000000900000001 com.example.learn.coins60 × 2"
        // A transaction with an impossible quantity is no purchase; the receipt stays valid.
        for quantity in [0, -1, .min, .max, 2_147_483_648] as [Int64] {
            add("quantity \(quantity)", bought(quantity), "com.example.learn production:")
        }
        add(
            "unknown attributes",
            with(Content.attribute(9_999, [1, 2, 3]), Content.attribute(9_999, []), Content.attribute(-1, [0xFF])),
            sound)
        add(
            "undocumented attributes that are rubbish", with(Content.attribute(1, [0xFF]), Content.attribute(15, [1])),
            sound)
        let many = (0..<5_000).map { Content.attribute(50_000 + Int64($0), []) }
        add("5000 attributes without value", Content.set(Content.base + many), sound)
        add("another order", Content.set(Content.base.reversed()), sound)
        add("an octet string around", DERWriter.octetString(Content.sound), sound)
        add(
            "the same purchase twice", with(Content.purchase()),
            "\(sound), 2000000900000001 com.example.learn.coins60 × 2")
        add("a purchase without id", with(Content.purchase(Array(Content.purchaseFields().prefix(2)))), sound)
        add("an empty purchase", with(Content.purchase([])), sound)
        add("no purchase", Content.set(Array(Content.base.dropLast())), "com.example.learn production:")
        let long = DERWriter.value(tag: 0x02, [0, 0, 0, 0, 0, 0, 0, 2])
        var fields = Content.purchaseFields()
        fields[0] = Content.attribute(1701, long)
        add("a quantity in eight octets", Content.set(Content.base.dropLast() + [Content.purchase(fields)]), sound)
    }
}
