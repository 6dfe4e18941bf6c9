import TillAppStore
import TillBilling

/// Restores another customer's subscriptions and lasting products repeatedly. Where the shop's policy moves them, the
/// owner must get them back.
final class HostileRestorer: Thief, @unchecked Sendable {
    init(_ resources: Resources) { super.init(.hostileRestorer, resources) }

    private static let lasting: Set<String> = [
        SimulatedShop.pro, SimulatedShop.silver, SimulatedShop.gold, SimulatedShop.goldYear,
    ]

    override func act() async {
        let named = stolen.purchases.filter { !$0.hasNoToken && $0.signed != nil }
        let lasting = named.filter { Self.lasting.contains($0.product) }
        guard let first = pick(lasting.isEmpty ? named : lasting) else { return }
        var proofs = [first.signed ?? ""]
        if random.chance(0.5), let more = pick(named)?.signed { proofs.append(more) }
        let (status, answer) = await attempt(
            "restores \(first.owner)'s", "/v1/restores", ["signedTransactions": .array(proofs.map { .string($0) })])
        guard status == 200, case .array(let found)? = answer?["data"] else { return }
        for one in found {
            guard case .object(let members) = one, let outcome = StolenData.text(members["outcome"]) else {
                continue
            }
            let isTheirs = ["owned", "claimed"].contains(outcome) || outcome == "moved" && !resources.moves
            guard isTheirs, !resources.moves else { continue }
            report("restored \(first.transaction) of \(first.owner): \(outcome)", about: [first.transaction])
        }
    }
}
