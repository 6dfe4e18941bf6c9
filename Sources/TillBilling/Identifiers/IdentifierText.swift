/// What texts an outsider may name something by.
extension String {
    /// The first character that no identifier may hold: control characters, which hide or break what a person reads,
    /// the characters that turn the direction of writing around, line separators, and what is no character at all.
    package var firstForbiddenScalar: Unicode.Scalar? {
        unicodeScalars.first { scalar in
            switch scalar.value {
            case 0x00...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFDD0...0xFDEF:
                true
            default: scalar.value & 0xFFFE == 0xFFFE
            }
        }
    }

    /// Whether it is in Unicode's normalization form C. A name in another form has a twin that looks the same.
    package var isNormalized: Bool {
        // Every text of Latin-1 is, and so are nearly all ids.
        unicodeScalars.allSatisfy { $0.value < 0x0300 } || Normalization.standard.isNormalized(self)
    }
}

extension Unicode.Scalar {
    /// `U+202E`.
    package var codePoint: String {
        let digits = String(value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: Swift.max(0, 4 - digits.count)) + digits
    }
}
