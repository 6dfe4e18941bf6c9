import TillBilling

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where an export is written: stdout, or a new file that only this user can read.
final class ExportOutput {
    private let path: String?
    private let console: Console
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private static let bufferSize = 64 << 10

    /// - Throws: `CommandError` if the file exists already or can't be created.
    init(_ path: String?, _ console: Console) throws {
        self.path = path
        self.console = console
        guard let path else {
            descriptor = -1
            return
        }
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw CommandError(FileError(path, errno).sentence) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    func write(_ text: String) throws {
        guard path != nil else { return console.write(text) }
        buffer += Array(text.utf8)
        if buffer.count >= Self.bufferSize { try flush() }
    }

    func finish() throws {
        guard let path else { return }
        try flush()
        guard fsync(descriptor) == 0 else { throw CommandError(FileError(path, errno).sentence) }
    }

    private func flush() throws {
        guard let path else { return }
        var rest = buffer[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Self.write(descriptor, $0) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw CommandError(FileError(path, errno).sentence)
            }
        }
        buffer.removeAll(keepingCapacity: true)
    }

    /// The system's function, which this class's own method hides.
    private static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Glibc)
            Glibc.write(descriptor, bytes.baseAddress, bytes.count)
        #else
            Darwin.write(descriptor, bytes.baseAddress, bytes.count)
        #endif
    }
}
