import TillHTTP
import TillJSON

extension Shop {
    /// The transactions that an account paid in the store, oldest first.
    func transactions(of account: String) async throws -> [JSONValue] {
        let reply = try await ask(.get, "/emulator/transactions?account=\(account)&state=purchased&limit=100")
        return reply["data"].list
    }
}
