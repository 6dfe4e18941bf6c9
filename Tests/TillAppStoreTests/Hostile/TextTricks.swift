import Foundation
import TillAppStore
import TillCrypto

extension HostileCorpus {
    /// Spellings of the same or nearly the same octets that strict base64 refuses.
    private static let spellings: [(String, @Sendable (String) -> String)] = [
        ("one padding character", { $0 + "=" }), ("two padding characters", { $0 + "==" }),
        ("padding in front", { "=" + $0 }), ("line feed after", { $0 + "\n" }), ("line feed before", { "\n" + $0 }),
        ("line feed within", { $0.prefix(20) + "\n" + $0.dropFirst(20) }),
        ("CR LF within", { $0.prefix(20) + "\r\n" + $0.dropFirst(20) }),
        ("blank within", { $0.prefix(20) + " " + $0.dropFirst(20) }),
        ("tab within", { $0.prefix(20) + "\t" + $0.dropFirst(20) }),
        ("NUL within", { $0.prefix(20) + "\u{0}" + $0.dropFirst(20) }), ("NUL after", { $0 + "\u{0}" }),
        ("byte order mark", { "\u{FEFF}" + $0 }), ("no-break space", { "\u{A0}" + $0 }),
        ("zero-width space", { $0.prefix(8) + "\u{200B}" + $0.dropFirst(8) }),
        ("full-width digit", { $0 + "\u{FF11}" }),
        ("Cyrillic a", { $0.replacingOccurrences(of: "a", with: "\u{430}") }),
        ("combining mark", { $0 + "\u{301}" }), ("Kelvin sign", { $0.replacingOccurrences(of: "K", with: "\u{212A}") }),
        ("percent sign", { $0 + "%3D" }), ("comma", { $0 + "," }), ("plus", { $0.prefix(3) + "+" + $0.dropFirst(4) }),
        ("slash", { $0.prefix(3) + "/" + $0.dropFirst(4) }), ("one character more", { $0 + "A" }),
        ("high octet", { $0 + "\u{80}" }), ("quoted", { "\"" + $0 + "\"" }), ("commented", { $0 + "/**/" }),
        ("tilde", { "~" + $0 }), ("null", { _ in "null" }),
    ]

    /// Base64 has one spelling (RFC 4648 §3.5, §12): two texts never mean one token.
    mutating func addTokenText() {
        for base in Self.tokenBases {
            let token = bytes(base)
            let parts = token.split(separator: UInt8(ascii: ".")).map { String(decoding: $0, as: UTF8.self) }
            for (index, name) in ["header", "payload", "signature"].enumerated() {
                for (spelling, spell) in Self.spellings {
                    var harmed = parts
                    harmed[index] = spell(parts[index])
                    guard harmed[index] != parts[index] else { continue }
                    // The text is signed as it is sent, so that only the spelling is wrong.
                    if index < 2 {
                        let input = Array("\(harmed[0]).\(harmed[1])".utf8)
                        harmed[2] = Base64.encode(authority.leaf.key.es256(input), .url)
                    }
                    // Other octets of a signature make it bad; any other change makes the text no token.
                    let text = Array(harmed.joined(separator: ".").utf8)
                    add(.tokenText, base, "\(name): \(spelling)", text, index == 2 ? nil : .malformed)
                }
                addStrayBits(base, parts, index, name)
            }
            for (name, text) in Self.shapes(parts) {
                add(.tokenText, base, name, Array(text.utf8), .malformed)
            }
        }
    }

    /// The last character of a segment may have bits beyond the last octet.
    private mutating func addStrayBits(_ base: String, _ parts: [String], _ index: Int, _ name: String) {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let idle = [0: 0, 2: 4, 3: 2][parts[index].count % 4] ?? 0
        guard idle > 0, let last = parts[index].last, let value = alphabet.firstIndex(of: last) else { return }
        for stray in 1..<(1 << idle) {
            var harmed = parts
            harmed[index] = parts[index].dropLast() + String(alphabet[value | stray])
            if index < 2 {
                let input = Array("\(harmed[0]).\(harmed[1])".utf8)
                harmed[2] = Base64.encode(authority.leaf.key.es256(input), .url)
            }
            add(
                .tokenText, base, "\(name): stray bits \(stray)", Array(harmed.joined(separator: ".").utf8), .malformed)
        }
    }

