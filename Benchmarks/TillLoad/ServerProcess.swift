import Foundation
import TillAppStore

/// A real `till serve`, started by us and ended by us, by its own process id.
final class ServerProcess {
    private let process = Process()
    /// Where it listens: `http://127.0.0.1:PORT`.
    let url: String

    var processID: Int32 { process.processIdentifier }

    /// Starts the program and waits until it says where it listens.
    init(till: String, configuration: String) throws {
        process.executableURL = URL(fileURLWithPath: till)
        process.arguments = ["serve", "--config", configuration, "--json"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        var line: [UInt8] = []
        while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
            line.append(byte)
        }
        guard let url = try? JSONValue(decoding: line)["listening"]?.string else {
            throw LoadFault("the server did not say where it listens")
        }
        self.url = url
    }

    /// Signal 9: no chance to put anything in order.
    func kill() {
        Foundation.kill(processID, SIGKILL)
        process.waitUntilExit()
    }

    /// SIGTERM, and waits for the good end.
    func stop() throws {
        process.terminate()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw LoadFault("the server ended with \(process.terminationStatus)")
        }
    }
}

struct LoadFault: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
