import Foundation
import TillBilling
import TillJSON

/// One process of a simulation: a plan on each line of stdin, a report on each line of stdout. The order of Swift's
/// dictionaries has to be the same every time, which is decided at a process's start (DESIGN §5), and what killed
/// programs leave in memory ends with it.
public enum SimulationWorker {
    /// Set in the environment of a worker: the folder that it may use.
    public static let variable = "TILL_SIMULATION_WORKER"

    /// Makes a folder for workers, where emulated devices keep their receipts. In memory where there is such a place:
    /// waiting for a disk would be a tenth of a world's time, and no power is cut there.
    public static func makeFolder() throws -> String {
        let memory = "/dev/shm"
        let place = FileManager.default.isWritableFile(atPath: memory) ? memory : NSTemporaryDirectory()
        var path = Array("\(place)/till-simulation.XXXXXX".utf8CString)
        guard mkdtemp(&path) != nil else { throw WorldFault("no folder can be made in \(place)") }
        return String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Removes it with all that its workers left, killed ones too.
    public static func remove(folder: String) { try? FileManager.default.removeItem(atPath: folder) }

    /// Until stdin ends. On a thread of its own: a world is one thread, and deep in it are calls of calls.
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
        let place = folder.appendingPathComponent("worker-\(getpid())")
        guard let simulation = try? Simulation(folder: place) else { return }
        while let line = readLine(strippingNewline: true) {
            guard let json = try? JSONValue(decoding: line), let plan = SimulationPlan(json: json) else { return }
            say(simulation.run(plan).json.encoded())
        }
    }
}
