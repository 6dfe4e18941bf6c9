import TillAPI
import TillBilling
import TillHTTP
import TillLedger

/// Wallet changes that a backend makes under its own references.
extension Server {
    /// `POST /v1/users/{userId}/wallet/debits?environment=`: spends points. A repeated reference is the same debit. A
    /// debit never takes the balance below zero.
    func debitWallet(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(DebitBody.self)
        let wanted = try await posting(call, .debit, .spent, -body.amount, of: body.currency, body.reference)
        let posted = try await post(wanted) { [debt = configuration.debt] wallet in
            if let refusal = debt.refusal(ofSpending: body.amount, of: body.currency, from: wallet) {
                throw RefusalError(
                    refusal, detail: refusal == .insufficientFunds ? wallet.heldSentence(of: body.currency) : nil)
            }
        }
        return JSONText.response(
            posted.isNew ? 201 : 200,
            DebitReply(
                reference: body.reference, currency: body.currency, amount: body.amount, balance: posted.balance,
                at: posted.posting.at, sandbox: posted.posting.environment.sandboxMark))
    }

    /// `POST /v1/users/{userId}/wallet/bonuses?environment=`: gives points for free.
    func giveBonus(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(BonusBody.self)
        var wanted = try await posting(call, .bonus, .given, body.amount, of: body.currency, body.reference)
        wanted.note.reason = body.reason
        let posted = try await post(wanted) { [wanted] wallet in try InputLimits.balance(wallet, after: wanted) }
        return JSONText.response(
            posted.isNew ? 201 : 200, ManualPostingReply(posted.posting, balance: posted.balance))
    }

    /// `POST /v1/users/{userId}/wallet/corrections?environment=`: corrects a balance; the body states the reason and
    /// the operator. The balance goes below zero only if the body allows it.
    func correctWallet(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(CorrectionBody.self)
        guard body.amount != 0 else {
            throw RefusalError(
                .invalidField, "amount: not 0, at most 1000000000000 either way",
                zh: "amount：不能为 0，绝对值最大为 1000000000000")
        }
        var wanted = try await posting(call, .correction, .corrected, body.amount, of: body.currency, body.reference)
        wanted.note = Posting.Note(reason: body.reason, actor: body.operatorName)
        let posted = try await post(wanted) { [wanted] wallet in
            try InputLimits.balance(wallet, after: wanted)
            let isCovered = body.amount > 0 || wallet.hasBalance(-body.amount, of: body.currency)
            guard isCovered || body.allowDebt == true else {
                throw RefusalError(
                    .insufficientFunds, "the balance would go below zero; \"allowDebt\": true allows that",
                    zh: "余额会低于零；如需允许，请设置 \"allowDebt\": true")
            }
        }
        return JSONText.response(
            posted.isNew ? 201 : 200, ManualPostingReply(posted.posting, balance: posted.balance))
    }

    private func posting(
        _ call: Call, _ kind: PostingKind, _ contra: ContraAccount, _ amount: Int64, of currency: String,
        _ reference: String
    ) async throws -> Posting {
        let user = try call.userInPath()
        try await ledger.requireKnownForm(of: user, "userId")
        return Posting(
            environment: try call.environment(for: user, configuration), userID: user, contra: contra,
            currency: currency, amount: amount, kind: kind, reference: reference, at: clock())
    }

    private struct Posted: Sendable {
        /// The posting on record: the first one, if the request repeats it.
        let posting: Posting
        let balance: Int64
        let isNew: Bool
    }

