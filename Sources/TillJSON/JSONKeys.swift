/// The keys of one object, compared with each other.
enum JSONKeys {
    /// Whether two keys are the same. Few keys are compared in pairs; many, which Apple never writes, are sorted first,
    /// so that a hostile list costs no more than its length asks for.
    static func nameTwice(_ keys: [JSONScanner.Value], in text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard keys.count > 1 else { return false }
        guard keys.allSatisfy({ isPlain($0, in: text) }) else {
            // As texts, because that is how trees hold them: \u0064 is d, and an accent may be written in two ways.
            var seen: Set<String> = []
            return !keys.allSatisfy { seen.insert(JSONText.string($0, in: text)).inserted }
        }
        if keys.count <= 48 {
            for index in keys.indices.dropFirst() {
                for other in 0..<index where areSame(keys[index], keys[other], in: text) { return true }
            }
            return false
        }
        let sorted = keys.sorted { left, right in
            let longer = length(right) - length(left)
            return longer != 0 ? longer > 0 : octets(left, in: text).lexicographicallyPrecedes(octets(right, in: text))
        }
        return zip(sorted, sorted.dropFirst()).contains { areSame($0, $1, in: text) }
    }

    private static func isPlain(_ key: JSONScanner.Value, in text: UnsafeBufferPointer<UInt8>) -> Bool {
        key.kind == .string && octets(key, in: text).allSatisfy { $0 < 0x80 }
    }

    private static func areSame(
        _ left: JSONScanner.Value, _ right: JSONScanner.Value, in text: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        length(left) == length(right) && octets(left, in: text).elementsEqual(octets(right, in: text))
    }

    private static func length(_ key: JSONScanner.Value) -> Int { key.end - key.start }

    private static func octets(
        _ key: JSONScanner.Value, in text: UnsafeBufferPointer<UInt8>
    ) -> UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: text[key.start..<key.end]) }
}
