import Foundation
import Testing

/// The Python in which Tests/requirements.txt is installed (`make deps`).
enum OfferPython {
    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let path = package.appendingPathComponent(".build/python/bin/python").path

    /// Compares the whole list with the installed copy, which is written last.
    static let isInstalled = FileManager.default.contentsEqual(
        atPath: package.appendingPathComponent("Tests/requirements.txt").path,
        andPath: package.appendingPathComponent(".build/python/requirements.txt").path)
    static let isMissing: Comment = "Tests/requirements.txt is not installed in .build/python: make deps"

    /// Runs a script with one JSON text; returns its output, which is one JSON text too.
    static func answer<Question: Encodable, Answer: Decodable>(
        of script: String, to question: Question, as type: Answer.Type
    ) throws -> Answer {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("till-offers-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(script.utf8).write(to: folder.appendingPathComponent("script.py"))
        try JSONEncoder().encode(question).write(to: folder.appendingPathComponent("question.json"))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["-I", "script.py"]
        process.currentDirectoryURL = folder
        let (output, errors) = (Pipe(), folder.appendingPathComponent("errors"))
        try Data().write(to: errors)
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        let printed = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let complaint = try String(decoding: Data(contentsOf: errors), as: UTF8.self)
        try #require(process.terminationStatus == 0, "\(complaint)")
        return try JSONDecoder().decode(type, from: printed)
    }
}
