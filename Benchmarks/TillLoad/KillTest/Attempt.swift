/// One purchase from its buyer's view until the server was killed: the requests and their answers.
struct Attempt: Sendable {
    let buyer: Buyer
    /// Whether the order was confirmed.
    var isOrderOpen = false
    /// The number of answers that report a grant by this very request. At most one, whatever was killed.
    var freshGrants = 0
    /// Whether an answer stated that the grant exists.
    var isGranted = false
    /// Whether the notification was acknowledged, so that Apple would not send it again.
    var isNotified = false
    /// The number of answers that report a debit by this very request.
    var freshDebits = 0
    /// Whether an answer stated that the points are spent.
    var isSpent = false
    /// Whether a request got no answer because the server is gone.
    var isCutOff = false
    /// Unexpected answers.
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
