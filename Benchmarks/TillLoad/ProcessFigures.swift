import Foundation
import TillThreads

/// Linux's figures for a process.
struct ProcessFigures {
    let processorSeconds: Double
    /// Bytes passed to the file system for writing to disk.
    let bytesWritten: Int

    init(of process: Int32) throws {
        let stat = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
            throw LoadError("/proc/\(process)/stat")
        }
        processorSeconds = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
        let lines = try String(contentsOfFile: "/proc/\(process)/io", encoding: .utf8).split(separator: "\n")
        let written = lines.first { $0.hasPrefix("write_bytes: ") }?.split(separator: " ").last
        guard let bytes = written.flatMap({ Int($0) }) else { throw LoadError("/proc/\(process)/io") }
        bytesWritten = bytes
    }
}

/// Samples of a server's stacks by `perf`, if the environment variable PERF names a file for them.
struct Profile {
    private let sampler = Process()
    private let control = Pipe()

    init?(of server: Int32) throws {
        guard let file = ProcessInfo.processInfo.environment["PERF"] else { return nil }
        sampler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        sampler.arguments = [
            "perf", "record", "-q", "-e", "cpu-clock", "--call-graph", "dwarf,16384", "-F", "299", "-p", "\(server)",
            "-o", file, "--control", "fd:0",
        ]
        sampler.standardInput = control
        try sampler.run()
        Thread.sleep(forTimeInterval: 0.5)
    }

    /// Foundation starts processes with their signals blocked.
    func end() throws {
        try control.fileHandleForWriting.write(contentsOf: Data("stop\n".utf8))
        sampler.waitUntilExit()
    }
}

/// Sends all requests, each as soon as one of the connections is free.
///
/// - Parameter isRight: judges the status of an answer; 0 for none.
func sendAll(
    _ requests: [[UInt8]], to port: UInt16, connections: Int = 8, _ isRight: @escaping @Sendable (Int) -> Bool
) throws {
    let next = Locked((number: 0, wrong: [Int: Int]()))
    onThreads(connections) { _ in
        let client = RawClient(port: port)
        while true {
            let number = next.withLock { next in
                next.number += 1
                return next.number - 1
            }
            guard number < requests.count else { return }
            let status = client.send(requests[number])
            if !isRight(status) { next.withLock { $0.wrong[status, default: 0] += 1 } }
        }
    }
    let wrong = next.withLock { $0.wrong }
    guard wrong.isEmpty else { throw LoadError("of \(requests.count) requests were answered otherwise: \(wrong)") }
}
