import TillBilling
import TillJSON

/// A user whose id looks like another's, or compares as equal to it in some alphabet.
final class Twin: Thief, @unchecked Sendable {
    private let victims: [String]

    /// - Parameter victims: customers with an account at the app.
    init(of victims: [String], _ resources: Resources) {
        self.victims = victims
        super.init(.twin, users: Self.twins(of: victims), resources)
    }

    /// All ids that this thief may have.
    static func twins(of victims: [String]) -> [String] { victims.flatMap { twins(of: $0) } }

    /// Ids that look the same, or are equal in a comparison that is not bytewise.
    static func twins(of victim: String) -> [String] {
        var found: [String] = []
        func add(_ text: String) {
            if !text.utf8.elementsEqual(victim.utf8), !found.contains(where: { $0.utf8.elementsEqual(text.utf8) }) {
                found.append(text)
            }
        }
        add(victim.replacing("K", with: "\u{212A}"))
        add(victim.replacing("\u{C5}", with: "\u{212B}"))
        add(victim.replacing("\u{E9}", with: "e\u{301}"))
        add(victim.replacing("\u{C5}", with: "A\u{30A}"))
        add(victim.uppercased())
        add(victim.lowercased())
        add("\u{202E}" + victim)
        add(victim + "\u{200F}")
        add(victim + "\u{0}")
        return found
    }

    override func act() async {
        // Ids that compare as equal come first.
        let victim = random.pick(victims)
        let twins = Self.twins(of: victim)
        let equal = twins.filter { $0 == victim }
        let twin = !equal.isEmpty && random.chance(0.7) ? random.pick(equal) : random.pick(twins)
        switch random.below(8) {
        case 0, 1: await readOrder(of: victim, as: twin)
        case 2: await cancelOrder(of: victim, as: twin)
        case 3: await read("/v1/users/\(random.chance(0.5) ? victim : twin)/wallet", of: victim, as: twin)
        case 4: await read("/v1/users/\(victim)/orders", of: victim, as: twin)
        case 5: await merge(victim, as: twin)
        case 6: await spend(of: victim, as: twin)
        default: await restore(from: victim, as: twin)
        }
    }

    private func readOrder(of victim: String, as twin: String) async {
        guard let order = order(of: victim) else { return await merge(victim, as: twin) }
        let (status, answer) = await attempt("reads \(victim)'s order", .get, "/v1/orders/\(order)", as: twin)
        record(status, answer?["id"], "read order \(order)", of: victim)
    }

    private func cancelOrder(of victim: String, as twin: String) async {
        guard let order = order(of: victim) else { return await merge(victim, as: twin) }
        let (status, answer) = await attempt(
            "cancels \(victim)'s order", "/v1/orders/\(order)/\(random.chance(0.5) ? "cancel" : "fail")", [:], as: twin)
        record(status, answer?["id"], "closed order \(order)", of: victim)
    }

    private func order(of victim: String) -> String? {
        pick(stolen.orders.filter { $0.user.utf8.elementsEqual(victim.utf8) })?.id
    }

    private func read(_ path: String, of victim: String, as twin: String) async {
        let (status, answer) = await attempt("reads \(path)", .get, path, as: twin)
        guard path.contains("/\(victim)/"), path.utf8.starts(with: "/v1/users/\(victim)/".utf8) else { return }
        record(status, answer?["data"] ?? answer?["balances"], "read \(path)", of: victim)
    }

    /// The twin's own token authenticates the twin, and the body contains the victim's id.
    private func merge(_ victim: String, as twin: String) async {
        let token = SimulatedShop.token(of: twin, at: scheduler.now, isGuest: true)
        let (status, answer) = await attempt(
            "calls \(victim) a guest", "/v1/users/twin-thief/guests",
            ["guestId": .string(victim), "guestToken": .string(token)], as: "twin-thief")
        record(status, answer?["id"], "merged", of: victim)
    }

    /// The backend sells to the twin; a sale means that the victim's points were spent.
    private func spend(of victim: String, as twin: String) async {
        resources.thefts.record(kind, "\(twin) spends")
        if await resources.backend.sell(to: twin, for: random.between(1, 60)) {
            report("spent points that \(victim) has", about: ["user \(victim)"])
        }
    }

    private func restore(from victim: String, as twin: String) async {
        let proofs = stolen.purchases.filter { $0.owner.utf8.elementsEqual(victim.utf8) && !$0.hasNoToken }
        guard let signed = pick(proofs.compactMap(\.signed)) else { return await merge(victim, as: twin) }
        await attempt(
            "restores \(victim)'s", "/v1/restores", ["signedTransactions": [.string(signed)]], as: twin)
    }

    private func record(_ status: Int?, _ content: JSONValue?, _ what: String, of victim: String) {
        guard let status, (200..<300).contains(status), content != nil else { return }
        report("\(what) of \(victim)", about: ["user \(victim)", what])
    }
}
