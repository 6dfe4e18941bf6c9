/// What became of a developer's answer to a CONSUMPTION_REQUEST.
enum ConsumptionOutcome: Sendable, Hashable {
    case taken
    case notRequested
    case tooLate
}

extension RefundDesk {
    static func takeConsumption(
        _ number: Int64, _ answer: ConsumptionAnswer, _ turn: Turn
    ) throws -> ConsumptionOutcome { .notRequested }
}
