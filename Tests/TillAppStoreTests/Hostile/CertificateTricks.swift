import TillAppStore
import TillCrypto
import TillJSON

extension HostileCorpus {
    private var payload: [UInt8] { TokenParts(bytes("transaction")).payload }

    private func token(x5c: JSONValue) -> [UInt8] {
        let header: JSONValue = ["alg": "ES256", "x5c": x5c]
        return authority.token(header: Array(header.encoded().utf8), payload: payload)
    }

    /// Lists of certificates, each signed by the genuine leaf's key.
    mutating func addCertificateLists() {
        var generator = generator(.certificateLists)
        let all: [(String, [UInt8])] = [
            ("leaf", authority.leaf.der), ("intermediate", authority.intermediate.der), ("root", authority.root.der),
            ("second leaf", authority.secondLeaf.der), ("foreign leaf", authority.foreignLeaf.der),
            ("foreign intermediate", authority.foreignIntermediate.der), ("foreign root", authority.foreignRoot.der),
        ]
        func add(_ list: [(String, [UInt8])], _ verdict: Verdict?) {
            let names = list.map(\.0).joined(separator: ", ")
            let token = token(x5c: .array(list.map { .string(Base64.encode($0.1)) }))
            self.add(verdict == nil ? .harmless : .certificateLists, "transaction", "[\(names)]", token, verdict)
        }
        for first in all {
            add([first], .chainLength)
            for second in all {
                add([first, second], .chainLength)
                for third in all {
                    if first.0 == "leaf", second.0 == "intermediate" {
                        add([first, second, third], nil)
                    } else {
                        add([first, second, third], Self.verdict(first.0, second.0))
                    }
                }
            }
        }
        for count in [4, 5, 8, 16, 32, 60] {
            let chosen = (0..<count - 3).map { _ in all.randomElement(using: &generator) ?? all[0] }
            add(Array(all[..<3]) + chosen, .chainLength)
        }
        addCertificateTexts()
    }

    /// The verdict on [first, second, anything]. OpenSSL finds an issuer by its name, and the foreign chain has the
    /// genuine chain's names.
    private static func verdict(_ first: String, _ second: String) -> Verdict? {
        switch (first, second) {
        case ("second leaf", "intermediate"): .badSignature
        // Directly under the root, without a leaf's marker.
        case ("intermediate", _), ("root", _): .missingOID
        default: .chainUntrusted
        }
    }

    /// Spellings of a certificate that base64 or DER do not allow, and values that are not lists.
    private mutating func addCertificateTexts() {
        let good = authority.chain.map { Base64.encode($0) }
        let spellings: [(String, (String, [UInt8]) -> JSONValue)] = [
            ("url-safe", { .string("-_" + Base64.encode($1, .url)) }), ("empty", { _, _ in "" }),
            ("without padding", { text, _ in .string(text + "A") }), ("padding", { text, _ in .string(text + "=") }),
            ("four padding characters", { text, _ in .string(text + "====") }),
            ("PEM", { .string(PEM.encode($1, label: "CERTIFICATE")) }),
            ("blank before", { text, _ in .string(" " + text) }),
            ("line feed after", { text, _ in .string(text + "\n") }),
            ("lines", { text, _ in .string(text.prefix(64) + "\r\n" + text.dropFirst(64)) }),
            ("NUL after", { text, _ in .string(text + "\u{0}") }),
            ("data URL", { text, _ in .string("data:;base64," + text) }),
            ("hexadecimal", { .string(Hexadecimal.text($1)) }),
            ("base64 twice", { text, _ in .string(Base64.encode(Array(text.utf8))) }),
            ("full width", { text, _ in .string(text.replacing("M", with: "\u{FF2D}")) }),
            ("number", { _, _ in 7 }), ("null", { _, _ in nil }), ("true", { _, _ in true }),
            ("list", { text, _ in [.string(text)] }), ("object", { text, _ in ["der": .string(text)] }),
            ("trailing octet", { .string(Base64.encode($1 + [0])) }),
            ("twice in one", { .string(Base64.encode($1 + $1)) }), ("cut", { .string(Base64.encode($1.dropLast())) }),
            ("indefinite length", { .string(Base64.encode([0x30, 0x80] + $1.dropFirst(4) + [0])) }),
            ("only its body", { .string(Base64.encode($1.dropFirst(4))) }),
            (
                "its public key",
                { [leaf = authority.leaf] in .string(Base64.encode($0.isEmpty ? $1 : leaf.key.publicKey)) }
            ),
            ("zeros", { .string(Base64.encode([UInt8](repeating: 0, count: $1.count))) }),
            ("a long length", { .string(Base64.encode([0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xFF] + $1.dropFirst(4))) }),
        ]
        for (name, spell) in spellings {
            for index in 0..<3 {
                var list = good.map { JSONValue.string($0) }
                list[index] = spell(good[index], authority.chain[index])
                // The third certificate is not read.
                add(
                    index == 2 ? .harmless : .certificateLists, "transaction",
                    "certificate \(index + 1): \(name)", token(x5c: .array(list)), index == 2 ? nil : .badCertificate)
            }
        }
        let list = JSONValue.array(good.map { .string($0) })
        let others: [(String, JSONValue, Verdict)] = [
            ("text", .string(good[0]), .missingX5C), ("joined text", .string(good.joined(separator: ",")), .missingX5C),
            ("number", 3, .missingX5C), ("null", nil, .missingX5C), ("true", true, .missingX5C),
            ("object", ["0": .string(good[0])], .missingX5C), ("empty", [], .missingX5C),
            ("list in a list", [list], .chainLength),
            ("three lists", [list, list, list], .badCertificate), ("three nulls", [nil, nil, nil], .badCertificate),
            ("three empty texts", ["", "", ""], .badCertificate), ("three numbers", [1, 2, 3], .badCertificate),
        ]
        for (name, value, verdict) in others {
            add(.certificateLists, "transaction", "x5c: \(name)", token(x5c: value), verdict)
        }
    }

