import TillAPI
import TillBilling
import TillHTTP
import TillLedger
import TillSQL

extension Server {
    /// `POST /v1/users/{userId}/guests`: moves everything a guest bought to the account, once. A backend may name any
    /// guest; an app must also show the guest's token.
    func mergeGuest(_ call: Call) async throws -> HTTPResponse {
        let account = try call.userInPath()
        let body = try call.body(MergeGuestBody.self)
        let guest = UserID(body.guestId)
        let requester = try await mergeRequester(call, of: guest, token: body.guestToken)
        try await ledger.requireKnownForm(of: account, "userId")
        try await ledger.requireKnownForm(of: guest, "guestId")
        let reason = body.reason ?? "signed_in"
        let terms = configuration.guests
        let (isNew, reply) = try await changing(call, [.customer(guest), .customer(account)]) { recorder, view in
            let made = try recorder.merge(guest: guest, into: account, reason: reason, for: requester, under: terms)
            return (made.isNew, try view.reply(made.stored))
        }
        return JSONText.response(isNew ? 201 : 200, reply)
    }

    /// A backend may merge any guest; an app must show a token of the guest.
    private func mergeRequester(_ call: Call, of guest: UserID, token: String?) async throws -> MergeRequester {
        guard case .user = call.credential else { return .backend }
        let bearer = token.flatMap { try? authentication.bearer($0) }
        // A token with the kind `account` records its user as an account permanently, even if the merge is refused.
        if let bearer, bearer.kind == .account { try await record(bearer) }
        guard let bearer, case .user(guest) = bearer.credential, let kind = bearer.kind else {
            throw RefusalError(
                .forbidden, "guestToken: must be a valid user token of the guest", zh: "guestToken：应为该游客的有效用户令牌")
        }
        return .token(kind)
    }

    /// `POST /v1/transfers`: an operator of the app changes the owner of a purchase, independently of the restore
    /// policy.
    func makeTransfer(_ call: Call) async throws -> HTTPResponse {
        let body = try call.body(MakeTransferBody.self)
        let to = UserID(body.to)
        try await ledger.requireKnownForm(of: to, "to")
        let environment = try configuration.environment(named: body.environment)
        let terms = configuration.guests
        let keys: [LockKey] = [.customer(UserID(body.from)), .customer(to)]
        let reply = try await changing(call, keys) { recorder, view in
            try view.reply(
                try recorder.move(
                    chain: TransactionID(body.originalTransactionId), in: environment, from: UserID(body.from), to: to,
                    kind: .support, reason: body.reason, by: body.operator, under: terms))
        }
        return JSONText.response(201, reply)
    }

    /// `POST /v1/transfers/{id}/reversal`: moves back what the receiver still owns, once.
    func reverseTransfer(_ call: Call) async throws -> HTTPResponse {
        guard let id = UniqueID(call.parameters["id"]) else { throw RefusalError(.unknownTransfer) }
        let body = try call.body(ReverseTransferBody.self)
        let terms = configuration.guests
        let (isNew, reply) = try await changing(call, [.transfer(id)]) { recorder, view in
            let made = try recorder.reverse(id, reason: body.reason, by: body.operator, terms: terms)
            return (made.isNew, try view.reply(made.stored))
        }
        return JSONText.response(isNew ? 201 : 200, reply)
    }

    /// `GET /v1/users/{userId}/transfers?limit=&cursor=`: transfers to and from a user, newest first.
    func listTransfers(_ call: Call) async throws -> HTTPResponse {
        let user = try call.userInPath()
        let page = try await page(call)
        let found = try await database.read { connection in
            let view = TransferView(connection)
            return try TransferTable(connection).list(user: user, before: page.before, limit: page.rows)
                .map { ($0.rowID, try view.reply($0)) }
        }
        return page.response(found, at: \.0) { $0.1 }
    }

    private func changing<Value: Sendable>(
        _ call: Call, _ keys: [LockKey], _ change: @escaping @Sendable (TransferRecorder, TransferView) throws -> Value
    ) async throws -> Value {
        let (actor, now, id) = (call.credential.name, clock(), UniqueID(random: entropy(16)))
        return try await database.write(locking: keys) { [self] connection in
            let recorder = TransferRecorder(
                connection, actor: actor, now: now, freshID: id, reminders: ledger.reminders(connection))
            return try change(recorder, TransferView(connection))
        }
    }
}

/// Builds the replies about transfers.
struct TransferView {
    private let transfers: TransferTable

    init(_ connection: any Connection) { transfers = TransferTable(connection) }

    private static let grantLimit = 100

    func reply(_ stored: TransferTable.Stored) throws -> TransferReply {
        let count = try transfers.itemCount(of: stored.rowID)
        let points = try transfers.points(of: stored.rowID)
        let reversed = try stored.reverses.flatMap { try transfers.find(rowID: $0) }
        return TransferReply(
            stored.transfer, grantCount: count,
            grants: try transfers.items(of: stored.rowID, limit: Self.grantLimit).map { item in
                TransferReply.MovedGrant(
                    id: item.grantID, transactionID: item.transactionID, originalID: item.originalID,
                    productID: item.productID, environment: item.environment)
            },
            points: points, reverses: reversed?.transfer.id,
            reversedBy: try transfers.reversal(of: stored.rowID)?.transfer.id,
            stayed: try reversed.map { try stayed(of: $0, points, without: stored.rowID) })
    }

    /// The part of a transfer that its reversal did not move back.
    private func stayed(
        of reversed: TransferTable.Stored, _ points: [MovedPoints], without reversal: Int64
    ) throws -> TransferReply.Remaining {
        let back = Dictionary(
            points.map { ([$0.environment.rawValue, $0.currency], $0.amount) }, uniquingKeysWith: +)
        return TransferReply.Remaining(
            grantCount: try transfers.itemCount(of: reversed.rowID, without: reversal),
            points: try transfers.points(of: reversed.rowID).compactMap { moved in
                let rest = moved.amount - back[[moved.environment.rawValue, moved.currency], default: 0]
                guard moved.amount > 0, rest > 0 else { return nil }
                return MovedPoints(environment: moved.environment, currency: moved.currency, amount: rest)
            })
    }
}
