import TillAppStore
import TillBilling

/// Answers Apple's requests about refunds (CONSUMPTION_REQUEST) within twelve hours, and only with the customer's
/// consent (facts/server-api §5). An obstacle (no consent yet, a missing key, an outage) may end while the window is
/// open, so a request waits until the window ends and is given up only then.
public struct ConsumptionAnswers: Sendable {
    private let ledger: Ledger
    private static let batch = 20
    /// Seconds until a waiting request is checked again.
    private static let pause: Int64 = 300

    public init(_ ledger: Ledger) { self.ledger = ledger }

    /// Answers the due requests, the longest overdue first, until none is left. Returns how many were answered.
    @discardableResult
    public func answerAll() async throws -> Int {
        var answered = 0
        while true {
            let now = ledger.clock()
            let due = try await ledger.database.read { try ConsumptionTable($0).due(at: now, limit: Self.batch) }
            guard !due.isEmpty else { return answered }
            for stored in due where try await answer(stored) { answered += 1 }
        }
    }

    private func answer(_ stored: ConsumptionTable.Stored) async throws -> Bool {
        let now = ledger.clock()
        guard now < stored.request.answerBy else {
            try await end(
                stored, .unanswered, stored.detail.isEmpty ? NoConsumptionReason.tooLate.detail : stored.detail)
            return false
        }
        let decision = try await ledger.database.read { [ledger] connection in
            try ledger.consumption(about: stored.request, at: now, connection)
        }
        switch decision {
        case .wait(let silence):
            try await postpone(stored, until: now.adding(seconds: Self.pause), silence.detail)
        case .nothing(let silence):
            try await end(stored, .unanswered, silence.detail)
        case .send(let information):
            if let api = ledger.serverAPI { return try await send(information, for: stored, over: api) }
            try await postpone(stored, until: now.adding(seconds: Self.pause), NoConsumptionReason.noKey.detail)
        }
        return false
    }

    /// Sends the answer and then records it: if the server stops in between, the same answer is sent again, and Apple
    /// uses the newest.
    private func send(
        _ information: ConsumptionInformation, for stored: ConsumptionTable.Stored, over api: ServerAPI
    ) async throws -> Bool {
        let request = stored.request
        do throws(ServerAPIError) {
            let caller = RequestCaller("consumption", priority: .bulk)
            try await api.calling(as: caller).sendConsumption(
                information, of: request.transactionID, in: request.environment)
        } catch {
            switch error {
            case .refused where !error.isRetryable: try await end(stored, .refused, error.sentence.en, information)
            case .invalid: try await end(stored, .refused, error.sentence.en)
            case .refused, .unauthorized, .rateLimited, .overBudget, .outage, .unreadable, .signing:
                let now = ledger.clock()
                let due = now.adding(seconds: PurchaseIntake.pause(after: stored.attempts))
                try await postpone(
                    stored, until: max(due, error.retryAfter ?? due),
                    "\(NoConsumptionReason.outage.detail): \(error.kind): \(error.sentence.en)")
            }
            return false
        }
        try await end(stored, .answered, "", information)
        return true
    }

    private func postpone(_ stored: ConsumptionTable.Stored, until due: Instant, _ detail: String) async throws {
        let due = min(due, stored.request.answerBy)
        try await ledger.database.write(locking: [.work("consumption request", stored.rowID)]) { connection in
            try ConsumptionTable(connection).postpone(stored.rowID, until: due, detail: detail)
        }
        ledger.log.write(
            .consumptionPostponed,
            [
                "transactionId": .text(stored.request.transactionID.text), "cause": .text(detail),
                "nextAt": .text(due.rfc3339),
            ])
    }

    private func end(
        _ stored: ConsumptionTable.Stored, _ state: ConsumptionTable.State, _ detail: String,
        _ information: ConsumptionInformation? = nil
    ) async throws {
        let (request, now) = (stored.request, ledger.clock())
        let answer = try information?.body().encoded()
        let decision = state == .answered ? "answered" : "unanswered"
        try await ledger.database.write(locking: [.work("consumption request", stored.rowID)]) { connection in
            try ConsumptionTable(connection).end(stored.rowID, state, answer: answer, detail: detail, at: now)
            let purchase = try RequestedPurchase.asked(request.transactionID, in: request.environment, connection)
            if let rowID = purchase?.rowID {
                let entry = EvidenceTable.Entry(
                    at: now, decision: "consumption_\(decision)", ground: answer ?? detail,
                    source: PurchaseSource.notification.rawValue, caller: "apple")
                try EvidenceTable(connection).insert(transaction: rowID, entry)
            }
            try EventRecorder(connection).record(
                type: "consumption.\(decision)", user: purchase?.userID, transaction: purchase?.rowID,
                about: request.subject, body: EventBody.consumptionOutcome(request, answer: answer, detail: detail),
                at: now)
        }
        guard state != .answered else { return }
        ledger.log.write(
            .consumptionUnanswered,
            ["transactionId": .text(request.transactionID.text), "cause": .text(detail)])
    }
}
