import TillBilling
import TillJSON
import TillThreads

/// The demo's steps: one line each for people, and one JSON object for programs.
final class Transcript: Sendable {
    private struct State {
        var checks: [(name: String, passed: Bool, sentence: LocalizedText)] = []
        var purchases: [JSONValue] = []
    }

    private let call: Invocation
    private let state = Locked(State())

    init(_ call: Invocation) { self.call = call }

    func heading(_ text: LocalizedText) {
        call.say(LocalizedText(""))
        call.say(text)
    }

    func step(_ text: LocalizedText) { call.say(LocalizedText(en: "  · \(text.en)", zh: "  · \(text.zh)")) }

    /// Records a condition that must hold.
    /// - Parameter name: stable, for programs.
    func check(_ name: String, _ passed: Bool, _ text: LocalizedText) {
        state.withLock { $0.checks.append((name, passed, text)) }
        let mark = passed ? "✓" : "✗"
        call.say(LocalizedText(en: "  \(mark) \(text.en)", zh: "  \(mark) \(text.zh)"))
    }

    func record(_ purchase: JSONValue) { state.withLock { $0.purchases.append(purchase) } }

    var passed: Bool { state.withLock { state in !state.checks.isEmpty && state.checks.allSatisfy(\.passed) } }

    /// The conditions that did not hold.
    var failures: [LocalizedText] {
        state.withLock { state in
            state.checks.filter { !$0.passed }.map { check in
                LocalizedText(en: "check failed: \(check.sentence.en)", zh: "检查未通过：\(check.sentence.zh)")
            }
        }
    }

    func json(of shop: DemoShop) -> JSONValue {
        let (checks, purchases) = state.withLock { ($0.checks, $0.purchases) }
        return [
            "passed": .bool(passed),
            "purchases": .array(purchases),
            "checks": .array(checks.map { ["name": .string($0.name), "passed": .bool($0.passed)] }),
            "server": [
                "url": .string(shop.serverURL), "dashboard": .string(shop.dashboard),
                "operatorToken": .string(shop.operatorToken), "secretKey": .string(shop.secretKey),
                "userTokenSecret": .string(shop.userTokenSecret),
            ],
            "store": ["url": .string(shop.storeURL)],
        ]
    }
}
