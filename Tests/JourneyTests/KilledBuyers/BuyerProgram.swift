import Foundation
import Testing
import TillBilling
import TillJSON

/// One run of LearnPoints, the example app as it is, in a process of its own that can really be killed.
struct BuyerProgram: Sendable {
    let user: String
    let generation: Int
    let folder: URL
    let token: String
    let server: String
    let store: String
    /// `identifierForVendor`: the phone stays the same when the app is reinstalled.
    let device = UUID()

    static var executable: URL {
        TillProcess.executable.deletingLastPathComponent().appendingPathComponent("learnpoints")
    }

    /// What the app keeps on this phone.
    private var files: URL { folder.appendingPathComponent("app-\(user)") }

    /// Takes the app off the phone, with all that it kept there.
    func deleteApp() throws { try FileManager.default.removeItem(at: files) }

    /// - Parameter commands: what its buyer types at once.
    func start(_ commands: [String]) throws -> Run {
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        let output = folder.appendingPathComponent("\(user)-\(UUID().uuidString).out")
        try Data().write(to: output)
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = [
            "--server", server, "--user", user, "--token", token, "--directory", files.path, "--storekit",
            String(generation), "--json",
        ]
        process.environment = ProcessInfo.processInfo.environment.merging([
            "TILL_STORE": store, "TILL_STORE_ACCOUNT": user, "TILL_STORE_DEVICE": device.uuidString,
            "TILL_STORE_BUNDLE_ID": Shop.bundleID, "TILL_STORE_DIRECTORY": files.path,
        ]) { $1 }
        let input = Pipe()
        process.standardInput = input
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = process.standardOutput
        let (ended, continuation) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = { process in
            continuation.yield(
                process.terminationReason == .uncaughtSignal
                    ? -process.terminationStatus : process.terminationStatus)
            continuation.finish()
        }
        try process.run()
        let run = Run(process: process, ended: ended, input: input.fileHandleForWriting, output: output)
        try run.tell(commands)
        return run
    }

    // Sendable: the process is started before, and asked for no more than its end and its number.
    struct Run: @unchecked Sendable {
        fileprivate let process: Process
        fileprivate let ended: AsyncStream<Int32>
        fileprivate let input: FileHandle
        fileprivate let output: URL

        func tell(_ commands: [String]) throws {
            try input.write(contentsOf: Data((commands.joined(separator: "\n") + "\n").utf8))
        }

        /// Signal 9: the process has no say in it.
        func kill() { Foundation.kill(process.processIdentifier, SIGKILL) }

        /// Its exit code; the negative number of the signal that ended it.
        func end() async -> Int32 {
            for await code in ended { return code }
            return process.terminationStatus
        }

        /// What it said, a line an event.
        var said: String { (try? String(contentsOf: output, encoding: .utf8)) ?? "" }

        func event(_ name: String) -> JSONValue? {
            said.split(separator: "\n").compactMap { try? JSONValue(decoding: String($0)) }
                .last { $0["event"]?.string == name }
        }
    }
}
