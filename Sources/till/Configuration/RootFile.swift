import TillAppStore
import TillCrypto

/// A file of root certificates for `--root` and `apple.roots`: one in DER, or one or more in PEM.
enum RootFile {
    static let maximumBytes = 1 << 18

    /// The DER of each certificate; nil if the file contains none, or anything invalid.
    static func certificates(in file: [UInt8]) -> [[UInt8]]? {
        // DER starts with a SEQUENCE; text never does.
        if file.first == 0x30 { return Certificate(der: file) == nil ? nil : [file] }
        let end = "-----END CERTIFICATE-----"
        var certificates: [[UInt8]] = []
        var block = ""
        for line in String(decoding: file, as: UTF8.self).split(whereSeparator: \.isNewline) {
            block += line + "\n"
            guard line.hasPrefix(end) else { continue }
            guard let der = PEM.decode(block, label: "CERTIFICATE"), Certificate(der: der) != nil else { return nil }
            certificates.append(der)
            block = ""
        }
        return certificates.isEmpty ? nil : certificates
    }

    /// Whether the certificate is one of Apple's roots, byte for byte.
    static func isApples(_ certificate: [UInt8]) -> Bool { AppleRoots.all.contains(certificate) }
}

/// The bytes of hexadecimal digits in either case; nil for anything else, or an odd number of digits.
func bytes(hexadecimal text: some StringProtocol) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2)
    for index in stride(from: 0, to: digits.count, by: 2) {
        guard let high = nibble(digits[index]), let low = nibble(digits[index + 1]) else { return nil }
        bytes.append(high << 4 | low)
    }
    return bytes
}

private func nibble(_ digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x41...0x46: digit - 0x41 + 10
    case 0x61...0x66: digit - 0x61 + 10
    default: nil
    }
}
