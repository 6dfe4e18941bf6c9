import Foundation
import TillBilling
import TillCrypto
import TillThreads

@testable import till

/// Standard streams that a test can read afterwards.
final class Recorder: Sendable {
    private let streams = Locked((out: "", error: ""))

    var out: String { streams.withLock { $0.out } }
    var error: String { streams.withLock { $0.error } }

    func console(input: [UInt8] = []) -> Console {
        Console(
            out: { text in self.streams.withLock { $0.out += text } },
            error: { text in self.streams.withLock { $0.error += text } },
            input: { limit in Array(input.prefix(limit + 1)) })
    }

    func process(environment: [String: String] = [:], input: [UInt8] = []) -> ProcessEffects {
        ProcessEffects(
            console: console(input: input), environment: environment, clock: { Instant(seconds: 1_790_000_000) },
            entropy: RandomBytes.make, waitForStop: { {} })
    }
}
