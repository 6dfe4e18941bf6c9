#if PLANTED_MISTAKES
    import TillBilling
    import TillSQL
    import TillLedger

    extension Settle {
        func tellApart(of grant: Grant) async throws {
            try await database.write { session in
                let stored = try TransactionTable(session).find(grant.transactionID, in: grant.environment)
                try OutboxTable(session).insert(
                    type: "grant.created", user: grant.userID, transaction: stored?.sequence, at: grant.at)
            }
        }
    }

    extension SettlementBooks {
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
