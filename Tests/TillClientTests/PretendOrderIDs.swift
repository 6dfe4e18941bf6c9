import TillAPI
import TillBilling

@testable import TillClient

// What the pretended server thinks of order ids: under a user token they are commitments to that user, or to a guest
// who is part of the user's account.

extension PretendWorld.State {
    func proves(_ id: OrderID, _ nonce: OrderIDNonce?, _ idUser: String?, _ caller: UserID) -> Bool {
        guard let nonce else { return false }
        let user = idUser.map { UserID($0) } ?? caller
        guard user == caller || guests[user] == caller else { return false }
        return OrderIDCommitment(user: user, nonce: nonce).id == id
    }
}

extension PretendWorld {
    static var unproven: TransportResponse {
        let body = """
            {"type": "urn:till:problem:order_id_unproven", "title": "This order id is not proven.", "status": 422,
            "code": "order_id_unproven", "retryable": false, "requestId": "r-1"}
            """
        return TransportResponse(status: 422, contentType: Problem.contentType, body: Array(body.utf8))
    }
}
