import Foundation

/// Customers with orders, some of them paid with points: what they have is read.
struct CustomersWithOrders: Sendable {
    let name: String
    let count: Int
    let orders: Int
    /// How many of a customer's orders are paid.
    let purchases: Int
    /// The number of their first order; all other loads are below.
    private let first: Int

    static let few = CustomersWithOrders(name: "few", count: 5_000, orders: 2, purchases: 2, first: 20_000_000)
    static let many = CustomersWithOrders(name: "many", count: 100, orders: 1_200, purchases: 200, first: 30_000_000)

    func user(_ number: Int) -> String { "\(name)-\(number % count)" }

    /// Opens the orders and pays, customer after customer in turn.
    func send(_ issuer: LoadIssuer, to port: UInt16) throws {
        for start in stride(from: 0, to: orders * count, by: 20_000) {
            let numbers = start..<min(start + 20_000, orders * count)
            let opened = numbers.map { LoadSet.opening(first + $0, LoadSet.productID, of: user($0)) }
            try sendAll(opened, to: port, connections: 32) { $0 == 201 }
            let paid = try numbers.prefix { $0 < purchases * count }
                .map { LoadSet.submission(try issuer.proof(first + $0)) }
            try sendAll(paid, to: port, connections: 32) { $0 == 200 }
        }
    }

    /// A ledger with both kinds of customers, for a server that `wrk` reads from.
    static func prepare(_ set: LoadSet, till: String) throws {
        let issuer = try LoadIssuer()
        try set.prepare(issuer)
        let server = try ServerProcess(till: till, set: set)
        do {
            guard let port = try server.listening().split(separator: ":").last.flatMap({ UInt16($0) }) else {
                throw LoadError("the server did not name its port")
            }
            for customers in [few, many] { try customers.send(issuer, to: port) }
        } catch {
            server.kill()
            throw error
        }
        try server.stop()
    }
}

extension LoadSet {
    static func opening(_ number: Int, _ product: String, of user: String) -> [UInt8] {
        let body = #"{"id":"\#(order(number))","userId":"\#(user)","productId":"\#(product)"}"#
        return RawClient.request("/v1/orders", body: Array(body.utf8), key: secretKey)
    }

    static func submission(_ proof: String) -> [UInt8] {
        RawClient.request(
            "/v1/transactions", body: Array(#"{"signedTransaction":"\#(proof)"}"#.utf8), key: secretKey)
    }
}