    // MARK: Chains with a flaw

    /// A token under [leaf, intermediate, genuine root], signed by the leaf's own key.
    private func token(_ leaf: HandmadeCertificate, _ intermediate: HandmadeCertificate) -> [UInt8] {
        let header = authority.header([leaf.der, intermediate.der, authority.root.der])
        return authority.token(header: header, payload: payload, by: leaf.key)
    }

    mutating func addChains() {
        let leafMarkers = [HandmadeCertificate.leafMarker]
        let middleMarkers = [HandmadeCertificate.intermediateMarker]
        let (seed, root, middle) = (seed, authority.root, authority.intermediate)
        let flawed = FlawedIssue(seed: seed, root: root, middle: middle)
        func add(
            _ name: String, _ verdict: Verdict?, _ leaf: HandmadeCertificate, _ middle: HandmadeCertificate = middle
        ) {
            self.add(verdict == nil ? .harmless : .chains, "transaction", name, token(leaf, middle), verdict)
        }
        for (name, markers) in [
            ("no marker", []), ("6.11.2", ["1.2.840.113635.100.6.11.2"]), ("the intermediate's", middleMarkers),
            ("6.11", ["1.2.840.113635.100.6.11"]), ("6.11.1.1", ["1.2.840.113635.100.6.11.1.1"]),
            ("a developer's", ["1.2.840.113635.100.6.1.2"]),
        ] {
            add("leaf marked \(name)", .missingOID, flawed.leaf("m", markers: markers))
        }
        for (name, markers) in [
            ("no marker", []), ("6.2.2", ["1.2.840.113635.100.6.2.2"]), ("the leaf's", leafMarkers),
            ("6.2", ["1.2.840.113635.100.6.2"]), ("6.2.1.1", ["1.2.840.113635.100.6.2.1.1"]),
        ] {
            let middle = flawed.above("m", markers: markers)
            add("intermediate marked \(name)", .missingOID, flawed.leaf("m", middle), middle)
        }
        let selfSigned = FlawedIssue.made(seed, "Flawed Leaf", "self", markers: leafMarkers)
        add("leaf signed by itself", .chainUntrusted, selfSigned)
        add("leaf signed by itself, twice", .chainUntrusted, selfSigned, selfSigned)
        let both = leafMarkers + middleMarkers
        add("leaf under the root directly", .missingOID, flawed.leaf("direct", root))
        add(
            "leaf with both markers under the root directly", .missingOID,
            flawed.leaf("direct both", root, markers: both))
        let notCA = flawed.above("no CA") { $0.isCA = false }
        add("intermediate that is no authority", .chainUntrusted, flawed.leaf("no CA", notCA), notCA)
        let defaultPause = flawed.above("unsaid") { $0.isCA = nil }
        add(
            "intermediate that does not say it is one", .chainUntrusted, flawed.leaf("unsaid", defaultPause),
            defaultPause)
        let leafAsMiddle = FlawedIssue.made(seed, "Leaf Below", "below", issuer: authority.leaf, markers: leafMarkers)
        add("leaf issued by the genuine leaf", .chainUntrusted, leafAsMiddle, authority.leaf)
        // A path of four, where the genuine intermediate allows none below it (pathlen 0).
        let sub = flawed.above("sub", issuer: middle)
        add("leaf under an authority below the intermediate", .chainUntrusted, flawed.leaf("sub", sub), sub)
        let foreignMiddle = flawed.above("cross", issuer: authority.foreignRoot)
        add("intermediate of a foreign root", .chainUntrusted, flawed.leaf("cross", foreignMiddle), foreignMiddle)
        let crossed = HandmadeCertificate(
            middle.template, key: middle.key, issuer: authority.foreignRoot, issuerName: root.name)
        add(
            "the genuine intermediate's name and key, signed by a foreign root", .chainUntrusted, authority.leaf,
            crossed)
        let renamed = HandmadeCertificate(
            flawed.leaf("renamed").template, key: SeededKey(.p256, "renamed"), issuer: authority.foreignIntermediate,
            issuerName: middle.name)
        add("leaf that lies about its issuer", .chainUntrusted, renamed)
        let wide = flawed.leaf("wide", kind: .p384)
        self.add(.chains, "transaction", "leaf on P-384", token(wide, middle), .badSignature)
        let other = flawed.leaf("k256", kind: .k256)
        self.add(.chains, "transaction", "leaf on secp256k1", token(other, middle), .badSignature)
        let critical = HandmadeCertificate.added("1.2.3.4.5.6", DERWriter.null, isCritical: true)
        add(
            "leaf with an unknown critical extension", .chainUntrusted,
            flawed.leaf("critical") { $0.extensions = [critical] })
        let twice = HandmadeCertificate.added("2.5.29.19", DERWriter.value(tag: 0x30, HandmadeDER.boolean(true)))
        add("leaf with basicConstraints twice", .chainUntrusted, flawed.leaf("twice") { $0.extensions = [twice] })
        // The genuine intermediate decides: a leaf may be an authority too.
        add("leaf that is an authority", nil, flawed.leaf("CA") { $0.isCA = true })
        add("leaf with both markers", nil, flawed.leaf("both", markers: both))
        addAppleNames()
        addValidities(leaf: { flawed.leaf($0, $1, change: $2) }, middle: { flawed.above($0, change: $1) })
    }

