/// The format of the journal's file: a header, then frames. A frame is one change, which is either complete or absent.
///
///     header   "TillJrnl"  version  checksum        8 + 4 + 4 bytes
///     frame    marker  length  checksum  records    4 + 4 + 4 + length bytes
///
/// Numbers are little-endian. A checksum is the CRC-32C of the preceding bytes and, in a frame, of the records too
/// (without the marker). The marker contains bytes that never occur in UTF-8, so the next frame can be found after a
/// damaged section.
enum JournalFile {
    static let version: UInt32 = 1
    private static let magic = Array("TillJrnl".utf8)
    private static let marker: [UInt8] = [0xF5, 0x54, 0x4A, 0xF6]
    static let headerLength = 16
    static let frameOverhead = 12

    static var header: [UInt8] {
        let start = magic + littleEndian(version)
        return start + littleEndian(CRC32C.checksum(start))
    }

    static func frame(_ records: [JournalRecord]) -> [UInt8] {
        var writer = JournalWriter()
        for record in records { record.encode(to: &writer) }
        let length = littleEndian(UInt32(writer.bytes.count))
        return marker + length + littleEndian(checksum(length: length, writer.bytes[...])) + writer.bytes
    }

    /// A record and its size in the file.
    struct Stored {
        let record: JournalRecord
        let size: Int
    }

    struct Contents {
        /// In the order of writing.
        var records: [Stored] = []
        /// The position for the next frame, after the last valid one. 0 if there is no header.
        var end = 0
        /// Invalid bytes between valid frames, or in place of the header.
        var damaged = 0
        /// Bytes after the last valid frame.
        var tail = 0
    }

    /// - Throws: `otherVersion` if another version of the app wrote the file; its contents are not examined.
    static func contents(of bytes: [UInt8]) throws(JournalError) -> Contents {
        var contents = Contents()
        var position = 0
        if bytes.count >= headerLength, checks(header: bytes[..<headerLength]) {
            let found = number(bytes, at: magic.count)
            guard found == version else { throw .otherVersion(found) }
            position = headerLength
            contents.end = headerLength
        }
        var good = position
        while position < bytes.count {
            if let (records, end) = frame(in: bytes, at: position) {
                contents.damaged += position - good
                contents.records += records
                contents.end = end
                good = end
                position = end
            } else {
                position = bytes[(position + 1)...].firstIndex(of: marker[0]) ?? bytes.count
            }
        }
        contents.tail = bytes.count - good
        return contents
    }

    private static func frame(in bytes: [UInt8], at start: Int) -> (records: [Stored], end: Int)? {
        let body = start + frameOverhead
        guard body <= bytes.count, bytes[start..<start + 4].elementsEqual(marker) else { return nil }
        let length = Int(number(bytes, at: start + 4))
        guard length <= bytes.count - body else { return nil }
        let payload = bytes[body..<body + length]
        let sum = checksum(length: bytes[start + 4..<start + 8], payload)
        guard number(bytes, at: start + 8) == sum else { return nil }
        var reader = JournalReader(payload)
        var records: [Stored] = []
        while !reader.isAtEnd {
            let before = reader.position
            guard let record = JournalRecord(from: &reader) else { return nil }
            records.append(Stored(record: record, size: reader.position - before))
        }
        return (records, body + length)
    }

    private static func checks(header: ArraySlice<UInt8>) -> Bool {
        let bytes = Array(header)
        return bytes.starts(with: magic) && number(bytes, at: 12) == CRC32C.checksum(bytes[..<12])
    }

    private static func checksum(length: some Collection<UInt8>, _ payload: ArraySlice<UInt8>) -> UInt32 {
        var sum = CRC32C()
        sum.add(length)
        sum.add(payload)
        return sum.value
    }

    private static func littleEndian(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    private static func number(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << ($1 * 8) }
    }
}

/// CRC-32C (Castagnoli; RFC 3720 §B.4). It detects damage by a power cut or a bad block. It does not protect against
/// manipulation: a person who can write the app's files can change them, and the server verifies every proof.
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
