import Foundation
import TillClient

/// The screen and the keyboard of an example: lines in, lines out, in the buyer's language.
public struct Terminal: Sendable {
    public let language: StoreLanguage
    /// Whether programs read along: then each event is one JSON object on a line, and nothing else is printed.
    public let wantsJSON: Bool
    private let out: @Sendable (String) -> Void

    /// - Parameter out: where a line goes; the process's own stdout if nothing is said.
    public init(language: StoreLanguage, wantsJSON: Bool = false, out: (@Sendable (String) -> Void)? = nil) {
        self.language = language
        self.wantsJSON = wantsJSON
        self.out = out ?? { Self.write($0, to: .standardOutput) }
    }

    /// The one of two sentences that the buyer reads.
    public func choose(_ english: String, _ chinese: String) -> String {
        switch language {
        case .english: english
        case .chinese: chinese
        }
    }

    /// A line for people.
    public func say(_ english: String, _ chinese: String) {
        if !wantsJSON { out(choose(english, chinese)) }
    }

    /// A line that reads the same in both languages.
    public func say(_ line: String) { say(line, line) }

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

    /// What is typed, a line at a time, until the input ends. To be called once.
    public func lines() -> AsyncStream<String> {
        let (lines, continuation) = AsyncStream<String>.makeStream()
        // Waiting for a keyboard on one of Swift's few threads would stop the purchases.
        Thread.detachNewThread {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
        return lines
    }

    /// In one call, so that lines of tasks that write at the same time don't mix, and unbuffered, so that a line is out
    /// before the next thing happens.
    private static func write(_ line: String, to file: FileHandle) {
        try? file.write(contentsOf: Data((line + "\n").utf8))
    }
}