    /// A chain with Apple's names, numbers and key identifier, but without Apple's key.
    private mutating func addAppleNames() {
        let unit = "Apple Certification Authority"
        var rootTemplate = HandmadeCertificate.Template("Apple Root CA - G3", organization: "Apple Inc.", unit: unit)
        rootTemplate.isCA = true
        rootTemplate.serial = Hexadecimal.bytes("2DC5FC88D2C54B95")
        rootTemplate.notBefore = "140430181906Z"
        rootTemplate.notAfter = "390430181906Z"
        rootTemplate.keyID = Hexadecimal.bytes("BBB0DEA15833889AA48A99DEBEBDEBAFDACB24AB")
        let root = HandmadeCertificate(rootTemplate, key: SeededKey(.p384, "\(seed) not Apple's"))
        let wwdr = "Apple Worldwide Developer Relations Certification Authority"
        var middle = HandmadeCertificate.Template(
            wwdr, organization: "Apple Inc.", unit: "G6", markers: [HandmadeCertificate.intermediateMarker])
        middle.isCA = true
        middle.pathLength = 0
        let signer = "Prod ECC Mac App Store and iTunes Store Receipt Signing"
        let leaf = HandmadeCertificate.Template(
            signer, organization: "Apple Inc.", unit: "Apple Worldwide Developer Relations",
            markers: [HandmadeCertificate.leafMarker])
        let intermediate = HandmadeCertificate(middle, key: SeededKey(.p384, "\(seed) not WWDR's"), issuer: root)
        let signing = HandmadeCertificate(leaf, key: SeededKey(.p256, "\(seed) not the store's"), issuer: intermediate)
        for base in Self.tokenBases {
            let payload = TokenParts(bytes(base)).payload
            for third in [root.der, authority.root.der, AppleRoots.g3] {
                let header = authority.header([signing.der, intermediate.der, third])
                let token = authority.token(header: header, payload: payload, by: signing.key)
                add(.chains, base, "a chain with Apple's names, root of \(third.count) octets", token, .chainUntrusted)
            }
        }
    }

