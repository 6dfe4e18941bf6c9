import Foundation
import Testing
import TillHTTP
import TillJSON

/// The Python in which Tests/requirements.txt is installed (`make deps`), with the library of Standard Webhooks.
enum WebhookPython {
    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Compares the whole list with the installed copy, which is written last.
    static let isInstalled = FileManager.default.contentsEqual(
        atPath: package.appendingPathComponent("Tests/requirements.txt").path,
        andPath: package.appendingPathComponent(".build/python/requirements.txt").path)
    static let isMissing: Comment = "Tests/requirements.txt is not installed in .build/python: make deps"

    private static let script = """
        import json, sys
        from standardwebhooks.webhooks import Webhook
        question = json.load(sys.stdin)
        def verdict(secret, request):
            try: return Webhook(secret).verify(request["body"], request["headers"])["type"]
            except Exception as fault: return str(fault)
        print(json.dumps([[verdict(s, r) for s in question["secrets"]] for r in question["requests"]]))
        """

    /// The result of each secret for each request: the type of the event, or why it is invalid.
    static func verify(_ requests: [HTTPRequest], secrets: [String]) throws -> [[String]] {
        let question: JSONValue = [
            "secrets": .array(secrets.map { .string($0) }),
            "requests": .array(
                requests.map { request in
                    let headers = request.headers.fields.map { ($0.name, JSONValue.string($0.value)) }
                    return [
                        "body": .string(String(decoding: request.body, as: UTF8.self)),
                        "headers": .object(Dictionary(headers, uniquingKeysWith: { first, _ in first })),
                    ]
                }),
        ]
        let process = Process()
        process.executableURL = package.appendingPathComponent(".build/python/bin/python")
        process.arguments = ["-I", "-c", script]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(question.encoded().utf8))
        try input.fileHandleForWriting.close()
        let printed = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return try JSONValue(decoding: Array(printed)).list.map { $0.list.map(\.text) }
    }
}
