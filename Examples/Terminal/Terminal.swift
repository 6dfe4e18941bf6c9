import Foundation
import TillClient

/// The terminal of an example app: input and output in lines, in the buyer's language.
public struct Terminal: Sendable {
    /// `en` or `zh`.
    public let language: String
    /// Whether the output is for programs: each event is then one JSON object on a line, and nothing else is printed.
    public let wantsJSON: Bool
    private let out: @Sendable (String) -> Void

    /// - Parameter out: receives the lines; the process's stdout by default.
    public init(language: String, wantsJSON: Bool = false, out: (@Sendable (String) -> Void)? = nil) {
        self.language = language
        self.wantsJSON = wantsJSON
        self.out = out ?? { Self.write($0, to: .standardOutput) }
    }

    /// The sentence in the buyer's language.
    public func choose(_ english: String, _ chinese: String) -> String {
        language == "zh" ? chinese : english
    }

    /// A line for people.
    public func say(_ english: String, _ chinese: String) {
        if !wantsJSON { out(choose(english, chinese)) }
    }

    /// A line that reads the same in both languages.
    public func say(_ line: String) { say(line, line) }

    /// A moment in UTC, to the second: plans are computed in seconds.
    public func time(_ date: Date) -> String { ISO8601DateFormatter().string(from: date) }

    /// An amount of money with its currency; empty if it is unknown.
    public func price(_ amount: Decimal?, _ currency: String?) -> String {
        amount.map { "\($0) \(currency ?? "")" } ?? ""
    }

    /// An event for programs.
    public func tell(_ event: some Encodable) {
        guard wantsJSON else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let line = try? encoder.encode(event) else { return }
        out(String(decoding: line, as: UTF8.self))
    }

    /// A line on stderr.
    public func complain(_ english: String, _ chinese: String) {
        Self.write(choose(english, chinese), to: .standardError)
    }

    /// The input, line by line, until it ends. Call it once.
    public func lines() -> AsyncStream<String> {
        let (lines, continuation) = AsyncStream<String>.makeStream()
        // Blocking one of Swift's few threads on the keyboard would stop the purchases.
        Thread.detachNewThread {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
        return lines
    }

    /// Writes in one call, so that concurrent lines do not mix, and unbuffered, so that a line appears before the next
    /// event.
    private static func write(_ line: String, to file: FileHandle) {
        try? file.write(contentsOf: Data((line + "\n").utf8))
    }
}
