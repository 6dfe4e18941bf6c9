import Foundation
import TillThreads

/// Writes to one node directly, without Till, several times a second. Two nodes that both confirm writes at one time
/// are two writers.
struct WriterProbe: Sendable {
    static let table = "CREATE TABLE failover_probe (number BIGINT PRIMARY KEY, node TEXT NOT NULL)"

    let node: String
    let number: Int
    let record: FailoverRecord
    let isOver: @Sendable () -> Bool

    /// Ends with a thread of its own: psql is read line by line.
    func start() throws {
        guard SystemThread.detached({ while !isOver() { session(); usleep(300_000) } }) else {
            throw LoadError("no thread")
        }
    }

    /// One connection, to its end.
    private func session() {
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/psql")
        process.arguments = [
            "--no-psqlrc", "-AtqX",
            "host=\(node) user=postgres password=postgres-secret dbname=till connect_timeout=2 tcp_user_timeout=3000",
        ]
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        guard (try? process.run()) != nil else { return }
        defer {
            if process.isRunning { process.terminate() }
            process.waitUntilExit()
        }
        while !isOver() {
            let next = record.nextProbe()
            let began = ContinuousClock.now
            // The write's timeline is read before it, in the same statement; the answer comes after the commit.
            let statement = """
                INSERT INTO failover_probe (number, node) VALUES (\(next), '\(node)') \
                RETURNING 'written ' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);
                \\echo end \(next)

                """
            guard (try? input.fileHandleForWriting.write(contentsOf: Data(statement.utf8))) != nil,
                let lines = read(output, until: "end \(next)")
            else { return }
            // A warning says that the commit did not wait for the standbys: it promises nothing.
            let timeline = lines.first { $0.hasPrefix("written ") }?.dropFirst(8)
            if let timeline, !lines.contains(where: { $0.contains("WARNING") }) {
                let probe = FailoverRecord.Probe(
                    number: next, node: node, timeline: String(timeline), began: began, ended: .now)
                record.note { $0.probes.append(probe) }
            } else {
                usleep(200_000)
            }
            usleep(100_000)
        }
    }

    private func read(_ pipe: Pipe, until end: String) -> [String]? {
        var text = ""
        while true {
            let data = pipe.fileHandleForReading.availableData
            guard !data.isEmpty else { return nil }
            text += String(decoding: data, as: UTF8.self)
            let lines = text.split(separator: "\n").map(String.init)
            if lines.contains(end), text.hasSuffix("\n") { return lines.filter { $0 != end } }
        }
    }
}
