/// A line of input.
enum Command: Hashable, Sendable {
    /// The product to buy: its number on the shop page, or its id.
    enum Choice: Hashable, Sendable {
        case number(Int)
        case product(String)
    }

    case shop
    case buy(Choice, quantity: Int)
    case orders
    case resubmit(Int)
    case resubmitAll
    case wallet
    case history
    case mine
    case restore
    /// Apple's order number.
    case claim(String)
    case consent(Bool)
    case redeem
    case manage
    case signIn(user: String, token: String)
    case signOut
    /// The maximum wait in seconds.
    case wait(Int)
    case help
    case quit
    case unknown(String)

    /// Nil for an empty line.
    init?(_ line: String) {
        let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
        guard let name = words.first else { return nil }
        self = Self.named(name, words.dropFirst().map { $0 }) ?? .unknown(line)
    }

    private static func named(_ name: String, _ rest: [String]) -> Command? {
        switch (name, rest.count) {
        case ("shop", 0): .shop
        case ("buy", 1): .buy(choice(rest[0]), quantity: 1)
        case ("buy", 2): Int(rest[1]).map { .buy(choice(rest[0]), quantity: $0) }
        case ("orders", 0): .orders
        case ("resubmit", 0): .resubmitAll
        case ("resubmit", 1): Int(rest[0]).map { .resubmit($0) }
        case ("wallet", 0): .wallet
        case ("history", 0): .history
        case ("mine", 0): .mine
        case ("restore", 0): .restore
        case ("claim", 1): .claim(rest[0])
        case ("consent", 1): ["yes": true, "no": false][rest[0]].map { .consent($0) }
        case ("redeem", 0): .redeem
        case ("manage", 0): .manage
        case ("sign-in", 2): .signIn(user: rest[0], token: rest[1])
        case ("sign-out", 0): .signOut
        case ("wait", 0): .wait(30)
        case ("wait", 1): Int(rest[0]).flatMap { (0...3_600).contains($0) ? .wait($0) : nil }
        case ("help", 0): .help
        case ("quit", 0): .quit
        default: nil
        }
    }

    private static func choice(_ word: String) -> Choice { Int(word).map { .number($0) } ?? .product(word) }
}