    /// Certificates that were not valid when the token was signed, 2025-06-01.
    private mutating func addValidities(
        leaf: (String, HandmadeCertificate, (inout HandmadeCertificate.Template) -> Void) -> HandmadeCertificate,
        middle: (String, (inout HandmadeCertificate.Template) -> Void) -> HandmadeCertificate
    ) {
        let periods = [
            ("long expired", "100101000000Z", "120101000000Z"),
            ("expired a second before", "240101000000Z", "250531235959Z"),
            ("expired at that second", "240101000000Z", "250601000000Z"),
            ("valid a second later", "250601000001Z", "260101000000Z"),
            ("not valid yet", "300101000000Z", "310101000000Z"),
            ("never valid", "260101000000Z", "240101000000Z"),
            ("valid after 9998", "99980101000000Z", "99991231235959Z"),
        ]
        for (name, from, to) in periods {
            func period(_ template: inout HandmadeCertificate.Template) {
                template.notBefore = from
                template.notAfter = to
            }
            let expired = leaf("leaf \(name)", authority.intermediate, period)
            add(.chains, "transaction", "leaf \(name)", token(expired, authority.intermediate), .chainExpired)
            let above = middle("middle \(name)", period)
            let valid = leaf("under \(name)", above, { _ in })
            add(.chains, "transaction", "intermediate \(name)", token(valid, above), .chainExpired)
        }
    }

    // MARK: Dates

    /// `signedDate` decides when the certificates had to be valid: 2024-01-01 to 2026-01-01.
    mutating func addDates() {
        let (from, to): (Int64, Int64) = (1_704_067_200_000, 1_767_225_600_000)
        let outside: [JSONValue] = [
            .int(from - 1), .int(from - 1_000), .int(to), .int(to + 1), .int(0), .int(1), .int(-1),
            .int(-62_135_769_600_000),
            .int(253_402_300_799_000), .int(253_402_300_800_000), .int(.max), .int(.min), .int(.max / 1_000),
            .int(2_147_483_647_000),
            .int(2_147_483_648_000), .int(4_294_967_296_000), .double(1_704_067_199_999.9), .double(1e18),
            .double(-0.5),
        ]
        let bad: [JSONValue] = [
            "1748736000000", "2025-06-01T00:00:00Z", "", true, [], [:], [1_748_736_000_000], .double(1e19),
            .double(-1e19),
            .double(1e300),
        ]
        for base in Self.tokenBases {
            guard let payload = try? JSONValue(decoding: TokenParts(bytes(base)).payload) else { continue }
            let field = base == "app-transaction" ? "receiptCreationDate" : "signedDate"
            for (dates, verdict) in [(outside, Verdict.chainExpired), (bad, .malformed)] {
                for date in dates {
                    let token = authority.token(TestPayloads.changed(payload, [field: date]))
                    add(.dates, base, "\(field) is \(date.encoded())", token, verdict)
                }
            }
        }
        guard let payload = try? JSONValue(decoding: TokenParts(bytes("transaction")).payload) else { return }
        for (name, value) in [("absent", JSONValue?.none), ("null", .some(.null))] {
            let token = authority.token(TestPayloads.changed(payload, ["signedDate": value]))
            add(.dates, "transaction", "signedDate is \(name)", token, .malformed)
        }
    }
}

/// Issues certificates that break a rule, under the genuine root and intermediate by default.
private struct FlawedIssue {
    let seed: UInt64
    let root, middle: HandmadeCertificate

    static func made(
        _ seed: UInt64, _ name: String, _ label: String, kind: SeededKey.Kind = .p256,
        issuer: HandmadeCertificate? = nil,
        markers: [String] = [], _ change: (inout HandmadeCertificate.Template) -> Void = { _ in }
    ) -> HandmadeCertificate {
        var template = HandmadeCertificate.Template(name, markers: markers)
        change(&template)
        return HandmadeCertificate(template, key: SeededKey(kind, "\(seed) flawed \(label)"), issuer: issuer)
    }

    func above(
        _ label: String, markers: [String] = [HandmadeCertificate.intermediateMarker],
        issuer: HandmadeCertificate? = nil,
        change: (inout HandmadeCertificate.Template) -> Void = { _ in }
    ) -> HandmadeCertificate {
        Self.made(seed, "Flawed Intermediate", "middle \(label)", issuer: issuer ?? root, markers: markers) {
            $0.isCA = true
            change(&$0)
        }
    }
    func leaf(
        _ label: String, _ issuer: HandmadeCertificate? = nil, markers: [String] = [HandmadeCertificate.leafMarker],
        kind: SeededKey.Kind = .p256, change: (inout HandmadeCertificate.Template) -> Void = { _ in }
    ) -> HandmadeCertificate {
        Self.made(seed, "Flawed Leaf", "leaf \(label)", kind: kind, issuer: issuer ?? middle, markers: markers, change)
    }
}