    private static func shapes(_ parts: [String]) -> [(String, String)] {
        let token = parts.joined(separator: ".")
        return [
            ("no dots", parts.joined()), ("one dot", parts[0] + "." + parts[1]), ("a dot more", token + "."),
            ("a part more", token + "." + parts[2]), ("a dot before", "." + token),
            ("empty header", ".\(parts[1]).\(parts[2])"),
            ("empty payload", "\(parts[0])..\(parts[2])"), ("only dots", ".."), ("two tokens", token + token),
            ("two tokens, line feed between", token + "\n" + token),
            ("detached payload in colons", parts.joined(separator: ":")),
            ("full stops of another kind", parts.joined(separator: "\u{FF0E}")), ("JSON text", "\"\(token)\""),
            (
                "JSON serialization",
                #"{"protected":"\#(parts[0])","payload":"\#(parts[1])","signature":"\#(parts[2])"}"#
            ),
            ("bearer", "Bearer " + token), ("percent-encoded", token.replacingOccurrences(of: ".", with: "%2E")),
            ("base64 of all", Base64.encode(Array(token.utf8))), ("decoded payload", "\(parts[0]).{}.\(parts[2])"),
            ("in NULs", "\u{0}" + token + "\u{0}"), ("UTF-16", token.map { "\($0)\u{0}" }.joined()),
        ]
    }

