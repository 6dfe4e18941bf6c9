import CTillMicroHTTPD

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Reads a request's header fields and checks how they lay on the wire.
///
/// Without notice, libmicrohttpd 0.9.75 accepts a bare LF as a line end, joins folded lines, drops what follows a NUL,
/// and ends the header at a line without a name. But it parses in place: its strings lie where their bytes arrived, in
/// order. So between two of them there is exactly a CRLF, or a part of the request that libmicrohttpd hid.
struct WireHeaderReader {
    private let validator: UnsafeMutablePointer<HeaderValidator>
    private let countLimit: Int
    /// The address at which the next string must begin.
    private var expected: UInt
    private var isSeamless: Bool

    /// The only version whose layout is known. Later ones store their strings elsewhere.
    static let knownVersion = "0.9.75"
    private static let isKnown = isKnown(ListenerConfiguration().libraryVersion)

    static func isKnown(_ version: String) -> Bool { version == knownVersion }

    /// - Returns: false unless the request line and the header match RFC 9112 §2 to §5.
    static func read(
        _ exchange: Exchange, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>,
        countLimit: Int
    ) -> Bool {
        withUnsafeMutablePointer(to: &exchange.validator) { validator in
            let targetStart = address(method) + UInt(strlen(method)) + 1
            let versionStart = exchange.targetStart + UInt(exchange.targetCount) + 1
            var layout = WireHeaderReader(
                validator: validator, countLimit: countLimit,
                expected: address(version) + UInt(strlen(version)) + 2,
                isSeamless: targetStart == exchange.targetStart && versionStart == address(version))
            withUnsafeMutablePointer(to: &layout) { layout in
                _ = MHD_get_connection_values_n(exchange.connection, .HEADER_KIND, take, layout)
            }
            let end = address(method) + UInt(till_mhd_header_size(exchange.connection))
            return !isKnown || (layout.isSeamless && layout.expected + 2 == end)
        }
    }

    private static let take: MHD_KeyValueIteratorN = { context, _, name, nameCount, value, valueCount in
        guard let layout = context?.assumingMemoryBound(to: WireHeaderReader.self) else { return .NO }
        let validator = layout.pointee.validator
        guard let name, let value else {
            validator.pointee.addNameless()
            return .YES
        }
        if address(name) != layout.pointee.expected || value < name { layout.pointee.isSeamless = false }
        layout.pointee.expected = address(value) + UInt(valueCount) + 2
        validator.pointee.add(name: bytes(name, nameCount), value: bytes(value, valueCount))
        return validator.pointee.count <= layout.pointee.countLimit ? .YES : .NO
    }

    private static func address(_ pointer: UnsafePointer<CChar>) -> UInt { UInt(bitPattern: pointer) }

    private static func bytes(_ start: UnsafePointer<CChar>, _ count: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeRawBufferPointer(start: start, count: count).bindMemory(to: UInt8.self)
    }
}
