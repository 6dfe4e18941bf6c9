import Foundation

/// Appends 4 KiB and waits for the disk, repeatedly: the limit of a database that commits each request separately.
struct SyncLoop {
    let directory: String

    /// - Returns: appends with fdatasync per second.
    func run(seconds: Double) throws -> Int {
        let path = directory + "/sync.unfinished"
        let file = open(path, O_CREAT | O_RDWR | O_TRUNC, 0o600)
        guard file >= 0 else { throw LoadError("\(path): error \(errno)") }
        defer {
            close(file)
            unlink(path)
        }
        let block = [UInt8](repeating: 0x54, count: 4_096)
        let clock = ContinuousClock()
        let start = clock.now
        var appended = 0
        while clock.now - start < .seconds(seconds) {
            guard write(file, block, block.count) == block.count, fdatasync(file) == 0 else {
                throw LoadError("\(path): error \(errno)")
            }
            appended += 1
        }
        return Int(Double(appended) / ((clock.now - start) / .seconds(1)))
    }
}