    /// Base64 as clients post receipts: white space is ignored, every other character counts.
    mutating func addReceiptText() {
        var generator = generator(.receiptText)
        let text = String(decoding: bytes("receipt-text"), as: UTF8.self)
        let grounds = grounds(of: bytes("receipt-sha256"))
        for (name, spell) in Self.spellings {
            let harmed = spell(text)
            guard harmed != text else { continue }
            let isBlank = harmed.utf8.filter { $0 != 0x20 && !(0x09...0x0D).contains($0) }.elementsEqual(text.utf8)
            add(isBlank ? .harmless : .receiptText, "receipt-text", name, Array(harmed.utf8))
        }
        let lines = stride(from: 0, to: text.count, by: 76).map { text.dropFirst($0).prefix(76) }
        for separator in ["\n", "\r\n", " ", "\t", "\r", "\u{B}", "\u{C}", "\n\n  "] {
            add(
                .harmless, "receipt-text", "lines of 76 divided by \(Array(separator.utf8))",
                Array(lines.joined(separator: separator).utf8))
        }
        let others: [(String, String)] = [
            ("plus as blank", text.replacingOccurrences(of: "+", with: " ")),
            ("plus as minus", text.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")),
            (
                "percent-encoded",
                text.replacingOccurrences(of: "+", with: "%2B").replacingOccurrences(of: "=", with: "%3D")
            ),
            ("twice", Base64.encode(Array(text.utf8))), ("two receipts", text + text),
            ("hexadecimal", Hexadecimal.text(authority.receipt().der)),
            ("escaped slashes", text.replacingOccurrences(of: "/", with: "\\/")), ("empty", ""),
            ("only blanks", " \n "),
            ("lines of NEL", lines.joined(separator: "\u{85}")),
            ("lines of U+2028", lines.joined(separator: "\u{2028}")),
            ("in quotes", "\"\(text)\""), ("data URL", "data:application/pkcs7-mime;base64," + text),
            ("lower case", text.lowercased()),
        ]
        for (name, harmed) in others { add(.receiptText, "receipt-text", name, Array(harmed.utf8)) }
        for _ in 0..<60 * scale {
            let bit = Int.random(in: 0..<text.utf8.count * 8, using: &generator)
            let harmed = bytes("receipt-text").flipped(bit)
            // A character of base64 has bits of one octet or two.
            let octets = [(bit >> 3) * 6 / 8, ((bit >> 3) * 6 + 5) / 8].map { min($0, grounds.count - 1) }
            let isCovered = octets.allSatisfy { grounds[$0] == .covered }
            add(
                isCovered ? .receiptText : .unsignedParts, "receipt-text", "bit \(bit) of the text flipped", harmed)
        }
    }

    // MARK: Old-style receipts, and texts that are no proofs

    /// The keys that may issue their signers are built in, and tests lack the private halves: every receipt made here
    /// is refused.
    mutating func addOldStyle() {
        var generator = generator(.oldStyle)
        let issuer = authority.receiptLeaf
        let info =
            #"{"quantity" = "1"; "product-id" = "p"; "transaction-id" = "1"; "bid" = "com.example.learn"; "#
            + #""purchase-date-ms" = "1748736000000";}"#
        func receipt(_ blob: [UInt8], info: String = info, environment: String = #""environment" = "Production";"#)
            -> String
        {
            let (text, seal) = (Base64.encode(Array(info.utf8)), Base64.encode(blob))
            return #"{"signature" = "\#(seal)"; "purchase-info" = "\#(text)"; \#(environment) "pod" = "7";}"#
        }
        func blob(_ version: UInt8, signature: Int? = nil, certificate: [UInt8] = issuer.der, lie: Int = 0) -> [UInt8] {
            let signed = issuer.key.signature([version] + Array(info.utf8), digest: HandmadeCertificate.sha1)
            let count = signature ?? (version == 2 ? 128 : 256)
            let length = certificate.count + lie
            return [version] + signed.prefix(count) + [24, 16, 8, 0].map { UInt8(length >> $0 & 0xFF) } + certificate
        }
        var texts: [(String, String)] = [
            ("version 3, a foreign signer", receipt(blob(3))), ("version 2, a foreign signer", receipt(blob(2))),
            ("no environment", receipt(blob(3), environment: "")),
            ("Apple's root as signer", receipt(blob(3, certificate: AppleRoots.rootCA))),
            ("no certificate", receipt(blob(3, certificate: []))), ("a length that lies", receipt(blob(3, lie: 1))),
            ("a length far beyond", receipt(blob(3, lie: 0x7FFF_0000))), ("empty signature", receipt([])),
            ("only a version", receipt([3])),
            ("info that is no list", receipt(blob(3), info: "purchase")), ("empty info", receipt(blob(3), info: "")),
            (
                "signature twice",
                receipt(blob(3)).replacingOccurrences(of: #""pod" = "7";"#, with: #""signature" = "AwAA";"#)
            ),
            ("open quote", String(receipt(blob(3)).dropLast(6))),
            ("nested braces", String(repeating: "{", count: 500) + receipt(blob(3))),
        ]
        for version in [UInt8(0), 1, 4, 5, 128, 255] { texts.append(("version \(version)", receipt(blob(version)))) }
        for count in [0, 1, 127, 129, 255] {
            texts.append(("\(count) octets of signature", receipt(blob(3, signature: count))))
        }
        for (name, text) in texts {
            add(.oldStyle, "receipt-text", name, Array(Base64.encode(Array(text.utf8)).utf8))
            add(.oldStyle, "receipt-text", "\(name), as text", Array(text.utf8))
        }
        let sound = Array(receipt(blob(3)).utf8)
        for _ in 0..<30 * scale {
            let bit = Int.random(in: 0..<sound.count * 8, using: &generator)
            add(.oldStyle, "receipt-text", "bit \(bit) flipped", sound.flipped(bit))
        }
    }

    mutating func addRubbish() {
        var generator = generator(.rubbish)
        let starts: [[UInt8]] = [
            [], [0x30], [0x30, 0x80], [0x30, 0x82, 0x10], Array("{".utf8), Array("eyJhbGciOiJFUzI1NiJ9.".utf8),
            Array("MII".utf8),
            Array("-----BEGIN PKCS7-----\n".utf8), Array("..".utf8), [0x31, 0x84, 0xFF], [0xEF, 0xBB, 0xBF],
            [0xFF, 0xFE], [0x1F, 0x8B],
        ]
        for start in starts {
            for kind in Self.tokenBases + ["receipt-sha256", "receipt-text"] {
                for _ in 0..<3 * scale {
                    let count = Int.random(in: 0...400, using: &generator)
                    let isText = Bool.random(using: &generator)
                    let rest = (0..<count).map { _ in
                        UInt8.random(in: isText ? 0x2B...0x7A : 0...255, using: &generator)
                    }
                    add(
                        .rubbish, kind, "\(start.count) plausible octets, then \(count) random ones", start + rest,
                        .malformed)
                }
            }
        }
        for unit in [0x00, 0x20, 0x2E, 0x30, 0x41, 0x5B, 0x7B, 0xFF] as [UInt8] {
            for count in [1, 64, 4_096, 70_000] {
                let bytes = [UInt8](repeating: unit, count: count)
                add(.rubbish, "transaction", "\(count) times \(unit)", bytes, .malformed)
            }
        }
    }
}
