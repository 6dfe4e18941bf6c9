import TillAPI
import TillBilling

@testable import TillClient

// The pretended server's rule for order ids: under a user token they are commitments to that user, or to a guest merged
// into the user's account.

extension PretendWorld.State {
    func proves(_ id: OrderID, _ nonce: OrderIDNonce?, _ idUser: String?, _ caller: UserID) -> Bool {
        guard let nonce else { return false }
        let user = idUser.map { UserID($0) } ?? caller
        guard user == caller || guests[user] == caller else { return false }
        return OrderIDCommitment(user: user, nonce: nonce).id == id
    }
}
