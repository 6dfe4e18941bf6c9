import TillCrypto

/// Rewrites a DER container as BER, the way Xcode and other tools may write it (facts/pkcs7-receipt §2).
enum TestBER {
    /// The elements of DER with one-byte tags: tag, content, and the whole element.
    static func elements(of der: [UInt8]) -> [(tag: UInt8, content: [UInt8], whole: [UInt8])] {
        var found: [(tag: UInt8, content: [UInt8], whole: [UInt8])] = []
        var cursor = 0
        while cursor + 1 < der.count {
            let start = cursor
            let tag = der[cursor]
            var length = Int(der[cursor + 1])
            cursor += 2
            if length > 0x80 {
                let count = length - 0x80
                length = der[cursor..<cursor + count].reduce(0) { $0 << 8 | Int($1) }
                cursor += count
            }
            found.append((tag, Array(der[cursor..<cursor + length]), Array(der[start..<cursor + length])))
            cursor += length
        }
        return found
    }

    static func indefinite(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag, 0x80] + content + [0, 0] }

    /// The pieces of an octet string in a constructed one, each of `size` octets except the last.
    static func pieces(_ octets: [UInt8], size: Int) -> [UInt8] {
        stride(from: 0, to: octets.count, by: size).flatMap { start in
            TestASN1.element(0x04, Array(octets[start..<min(start + size, octets.count)]))
        }
    }

    /// A signed message with indefinite lengths all the way down to its content, which is split into pieces.
    ///
    /// - Parameter pieceSize: nil leaves the content in one piece.
    static func container(_ der: [UInt8], pieceSize: Int?) -> [UInt8] {
        let info = elements(of: elements(of: der)[0].content)
        let signedData = elements(of: elements(of: info[1].content)[0].content)
        let body = signedData.enumerated().flatMap { index, part -> [UInt8] in
            guard index == 2 else { return part.whole }
            let encapsulated = elements(of: part.content)
            let octets = elements(of: encapsulated[1].content)[0].content
            let content =
                pieceSize.map { indefinite(0x24, pieces(octets, size: $0)) } ?? TestASN1.element(0x04, octets)
            return indefinite(0x30, encapsulated[0].whole + indefinite(0xA0, content))
        }
        return indefinite(0x30, info[0].whole + indefinite(0xA0, indefinite(0x30, body)))
    }
}
