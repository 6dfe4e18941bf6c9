import TillAPI
import TillBilling
import TillLedger
import TillSQL

/// The id of an order that is being opened, and where it came from (LEDGER R1–R3, R9).
struct ChosenOrderID: Sendable {
    let id: OrderID
    /// Nil for an app's choice without a proof, which opens no order.
    let source: OrderIDSource?
    /// Whom the id commits to, where that is not the caller: a guest, who must be part of the caller's account.
    var guest: UserID?
}

extension Server {
    /// Under a user token the id is a commitment to the caller, or the server chooses. A backend may choose any.
    func chosenID(_ body: OpenOrderBody, for buyer: UserID, _ call: Call, at now: Instant) throws -> ChosenOrderID {
        if let id = body.id, id.namesNone {
            throw Refused(.invalidField, "id: the nil and the max UUID name no order")
        }
        if let number = body.orderNumber {
            guard body.id == nil, body.idNonce == nil else {
                throw Refused(.invalidField, "orderNumber: without id and idNonce")
            }
            return ChosenOrderID(id: OrderIDCommitment(user: buyer, orderNumber: number).id, source: .proven)
        }
        guard let id = body.id else {
            return ChosenOrderID(id: call.repeatableID ?? UniqueID(random: entropy(16)), source: .server)
        }
        if let nonce = body.idNonce {
            let user = try body.idUserId.map(Bounds.user) ?? buyer
            if OrderIDCommitment(user: user, nonce: nonce).id == id {
                return ChosenOrderID(id: id, source: .proven, guest: user == buyer ? nil : user)
            }
        }
        switch call.credential {
        case .backend: return ChosenOrderID(id: id, source: .secretKey)
        case .user, .nobody:
            #if PLANTED_MISTAKES
                if PlantedMistake.acceptsUnprovenIDs.isPlanted { return ChosenOrderID(id: id, source: .proven) }
            #endif
            let isAccepted = configuration.orders.acceptsUnprovenIDs(at: now)
            return ChosenOrderID(id: id, source: isAccepted ? .unproven : nil)
        }
    }

    /// What only the ledger knows of an id that is new.
    func check(_ chosen: ChosenOrderID, of buyer: UserID, _ session: any Connection) throws {
        guard chosen.source != nil else { throw Refused(.orderIDUnproven) }
        if let guest = chosen.guest, try CustomerTable(session).account(of: guest) != buyer {
            throw Refused(.orderIDUnproven, "idUserId: not a guest who is part of this account")
        }
        #if PLANTED_MISTAKES
            if PlantedMistake.opensOrdersUnderAccountTokens.isPlanted { return }
        #endif
        guard try AccountTokenTable(session).find(chosen.id) == nil else { throw Refused(.tokenInUse) }
    }
}
