import Foundation
import TillAppStore
import TillBilling

/// One process of a simulation: a plan on each line of stdin, a report on each line of stdout. The order of Swift's
/// dictionaries has to be the same every time, which is decided at a process's start (DESIGN §5), and what killed
/// programs leave in memory ends with it.
public enum SimulationWorker {
    /// Set in the environment of a worker.
    public static let variable = "TILL_SIMULATION_WORKER"

    /// Until stdin ends. On a thread of its own: a world is one thread, and deep in it are calls of calls.
    public static func run(saying say: @escaping @Sendable (String) -> Void) async {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                work(say)
                continuation.resume()
            }
            thread.stackSize = 64 << 20
            thread.start()
        }
    }

    private static func work(_ say: (String) -> Void) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-simulation-\(getpid())")
        defer { try? FileManager.default.removeItem(at: folder) }
        guard let simulation = try? Simulation(folder: folder) else { return }
        while let line = readLine(strippingNewline: true) {
            guard let json = try? JSONValue(decoding: line), let plan = SimulationPlan(json: json) else { return }
            say(simulation.run(plan).json.encoded())
        }
    }
}
