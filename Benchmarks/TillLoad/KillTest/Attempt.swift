/// One purchase as its buyer lived it until the server died: what was asked and what was answered.
struct Attempt: Sendable {
    let buyer: Buyer
    /// The order was confirmed.
    var isOrderOpen = false
    /// How many answers said that this very request granted it. Never more than one, killed servers or not.
    var freshGrants = 0
    /// Somebody was told that the grant exists.
    var isGranted = false
    /// Apple was told that its notification is kept, and won't send it again.
    var isNotified = false
    /// How many answers said that this very request spent the points.
    var freshDebits = 0
    /// Somebody was told that the points are spent.
    var isSpent = false
    /// Something stayed without an answer: the server is gone.
    var isCutOff = false
    /// Answers that nobody should have got.
    var faults: [String] = []

    init(_ buyer: Buyer) { self.buyer = buyer }

    var isAnswered: Bool { isGranted || isNotified }

    mutating func note(order answer: ServerAPI.Answer) {
        switch answer {
        case .done(201, _, _), .done(200, _, _): isOrderOpen = true
        default: note(unexpected: answer, "order")
        }
    }

    mutating func note(proof answer: ServerAPI.Answer) {
        if answer.isFreshGrant { freshGrants += 1 }
        if answer.confirmsGrant { isGranted = true } else { note(unexpected: answer, "proof") }
    }

    mutating func note(notification answer: ServerAPI.Answer) {
        if answer.status == 200 { isNotified = true } else { note(unexpected: answer, "notification") }
    }

    mutating func note(debit answer: ServerAPI.Answer) {
        if answer.status == 201 { freshDebits += 1 }
        if answer.status == 201 || answer.status == 200 {
            isSpent = true
        } else {
            note(unexpected: answer, "debit")
        }
    }

    private mutating func note(unexpected answer: ServerAPI.Answer, _ what: String) {
        if answer == .nothing { isCutOff = true } else { faults.append("purchase \(buyer.number), \(what): \(answer)") }
    }
}
