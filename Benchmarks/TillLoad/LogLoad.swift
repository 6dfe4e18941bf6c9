import Foundation
import TillBilling
import TillCrypto
import TillLedger
import TillServer

/// Processor time of the log lines of a grant, written to a file by the writer of `till serve`.
struct LogLoad {
    let directory: String
    let grants: Int

    /// Lines come as they do under load: a few at a time, at 2,500 grants a second.
    private static let burst = 25
    private static let pause: UInt32 = 10_000

    /// Microseconds of processor time of a line, of all lines of a grant, and bytes of a line.
    func line() throws -> String {
        let path = directory + "/log.unfinished"
        let file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0o600)
        guard file >= 0 else { throw LoadError("\(path): error \(errno)") }
        defer {
            close(file)
            unlink(path)
        }
        let clock: @Sendable () -> Instant = { Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) }
        // As the command line's console writes.
        let writer = LogWriter(.json, level: .info, clock: clock) { bytes in
            var text = String(decoding: bytes, as: UTF8.self)
            text.withUTF8 { _ = write(file, $0.baseAddress, $0.count) }
        }
        guard let writer else { throw LoadError("no thread for the log") }
        _ = try cost(Log.none)
        let (none, lines) = (try cost(Log.none), try cost(writer.log))
        writer.stop()
        let size = lseek(file, 0, SEEK_END)
        let written = try String(contentsOfFile: path, encoding: .utf8).utf8.count { $0 == UInt8(ascii: "\n") }
        guard written == 2 * grants else { throw LoadError("\(written) lines of \(2 * grants) are in the log") }
        let ofGrant = (lines - none) * 1_000_000 / Double(grants)
        return String(format: "%.2f %.2f %d", ofGrant / 2, ofGrant, Int(size) / written)
    }

    /// Seconds of processor time of this process, the writer's thread included.
    private func cost(_ log: Log) throws -> Double {
        let start = try processorTime()
        for number in 0..<grants {
            let trace = RequestTrace(requestID: UniqueID(random: RandomBytes.make(16)).description)
            RequestTrace.$current.withValue(trace) { writeLines(log, number) }
            if number % Self.burst == Self.burst - 1 { usleep(Self.pause) }
        }
        // The writer collects lines for a moment.
        usleep(100_000)
        return try processorTime() - start
    }

    private func writeLines(_ log: Log, _ number: Int) {
        log.write(
            .purchaseGranted,
            [
                "transactionId": .text("2000000\(number)"), "productId": .text(LoadSet.productID),
                "environment": "Sandbox", "orderId": "3f2c4d5e-0011-4a2b-8c3d-0123456789ab",
                "user": .text("user-\(number)"),
                "match": "token", "source": "app", "reason": .text(nil),
            ])
        log.write(
            .request,
            [
                "method": "POST", "route": "/v1/transactions", "status": 200, "ms": .integer(number % 7),
                "caller": .text("user:user-\(number)"), "code": .text(nil), "network": .text(nil),
            ])
    }

    private func processorTime() throws -> Double {
        var time = timespec()
        guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { throw LoadError("no clock of this process") }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
