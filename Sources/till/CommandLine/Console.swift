#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The standard streams of the process.
struct Console: Sendable {
    /// Whether stderr is a terminal; otherwise no progress is drawn.
    let drawsProgress: Bool
    private let out: @Sendable (String) -> Void
    private let error: @Sendable (String) -> Void
    private let input: @Sendable (_ limit: Int) -> [UInt8]?

    /// - Parameter input: all of stdin; nil if it can't be read. It may stop after `limit` + 1 bytes.
    init(
        drawsProgress: Bool = false, out: @escaping @Sendable (String) -> Void,
        error: @escaping @Sendable (String) -> Void, input: @escaping @Sendable (_ limit: Int) -> [UInt8]?
    ) {
        self.drawsProgress = drawsProgress
        self.out = out
        self.error = error
        self.input = input
    }

    /// One line on stdout.
    func print(_ line: String) { out(line + "\n") }
    /// Text on stdout that contains its own line ends.
    func write(_ text: String) { out(text) }
    /// One line on stderr.
    func complain(_ line: String) { error(line + "\n") }
    /// Text on stderr without a line end: a progress bar.
    func draw(_ text: String) { error(text) }
    /// All of stdin, or its first `limit` + 1 bytes if it is longer; nil if it can't be read.
    func readInput(limit: Int) -> [UInt8]? { input(limit) }
}

extension Console {
    /// The process's own streams, unbuffered: each line is written before the next step, also when the process is
    /// killed.
    static func ofProcess() -> Console {
        Console(
            drawsProgress: isatty(STDERR_FILENO) == 1,
            out: { writeAll($0, to: STDOUT_FILENO) },
            error: { writeAll($0, to: STDERR_FILENO) },
            input: { readAll(from: STDIN_FILENO, limit: $0) }
        )
    }
}

/// A closed reader (`till … | head`) is no error: the rest is dropped.
private func writeAll(_ text: String, to descriptor: Int32) {
    var text = text
    text.withUTF8 { bytes in
        var rest = UnsafeRawBufferPointer(bytes)
        while !rest.isEmpty {
            let count = write(descriptor, rest.baseAddress, rest.count)
            if count > 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else if errno != EINTR && errno != EAGAIN {
                return
            }
        }
    }
}

/// Up to `limit` + 1 bytes, so that the caller can distinguish "exactly the limit" from "more"; nil after a read error.
func readAll(from descriptor: Int32, limit: Int) -> [UInt8]? {
    var content: [UInt8] = []
    let chunkSize = 1 << 16
    while content.count <= limit {
        let wanted = min(chunkSize, limit + 1 - content.count)
        var failure: Int32 = 0
        let chunk = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
            let got = read(descriptor, buffer.baseAddress, wanted)
            count = max(got, 0)
            failure = got < 0 ? errno : 0
        }
        if failure == EINTR { continue }
        if failure != 0 { return nil }
        if chunk.isEmpty { break }
        content += chunk
    }
    return content
}
