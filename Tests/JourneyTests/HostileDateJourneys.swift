import Testing
import TillBilling
import TillCrypto
import TillJSON

@Suite("Dates from outside") struct HostileDateJourneys {
    @Test(
        "A proof with an impossible date is refused, and the server keeps running (regression: one ended it)",
        arguments: ["-9223372036854775808", "9223372036854775807", "-1e300", "1e300", "null", "\"x\""])
    func impossible(_ date: String) async throws {
        try await Shop.open { shop in
            let genuine = try await shop.pay(token: nil).signed.split(separator: ".")
            let payload = Base64.encode(Array(#"{"signedDate":\#(date),"notificationType":"TEST"}"#.utf8), .url)
            let token = "\(genuine[0]).\(payload).\(genuine[2])"
            #expect(try await shop.submit(token, as: .user("u1")).status == 422)
            let body: JSONValue = ["signedPayload": .string(token)]
            #expect(try await shop.send(.post, "/v1/notifications/apple", body, as: .anonymous).status == 422)
            #expect(try await shop.send(.get, "/healthz").status == 200)
        }
    }
}
