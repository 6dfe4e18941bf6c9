import Testing
import TillBilling
import TillHTTP
import TillJSON

@testable import TillLedger
@testable import TillServer

@Suite("Notifications for other apps and unchecked certificates, on the dashboard") struct StrangersNotificationTests {
    @Test("A notification for another app is listed beside the refusals, with its app, type, reason and UUID (U4, U9)")
    func shown() async throws {
        try await DashboardServer.open { dashboardServer in
            let visitor = try await DashboardBrowser.loggedIn(dashboardServer)
            #expect(!(try await visitor.get("/dashboard/refusals")).read.contains("Notifications for other apps"))
            let payload: JSONValue = [
                "notificationType": "<b>GIFT", "subtype": "RIBBON", "notificationUUID": "6d9a35b3-x",
                "signedDate": 1_790_000_000_000, "data": ["bundleId": "com.example.other", "environment": "Sandbox"],
            ]
            let signed = try dashboardServer.emulator.issuer.sign(payload: Array(payload.encoded().utf8))
            let reply = try await dashboardServer.call(
                .post, "/v1/notifications/apple", ["signedPayload": .string(signed)])
            #expect(reply == [:])
            let page = try await visitor.get("/dashboard/refusals")
            for text in [
                "Notifications for other apps", "com.example.other", "<b>GIFT RIBBON", "wrong_app", "6d9a35b3-x",
                Refusal.wrongApp.sentence.en,
            ] {
                #expect(page.read.contains(text), "\(text)")
            }
            #expect(!page.text.contains("<b>GIFT"))
        }
    }

    @Test("An order granted while the certificates could not be checked says so in its timeline (U7, U9)")
    func doubt() async throws {
        try await DashboardServer.open { dashboardServer in
            let order = try await dashboardServer.openOrder(user: "lin")
            let payment = try await dashboardServer.pay(token: order)
            let intake = dashboardServer.server.ledger.intake
            let proof = PurchaseProof(
                kind: .signedTransaction, bytes: Array(payment.signed.utf8), isRevocationUnknown: true)
            _ = try await intake.accept(
                VerifiedPurchase(try await intake.verify(payment.signed).transaction, proof),
                from: PurchaseOrigin(source: .app, caller: .user(UserID("lin"))))
            let page = try await DashboardBrowser.loggedIn(dashboardServer).get("/dashboard/orders/\(order)")
            for text in ["Granted", "Certificates not checked", "accepted_on_signature"] {
                #expect(page.read.contains(text), "\(text)")
            }
        }
    }
}
