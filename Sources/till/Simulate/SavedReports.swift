import TillBilling
import TillCrypto
import TillJSON
import TillSimulation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reports of worlds in a file, so that a run of hours can be interrupted and continued. The first line names the
/// program and the plan, because the reports of another build do not apply to this one. Each further line is a report
/// with the milliseconds that its run had taken so far.
final class SavedReports: Sendable {
    /// By seed.
    let reports: [UInt64: SeedReport]
    /// The duration of the runs that wrote these reports.
    let seconds: Double
    private let path: String
    private let descriptor: Int32

    private static let sizeLimit = 1 << 30

    /// - Parameter template: the plan of all worlds, without their seeds.
    init(_ path: String, of template: SimulationPlan) throws {
        self.path = path
        let head = try Self.head(template)
        var lines: [Substring] = []
        if fileExists(path) {
            let text = String(decoding: try Self.read(path), as: UTF8.self)
            lines = text.split(separator: "\n", omittingEmptySubsequences: true)
            if let first = lines.first, first != head { throw Self.isOfAnother(path) }
        }
        var reports: [UInt64: SeedReport] = [:]
        var (earlier, last): (Int64, Int64) = (0, 0)
        for line in lines.dropFirst() {
            // The last line may be torn; its world is then run again.
            guard case .object(let members)? = try? JSONValue(decoding: String(line)), let json = members["report"],
                let report = SeedReport(json: json), case .int(let elapsed)? = members["milliseconds"]
            else { continue }
            reports[report.seed] = report
            if elapsed < last { earlier += last }
            last = elapsed
        }
        self.reports = reports
        seconds = Double(earlier + last) / 1_000
        descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Self.failure(FileError(path, errno)) }
        // On a line of its own, even if the last run left an incomplete line.
        try append(lines.isEmpty ? head : "")
    }

    deinit { close(descriptor) }

    /// Skips the report of a killed process: its world must be run again.
    func keep(_ report: SeedReport, seconds: Double) throws {
        guard report.steps > 0 else { return }
        let line: JSONValue = ["milliseconds": .int(Int64(seconds * 1_000)), "report": report.json]
        try append(line.encoded())
    }

    private func append(_ line: String) throws {
        let bytes = Array((line + "\n").utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count else { throw Self.failure(FileError(path, errno)) }
    }

    private static func head(_ template: SimulationPlan) throws -> String {
        var template = template
        template.seed = 0
        let program = hexadecimal(Digest.sha256.hash(try read(try Executable.own())))
        let head: JSONValue = ["program": .string(program), "plan": template.json]
        return head.encoded()
    }

    private static func read(_ path: String) throws -> [UInt8] {
        do throws(FileError) { return try readFile(path, limit: sizeLimit) } catch { throw failure(error) }
    }

    private static func failure(_ error: FileError) -> CommandError { CommandError(error.sentence) }

    private static func isOfAnother(_ path: String) -> CommandError {
        CommandError(
            LocalizedText(
                en: "\(shown(path)) holds worlds of another build or another plan: use another file, or remove it",
                zh: "\(shown(path)) 里是另一次编译或另一种计划的世界：请换一个文件，或删除它"))
    }
}
