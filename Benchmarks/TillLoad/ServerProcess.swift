import Foundation
import TillJSON

/// A real `till serve` process, started and ended by its own process id.
final class ServerProcess {
    private let process = Process()
    private let output = Pipe()
    private let set: LoadSet
    private var url: String?

    /// Starts the program without waiting for it.
    ///
    /// - Parameters:
    ///   - database: the path of a ledger, instead of the configured one.
    ///   - environment: settings beside those of the configuration: `TILL_…`.
    init(till: String, set: LoadSet, database: String? = nil, environment: [String: String] = [:]) throws {
        self.set = set
        process.executableURL = URL(fileURLWithPath: till)
        process.arguments =
            ["serve", "--config", set.configuration, "--json"]
            + (database.map { ["--database", "sqlite:\($0)"] } ?? [])
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = output
        // Its log: what it writes there shall not fill the terminal of a measurement.
        let log = set.directory.appendingPathComponent("server.log")
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        process.standardError = try FileHandle(forWritingTo: log)
        try process.run()
        try Data("\(process.processIdentifier)\n".utf8).write(to: set.processID)
    }

    var id: Int32 { process.processIdentifier }

    /// Waits until the server prints its address: `http://127.0.0.1:PORT`.
    func listening() throws -> String {
        if let url { return url }
        var line: [UInt8] = []
        while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
            line.append(byte)
        }
        guard let url = try? JSONValue(decoding: line)["listening"]?.string else {
            throw LoadError("the server did not say where it listens")
        }
        self.url = url
        return url
    }

    /// Sends signal 9, which allows no clean-up.
    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        waitForEnd()
    }

    /// Sends SIGTERM, and waits for a normal exit.
    func stop() throws {
        process.terminate()
        waitForEnd()
        guard process.terminationStatus == 0 else {
            throw LoadError("the server ended with \(process.terminationStatus)")
        }
    }

    private func waitForEnd() {
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: set.processID)
    }
}
