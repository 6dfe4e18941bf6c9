import TillAppStore
import TillBilling

/// Claims unclaimed purchases with Apple's order numbers of other customers, stolen or guessed, and restores other
/// customers' signed transactions without a token.
final class FalseClaimant: Thief, @unchecked Sendable {
    private var claims = 0

    init(_ resources: Resources) { super.init(.falseClaimant, resources) }

    override func act() async {
        if random.chance(0.3), await restoreOthers() { return }
        let number: String
        if random.chance(0.5), let known = pick(stolen.orderNumbers) {
            number = known
        } else {
            number = "M" + String(random.bytes(8).map { "ABCDEFGHJKLMNPQRSTUVWXYZ23456789".utf8.letter($0) })
        }
        claims += 1
        let name = "\(user)-\(claims / 8)"
        let (status, answer) = await attempt(
            "claims \(number)", "/v1/users/\(name)/claims", ["orderNumber": .string(number)], as: name)
        guard status == 200, case .array(let found)? = answer?["data"] else { return }
        for one in found {
            guard case .object(let members) = one, StolenData.text(members["outcome"]) == "granted" else {
                continue
            }
            report("claimed \(number)", about: ["order number \(number)"])
        }
    }

    /// Restores another customer's granted transaction that Apple signed without a token.
    private func restoreOthers() async -> Bool {
        guard !resources.moves, let target = pick(stolen.purchases.filter { $0.hasNoToken && $0.isGranted }),
            let signed = target.signed
        else { return false }
        await attempt("restores \(target.owner)'s", "/v1/restores", ["signedTransactions": [.string(signed)]])
        return true
    }
}

extension String.UTF8View {
    /// One of these letters.
    fileprivate func letter(_ number: UInt8) -> Character {
        Character(UnicodeScalar(self[index(startIndex, offsetBy: Int(number) % count)]))
    }
}
