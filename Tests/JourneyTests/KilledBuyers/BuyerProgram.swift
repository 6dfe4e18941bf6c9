import Foundation
import Testing
import TillBilling
import TillJSON

/// One run of the example app LearnPoints, in its own process that can really be killed.
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

    /// The app's files on this phone.
    private var files: URL { folder.appendingPathComponent("app-\(user)") }

    /// Deletes the app from the phone, with all its files.
    func deleteApp() throws { try FileManager.default.removeItem(at: files) }

    /// - Parameter commands: the buyer's first inputs.
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

    // Sendable: the process is already started, and only its end and its id are read.
    struct Run: @unchecked Sendable {
        fileprivate let process: Process
        fileprivate let ended: AsyncStream<Int32>
        fileprivate let input: FileHandle
        fileprivate let output: URL

        func tell(_ commands: [String]) throws {
            try input.write(contentsOf: Data((commands.joined(separator: "\n") + "\n").utf8))
        }

        /// Sends signal 9, which the process can't handle.
        func kill() { Foundation.kill(process.processIdentifier, SIGKILL) }

        /// Its exit code; the negative number of the signal that ended it.
        func end() async -> Int32 {
            for await code in ended { return code }
            return process.terminationStatus
        }

        /// Its output, one line per event.
        var said: String { (try? String(contentsOf: output, encoding: .utf8)) ?? "" }

        func event(_ name: String) -> JSONValue? {
            said.split(separator: "\n").compactMap { try? JSONValue(decoding: String($0)) }
                .last { $0["event"]?.string == name }
        }
    }
}
