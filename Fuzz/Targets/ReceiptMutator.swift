import TillCrypto

/// libFuzzer's own mutation of bytes; Swift and C have the same calling convention for three word-sized arguments.
@_silgen_name("LLVMFuzzerMutate")
func mutate(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int) -> Int

/// Alters receipts as nested elements, so that their lengths stay correct.
enum ReceiptMutator {
    private static let tags: [UInt8] = [
        0x02, 0x04, 0x05, 0x06, 0x0C, 0x13, 0x16, 0x1A, 0x24, 0x30, 0x31, 0xA0, 0xA1, 0x01, 0x03, 0x17,
    ]
    private static let texts = ["Production", "ProductionSandbox", "Xcode", "", "2025-06-01T00:00:00Z", "b", "7"]

    /// Nil if there is no element to alter, or if the result is too long.
    static func altered(_ input: [UInt8], limit: Int, seed: UInt32) -> [UInt8]? {
        var random = SeededRandom(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1)
        guard var tree = ASN1Tree.all(in: input[...]).first else { return nil }
        // Usually one change, because a broken structure hides further changes.
        repeat {
            let count = tree.count
            var place = random.roll(count)
            // Values are at the leaves of the tree.
            while random.roll(2) == 0, tree.element(place).children != nil { place = random.roll(count) }
            let other = tree.element(random.roll(count))
            guard let changed = tree.changing(place, { change($0, other, &random) }).first else { return nil }
            tree = changed
        } while random.roll(3) == 0
        let bytes = tree.bytes
        return bytes.count <= limit ? bytes : nil
    }

    private static func change(_ element: ASN1Tree, _ other: ASN1Tree, _ random: inout SeededRandom) -> [ASN1Tree] {
        var element = element
        switch random.roll(12) {
        case 0: return []
        case 1: return [element, element]
        case 2: return [other]
        case 3: return [element, other]
        case 4: element.tag = tags[random.roll(tags.count)]
        case 5: element.isIndefinite.toggle()
        case 6...8 where element.children == nil:
            // Another value of the same type.
            element.octets =
                element.tag == 0x02
                ? Array(DERWriter.integer(number(&random)).dropFirst(2)) : Array(texts[random.roll(texts.count)].utf8)
        default:
            guard element.children == nil else { return [element, other] }
            element.octets = mutated(element.octets)
        }
        return [element]
    }

    /// Attribute types, small numbers, and numbers at the limits of the range.
    private static func number(_ random: inout SeededRandom) -> Int64 {
        switch random.roll(4) {
        case 0: Int64(random.roll(22))
        case 1: Int64(1_700 + random.roll(22))
        case 2: Int64(random.roll(3_000)) - 1_000
        default: [Int64.min, .max, -1, 0, 1 << 31, 1 << 32][random.roll(6)]
        }
    }

    private static func mutated(_ octets: [UInt8]) -> [UInt8] {
        let limit = octets.count + 16
        return [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            _ = buffer.initialize(from: octets + [UInt8](repeating: 0, count: 16))
            count = mutate(start, octets.count, limit)
        }
    }

    /// Numbers derived from libFuzzer's seed alone (xorshift).
    private struct SeededRandom {
        var state: UInt64

        mutating func roll(_ sides: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state >> 33) % sides
        }
    }
}
