import CTillSQLite
import Foundation
import TillBilling
import TillJSON

/// One worker process: a plan on each line of stdin, a report on each line of stdout. A process of its own has a fixed
/// order of Swift's dictionaries, which is determined at process start, and frees the memory that killed programs leave
/// behind.
public enum SimulationWorker {
    /// Set in the environment of a worker: the folder that it may use.
    public static let variable = "TILL_SIMULATION_WORKER"

    /// Creates a folder for workers, in which emulated devices keep their receipts; in memory if possible. Waiting for
    /// a disk would take a tenth of a world's time, and these files are not part of the power cuts.
    public static func makeFolder() throws -> String {
        let memory = "/dev/shm"
        let place = FileManager.default.isWritableFile(atPath: memory) ? memory : NSTemporaryDirectory()
        var path = Array("\(place)/till-simulation.XXXXXX".utf8CString)
        guard mkdtemp(&path) != nil else { throw SimulationError("no folder can be made in \(place)") }
        return String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Removes the folder with all files of its workers, killed ones included.
    public static func remove(folder: String) { try? FileManager.default.removeItem(atPath: folder) }

    /// Runs until stdin ends. It uses a thread with a large stack, because a world runs on one thread with deep calls.
    public static func run(in folder: String, saying say: @escaping @Sendable (String) -> Void) async {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                work(URL(fileURLWithPath: folder, isDirectory: true), say)
                continuation.resume()
            }
            thread.stackSize = 64 << 20
            thread.start()
        }
    }

    private static func work(_ folder: URL, _ say: (String) -> Void) {
        // A disk registers itself with SQLite, which settles both; the driver, which sets the second, comes later.
        _ = till_sqlite_for_one_thread()
        _ = till_sqlite_without_memory_statistics()
        let place = folder.appendingPathComponent("worker-\(getpid())")
        guard let simulation = try? Simulation(folder: place, sharing: folder) else { return }
        while let line = readLine(strippingNewline: true) {
            guard let json = try? JSONValue(decoding: line), let plan = SimulationPlan(json: json) else { return }
            say(simulation.run(plan).json.encoded())
        }
    }
}