    /// Posts it once. Loading, checking and posting share one commit on the single writer, so each of several
    /// concurrent debits sees what the others took.
    private func post(
        _ wanted: Posting, _ check: @escaping @Sendable (Wallet) throws -> Void
    ) async throws -> Posted {
        try await database.write(
            locking: [.customer(wanted.userID), .reference(wanted.reference, wanted.environment)],
            reading: { LedgerTable.reads(before: wanted) }
        ) { [catalog = configuration.catalog, terms = configuration.guests] connection in
            let ledger = LedgerTable(connection)
            let wallet = Wallet(
                balances: try ledger.wallet(of: wanted.userID, in: wanted.environment).balances,
                held: try OwnershipTable(connection).held(of: wanted.userID, in: wanted.environment, at: wanted.at))
            let balance = wallet.balances[wanted.currency, default: 0]
            let known =
                wanted.kind == .debit
                ? try ledger.debit(reference: wanted.reference, in: wanted.environment)
                : try ledger.manual(wanted.kind, reference: wanted.reference, in: wanted.environment)
            if let known = known?.posting {
                guard known.isRepeated(by: wanted) else { throw RefusalError(.referenceConflict) }
                return Posted(posting: known, balance: balance, isNew: false)
            }
            // The wallet of a guest who signed in belongs to the account. A correction may still change the guest's
            // earlier balance.
            if wanted.kind != .correction { try CustomerTable(connection).requireUnmerged(wanted.userID) }
            if !wallet.names(wanted.currency) { try catalog.requirePoints(of: wanted.currency) }
            try check(wallet)
            try CustomerTable(connection).recordNamed(wanted.userID, under: terms, at: wanted.at)
            try ledger.post(wanted, grant: nil)
            return Posted(posting: wanted, balance: balance + wanted.amount, isNew: true)
        }
    }
}

extension Wallet {
    /// Nil if no points of that kind are held.
    fileprivate func heldSentence(of currency: String) -> LocalizedText? {
        held[currency].map { amount in
            LocalizedText(
                en: "\(amount) of these points are held, because only a receipt proves their purchase. They can be "
                    + "spent when Apple's signed copy confirms the purchase, or when the hold ends.",
                zh: "其中 \(amount) 点处于保留状态，因为其购买仅有收据证明。Apple 的签名副本确认此次购买后，或保留期结束后，即可使用。")
        }
    }
}

extension Posting {
    /// Whether everything but the time is equal.
    fileprivate func isRepeated(by other: Posting) -> Bool {
        userID == other.userID && currency.hasSameBytes(as: other.currency) && amount == other.amount
            && note.isSame(as: other.note)
    }
}

extension Posting.Note {
    fileprivate func isSame(as other: Posting.Note) -> Bool {
        func same(_ one: String?, _ two: String?) -> Bool { one.map { Array($0.utf8) } == two.map { Array($0.utf8) } }
        return same(reason, other.reason) && same(actor, other.actor)
    }
}

extension Wallet {
    /// Whether a balance has exactly this name: the dictionary treats canonically equivalent names as equal.
    fileprivate func names(_ currency: String) -> Bool {
        balances.keys.contains { $0.hasSameBytes(as: currency) }
    }
}

extension Catalog {
    /// Refuses points that no product gives, as a likely typing error. A balance from an earlier catalog is checked by
    /// the caller.
    fileprivate func requirePoints(of currency: String) throws {
        let known = Set(products.flatMap(\.points.keys))
        guard !known.contains(where: { $0.hasSameBytes(as: currency) }) else { return }
        let hint = nearestName(to: currency, among: known.sorted()).map {
            LocalizedText(en: ". Did you mean \"\($0)\"?", zh: "。是否想写“\($0)”？")
        }
        throw RefusalError(
            .unknownCurrency, "currency: no product gives points of this kind\(hint?.en ?? "")",
            zh: "currency：没有商品发放这种点数\(hint?.zh ?? "")")
    }
}

extension InputLimits {
    /// Maximum bytes in the name of a kind of points.
    static let currency = 64
    /// Maximum distance of a balance from zero that postings by hand can reach.
    private static let balance: Int64 = 1_000_000_000_000_000_000

    static func balance(_ wallet: Wallet, after posting: Posting) throws {
        let (sum, overflow) = wallet.balances[posting.currency, default: 0].addingReportingOverflow(posting.amount)
        guard !overflow, (-balance...balance).contains(sum) else {
            throw RefusalError(
                .invalidField, "amount: the balance would exceed 10 to the power of 18", zh: "amount：余额会超过 10 的 18 次方")
        }
    }
}
