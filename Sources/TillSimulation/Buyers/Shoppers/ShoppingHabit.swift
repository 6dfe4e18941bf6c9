import TillBilling

/// How the app of a customer without the client kit sells.
struct ShoppingHabit: Sendable {
    /// The identification of the owner in a payment.
    enum Naming: Sendable, Hashable {
        /// The id of an order that the server created.
        case order
        /// The id of an order that the app chose, with the nonce that proves it.
        case provenOrder
        /// The customer's account UUID, which the app's backend registers at the server.
        case accountToken(Registration)
        /// Nothing at Apple; the order's id is sent with the proof.
        case orderBeside
        /// The nil or the max UUID, which identify no customer.
        case absentToken
        /// No identification.
        case nothing
    }

    enum Registration: Sendable, Hashable {
        case before, later, never
    }

    enum Proof: Sendable, Hashable {
        case signed, receipt
        /// A receipt, in the format of apps already shipped.
        case postPay
    }

    var naming: Naming
    var proof: Proof
    /// Starts as a guest and signs in to an account later.
    var isGuest = false

    /// For customers who share an Apple Account: each submits signed transactions.
    static func ofFamily(_ random: inout SeededRandom) -> ShoppingHabit {
        let naming = random.weighted([
            (Naming.order, 35), (.provenOrder, 10), (.accountToken(.before), 15), (.accountToken(.later), 10),
            (.accountToken(.never), 10), (.orderBeside, 10), (.nothing, 10),
        ])
        return ShoppingHabit(naming: naming, proof: .signed)
    }

    /// - Parameter isKeyless: the server can't ask Apple about receipts.
    static func draw(_ random: inout SeededRandom, isKeyless: Bool) -> ShoppingHabit {
        let naming = random.weighted([
            (Naming.order, isKeyless ? 50 : 20), (.provenOrder, 10), (.accountToken(.before), 10),
            (.accountToken(.later), 12), (.accountToken(.never), 8), (.orderBeside, 8), (.absentToken, 8),
            (.nothing, 12),
        ])
        var proof = Proof.signed
        // Only an order id can identify the owner of a receipt.
        if naming == .order || naming == .provenOrder {
            proof = random.weighted([
                (Proof.signed, isKeyless ? 10 : 40), (.receipt, 30), (.postPay, 20),
            ])
        }
        let isGuest = naming == .order && random.chance(0.35)
        return ShoppingHabit(naming: naming, proof: proof, isGuest: isGuest)
    }
}
