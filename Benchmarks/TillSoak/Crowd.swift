import Foundation
import TillJSON
import TillThreads

/// The buyers: at any time, a few phones have their app open, and most of the apps are killed in use.
final class Crowd: Sendable {
    private struct State {
        var inUse: Set<Int> = []
        var surprises: [String] = []
        var underWay: [Int: Int64] = [:]
    }

    private let directory: SoakDirectory
    private let keys: SoakDirectory.Keys
    private let server: FaultyProxy
    private let store: FaultyProxy
    private let control: StoreControl
    private let tally: Tally
    private let seed: UInt64
    private let state = Locked(State())

    /// The number of open apps.
    static let width = 5

    init(
        _ directory: SoakDirectory, _ keys: SoakDirectory.Keys, server: FaultyProxy, store: FaultyProxy,
        control: StoreControl, tally: Tally,
        seed: UInt64
    ) {
        self.directory = directory
        self.keys = keys
        self.server = server
        self.store = store
        self.control = control
        self.tally = tally
        self.seed = seed
    }

    /// Apps that ended unexpectedly.
    var surprises: [String] { state.withLock { $0.surprises } }

    /// The number of pending orders on each phone when its app was closed for the last time, for phones with any.
    var underWay: [Int: Int64] { state.withLock { $0.underWay.filter { $0.value > 0 } } }

    // MARK: During the chaos

    func run(until deadline: ContinuousClock.Instant) async {
        await withTaskGroup(of: Void.self) { group in
            for buyer in 0..<Self.width {
                group.addTask { [self] in
                    var random = SeededRandom(seed: seed, player: "buyer \(buyer)")
                    while ContinuousClock.now < deadline, !Task.isCancelled {
                        await visit(&random, until: deadline)
                    }
                }
            }
        }
    }

    private func visit(_ random: inout SeededRandom, until deadline: ContinuousClock.Instant) async {
        let free = state.withLock { state in Phone.all.filter { !state.inUse.contains($0.number) } }
        guard let phone = random.pick(free), state.withLock({ $0.inUse.insert(phone.number).inserted }) else {
            try? await Task.sleep(for: .milliseconds(50))
            return
        }
        defer { state.withLock { _ = $0.inUse.remove(phone.number) } }
        // The customer's action at payment sheets. If the store is unavailable now, the previous setting remains.
        let sheets = Array(repeating: "purchased", count: 14) + ["cancelled", "failed", "deferred", "interrupted"]
        if let sheet = random.pick(sheets) {
            try? await control.put("/emulator/accounts/\(phone.account)", ["paymentSheet": .string(sheet)])
        }
        guard let user = random.pick(phone.users),
            let child = try? phone.launch(user, keys, in: directory, server: server.url, store: store.url)
        else { return }
        child.send(script(of: phone, &random))
        let isKilled = random.occurs(0.6)
        let patience = min(random.duration(isKilled ? 0.3...9 : 6...14), max(.zero, deadline - .now))
        if await child.end(within: patience) == nil {
            if isKilled { child.kill() } else { child.send(["wait 5", "quit"]) }
        }
        await close(child, of: phone, wasKilled: isKilled, within: .seconds(40))
        if random.occurs(0.08), (try? phone.deleteApp(in: directory)) != nil { tally.add(.deeds, "app deleted") }
    }

    /// The actions of its users, as they would type them.
    private func script(of phone: Phone, _ random: inout SeededRandom) -> [String] {
        var lines: [String] = []
        for _ in 0..<Int.random(in: 2...7, using: &random) {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<8: lines.append("buy \(SoakCatalog.all[0].id) \(Int.random(in: 1...3, using: &random))")
            case 8..<11: lines.append("buy \(SoakCatalog.all[1].id)")
            case 11: lines.append("buy \(SoakCatalog.all[2].id)")
            case 12..<14: lines.append("buy \(SoakCatalog.all[3].id)")
            case 14:
                lines.append("sign-out")
                if let user = random.pick(phone.users) { lines.append("sign-in \(user) \(keys.token(of: user))") }
            case 15..<17:
                if let user = random.pick(phone.users) { lines.append("sign-in \(user) \(keys.token(of: user))") }
            case 17: lines.append("restore")
            case 18: lines.append("wait 2")
            default: lines.append("resubmit 1")
            }
        }
        return lines
    }

    // MARK: At the end

    /// Opens the app of a phone once more, waits until the customer's queue is empty, signs in each of its users, and
    /// closes the app. Each user must sign in, because only to its owner does the server report the status of an order
    /// that the phone cannot prove any more.
    func comeBack(to phone: Phone, within time: Duration) async {
        guard let user = phone.users.first,
            let child = try? phone.launch(user, keys, in: directory, server: server.url, store: store.url)
        else { return state.withLock { $0.surprises.append("phone \(phone.number): the app can't be started") } }
        let deadline = ContinuousClock.now + time
        let path = "/emulator/transactions?account=\(phone.account)&unfinished=true"
        try? await Task.sleep(for: .seconds(2))
        while ContinuousClock.now < deadline {
            if let waiting = try? await control.list(path), waiting.isEmpty { break }
            try? await Task.sleep(for: .milliseconds(500))
        }
        let others = phone.users.dropFirst().flatMap { ["sign-in \($0) \(keys.token(of: $0))", "wait 8"] }
        child.send(["wait 20"] + others + ["quit"])
        await close(child, of: phone, wasKilled: false, within: .seconds(60))
    }

    /// Waits for its end, and records its output.
    private func close(_ child: Child, of phone: Phone, wasKilled: Bool, within time: Duration) async {
        let ending: Child.Ending
        if let ended = await child.end(within: time) {
            ending = ended
        } else {
            // It waits for an answer that takes long; real users close the app, too.
            child.kill()
            ending = await child.end()
            tally.add(.deeds, "app closed by force")
        }
        let output = child.output
        note(output, of: phone)
        switch ending {
        case .signal(SIGKILL): tally.add(.kills, "app")
        case .exit(0): tally.add(.deeds, "app closed")
        default:
            state.withLock {
                $0.surprises.append("phone \(phone.number): the app ended with \(ending): \(output.suffix(2_000))")
            }
        }
    }

    private func note(_ output: String, of phone: Phone) {
        for line in output.split(separator: "\n") {
            guard let event = try? JSONValue(decoding: line), let name = event["event"]?.string else { continue }
            let code = event["code"]?.string
            if let number = event["underWay"]?.int { state.withLock { $0.underWay[phone.number] = number } }
            if name == "purchase" { tally.add(.outcomes, event["outcome"]?.string ?? "?") }
            if let code { tally.add(.refusals, "\(name): \(code)") }
        }
    }
}
