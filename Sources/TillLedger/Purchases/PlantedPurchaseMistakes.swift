#if PLANTED_MISTAKES
    import TillBilling
    import TillSQL

    extension PurchaseProcessor {
        func recordEventApart(of grant: Grant) async throws {
            try await database.write(locking: [.customer(grant.userID)]) { connection in
                let stored = try TransactionTable(connection).find(grant.transactionID, in: grant.environment)
                try EventRecorder(connection).record(
                    type: "grant.created", user: grant.userID, transaction: stored?.rowID, happensOnce: true,
                    at: grant.at)
            }
        }
    }

    extension PurchaseRecorder {
        func repeatPoints(of grant: Grant) throws {
            for points in grant.points {
                try ledger.post(
                    Posting(
                        environment: grant.environment, userID: grant.userID, contra: .given, currency: points.currency,
                        amount: points.amount, kind: .bonus, reference: "again \(now.milliseconds)", at: now),
                    grant: nil)
            }
        }
    }
#endif
