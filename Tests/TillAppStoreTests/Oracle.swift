import Foundation
import TillAppStore
import TillBilling
import TillJSON

/// The independent implementation that came with the shared proofs (`reference.py`), which is given proofs as bytes. It
/// needs a Python with its libraries: `TILL_ORACLE_PYTHON` names the interpreter.
enum Oracle {
    static let python = ProcessInfo.processInfo.environment["TILL_ORACLE_PYTHON"]
    static let isPresent =
        SharedVectors.arePresent && (python.map(FileManager.default.isExecutableFile(atPath:)) ?? false)
    static let absence = "TILL_ORACLE_PYTHON names no Python that could run ../shared/vectors/reference.py"

    /// One proof for the oracle.
    struct Question {
        let id: String
        let bytes: [UInt8]
        let kind: ProofInspection.Kind
        /// `jws`, `p7-der`, `p7-b64`, `oldstyle-b64`, `chain-json`.
        let format: String
        /// The policy by the manifest's names, without the roots.
        var policy: [String: JSONValue] = [:]
        /// Trust anchors as DER.
        var roots: [[UInt8]] = []
        var expect = "report"
    }

    struct Answer {
        let verdict: String
        let fields: [String: JSONValue]
    }

    /// - Parameter now: the oracle's current time, in seconds since 1970.
    static func answers(_ questions: [Question], now: Int64 = testNow.seconds) throws -> [String: Answer] {
        let directory = URL(fileURLWithPath: NSTemporaryDirectory() + "till-oracle-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        let rows = try questions.enumerated().map { index, question -> JSONValue in
            func write(_ name: String, _ bytes: [UInt8]) throws -> JSONValue {
                let file = directory.appendingPathComponent("\(index)-\(name)")
                try Data(bytes).write(to: file)
                return .string(file.path)
            }
            var policy = question.policy
            policy["roots"] = .array(try question.roots.enumerated().map { try write("root-\($0)", $1) })
            return [
                "id": .string(question.id), "file": try write("proof", question.bytes),
                "kind": .string(question.kind.rawValue), "format": .string(question.format), "split": "",
                "expect": .string(question.expect), "policy": .string(JSONValue.object(policy).encoded()),
            ]
        }
        let input = directory.appendingPathComponent("rows.json")
        try Data(JSONValue.array(rows).encoded().utf8).write(to: input)
        let lines = try run([input.path, String(now)]).split(separator: UInt8(ascii: "\n"))
        let answers = try lines.map { line -> (String, Answer) in
            let json = try JSONValue(decoding: line)
            return (
                json["id"]?.string ?? "",
                Answer(verdict: json["verdict"]?.string ?? "", fields: json["fields"]?.object ?? [:])
            )
        }
        return Dictionary(answers, uniquingKeysWith: { first, _ in first })
    }

    /// The oracle's exceptions are answers too: it supports only a part of the questions.
    private static let driver = """
        import sys, json
        sys.path.insert(0, sys.argv[1])
        import reference
        reference.apple_lib = lambda *_: None
        for row in json.load(open(sys.argv[2])):
            try: answer = reference.run(row, int(sys.argv[3]))
            except Exception as error: answer = dict(id=row['id'], verdict='exception', fields={}, detail=repr(error))
            print(json.dumps(answer, sort_keys=True))
        """

    private static func run(_ arguments: [String]) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: python ?? "/nonexistent")
        process.arguments = ["-W", "ignore", "-B", "-c", driver, SharedVectors.directory.path] + arguments
        let out = Pipe()
        process.standardOutput = out
        try process.run()
        let printed = out.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Array(printed)
    }

    /// The names of fields that differ from the oracle's. Till may have more fields; numbers compare by value. The
    /// output of Apple's library is the oracle's alone.
    static func differences(_ ours: [String: JSONValue], _ oracle: [String: JSONValue]) -> [String] {
        oracle.keys.filter { $0 != "appleLibrary" }.sorted().compactMap { name in
            let mine = ours[name]
            if same(mine, oracle[name]) { return nil }
            return "\(name): \(mine?.encoded().prefix(160) ?? "absent") ≠ \(oracle[name]?.encoded().prefix(160) ?? "")"
        }
    }

    private static func same(_ left: JSONValue?, _ right: JSONValue?) -> Bool {
        switch (left, right) {
        case (.object(let left), .object(let right)):
            left.count == right.count && left.allSatisfy { same($0.value, right[$0.key]) }
        case (.array(let left), .array(let right)): left.count == right.count && zip(left, right).allSatisfy(same)
        default: left == right || left?.number != nil && left?.number == right?.number
        }
    }
}
