import CTillPostgres
import TillSQL

extension SQLValue {
    /// The number of its type in pg_type; 0, "unknown", for null.
    var postgresType: Oid {
        switch self {
        case .null: 0
        case .integer: 20
        case .text: 25
        case .blob: 17
        }
    }
}

/// The values of one statement as libpq takes them, all in binary form and in one buffer.
struct ParameterBytes {
    private var bytes: [UInt8] = []
    /// Where each value begins; nil for null.
    private var starts: [Int?] = []
    private var lengths: [Int32] = []

    init(_ values: [SQLValue]) {
        for value in values {
            let start = bytes.count
            switch value {
            case .null: break
            case .integer(let integer): withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
            case .text(let text): bytes.append(contentsOf: text.utf8)
            case .blob(let blob): bytes.append(contentsOf: blob)
            }
            if case .null = value { starts.append(nil) } else { starts.append(start) }
            lengths.append(Int32(clamping: bytes.count - start))
        }
        // An empty value needs an address too: libpq takes a null pointer for SQL's null.
        bytes.append(0)
    }

    typealias Send = (
        Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
    ) -> Bool

    func send(_ send: Send) -> Bool {
        bytes.withUnsafeBytes { bytes in
            let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            let pointers = starts.map { start in start.flatMap { base?.advanced(by: $0) }.map { UnsafePointer($0) } }
            return send(Int32(starts.count), pointers, lengths, [Int32](repeating: 1, count: starts.count))
        }
    }
}
