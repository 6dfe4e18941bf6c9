/// CRC-32C (Castagnoli; RFC 3720 §B.4): finds what a power cut or a bad block did to a record. No protection against
/// people: whoever can write the app's files can do anything with them, and every proof is judged by the server.
struct CRC32C {
    private var state = UInt32.max

    mutating func add(_ bytes: some Collection<UInt8>) {
        var state = state
        for byte in bytes { state = Self.table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ state >> 8 }
        self.state = state
    }

    var value: UInt32 { ~state }

    static func checksum(_ bytes: some Collection<UInt8>) -> UInt32 {
        var sum = CRC32C()
        sum.add(bytes)
        return sum.value
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0x82F6_3B78 }
    }
}
