import Foundation
import Testing
import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP

@testable import TillEmulator

/// Apple's own library, on another stack: what it verifies, Apple's customers' servers verify.
///
/// Runs where `TILL_APPLE_LIBRARY_PYTHON` names a Python that has `app-store-server-library` installed:
/// `python3 -m venv V && V/bin/pip install app-store-server-library`, then `TILL_APPLE_LIBRARY_PYTHON=V/bin/python`.
@Suite("Apple's server library")
struct AppleLibraryTests {
    static let python = ProcessInfo.processInfo.environment["TILL_APPLE_LIBRARY_PYTHON"]

    private static let script = """
        import sys
        from appstoreserverlibrary.models.Environment import Environment
        from appstoreserverlibrary.receipt_utility import ReceiptUtility
        from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException

        def text(name):
            return open(name, encoding="utf-8").read()

        root = open("root.cer", "rb").read()
        environment = Environment(sys.argv[1])
        app_id = 690661663 if environment == Environment.PRODUCTION else None
        verifier = SignedDataVerifier([root], False, environment, "com.example.learnpoints", app_id)
        transaction = verifier.verify_and_decode_signed_transaction(text("transaction"))
        print("transaction", transaction.transactionId, transaction.type.value, transaction.price,
              transaction.currency, transaction.appAccountToken, transaction.environment.value)
        notification = verifier.verify_and_decode_notification(text("notification"))
        print("notification", notification.notificationType.value, notification.subtype.value,
              notification.data.status.value)
        inner = verifier.verify_and_decode_signed_transaction(notification.data.signedTransactionInfo)
        renewal = verifier.verify_and_decode_renewal_info(notification.data.signedRenewalInfo)
        print("nested", inner.originalTransactionId == renewal.originalTransactionId, renewal.autoRenewStatus.value)
        print("receipt", ReceiptUtility().extract_transaction_id_from_app_receipt(text("receipt")))
        try:
            verifier.verify_and_decode_signed_transaction(text("forged"))
            print("forged accepted")
        except VerificationException as refused:
            print("forged", refused.status.name)
        """

    private static let clientScript = """
        import json, sys
        from appstoreserverlibrary.api_client import APIError, APIException, AppStoreServerAPIClient
        from appstoreserverlibrary.models.Environment import Environment
        from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

        base, transaction = sys.argv[1:3]
        key = json.load(open("key.json"))
        client = AppStoreServerAPIClient(
            key["privateKey"].encode(), key["keyId"], key["issuerId"], key["bundleId"], Environment.SANDBOX)
        client._base_url = base
        verifier = SignedDataVerifier([open("root.cer", "rb").read()], False, Environment.SANDBOX, key["bundleId"])
        info = client.get_transaction_info(transaction)
        print(verifier.verify_and_decode_signed_transaction(info.signedTransactionInfo).transactionId)
        try:
            client.get_transaction_info("1")
        except APIException as refused:
            print(refused.http_status_code, refused.api_error.name)
        try:
            client.request_test_notification()
        except APIException as refused:
            print(refused.http_status_code, refused.api_error.name)
        client.finish_transaction(transaction)
        """

    @Test(
        "Its API client is authorised and understood over a socket",
        .enabled(if: python != nil, "TILL_APPLE_LIBRARY_PYTHON names no Python with Apple's library"))
    func client() async throws {
        let now = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        let world = try await EmulatedWorld(start: now)
        let router = world.emulator.router
        let listener = try Listener(
            configuration: ListenerConfiguration(), bodyLimit: router.bodyLimit(method:path:),
            handler: router.respond(to:))
        let id = try #require(try await world.buy()["transactionId"]?.string)
        let key = await world.ask(.get, "/emulator/api-key").response.body
        let files: [(String, [UInt8])] = [
            ("root.cer", world.emulator.issuer.rootCertificate), ("key.json", key),
            ("client.py", Array(Self.clientScript.utf8)),
        ]
        for (name, bytes) in files { try Data(bytes).write(to: world.directory.appendingPathComponent(name)) }
        let ran = try run(
            [Self.python ?? "", "client.py", "http://127.0.0.1:\(listener.port)", id], in: world.directory)
        #expect(ran.status == 0, "\(ran.output)")
        #expect(
            ran.output == """
                \(id)
                404 TRANSACTION_ID_NOT_FOUND
                404 SERVER_NOTIFICATION_URL_NOT_FOUND

                """, "\(ran.output)")
        #expect(await world.ask(.get, "/emulator/transactions/\(id)").json["finished"] == true)
        await listener.stop(grace: 1)
        await world.remove()
    }

    @Test(
        "It verifies our transactions and notifications with our root, reads our receipts, and refuses a forgery",
        .enabled(if: python != nil, "TILL_APPLE_LIBRARY_PYTHON names no Python with Apple's library"),
        arguments: [Environment.sandbox, .production])
    func verifies(_ environment: Environment) async throws {
        var configuration = EmulatorConfiguration()
        configuration.environment = environment
        let world = try await EmulatedWorld(configuration)
        _ = await world.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/hook"])
        let token = "3f2c1a00-1111-4222-8333-444455556666"
        let bought = try await world.buy("points300", ["appAccountToken": .string(token)])
        _ = try await world.buy("member.monthly")
        await world.emulator.sendDueNotifications()
        let signed = try #require(bought["signedTransaction"]?.string)
        let forged = try #require(try Issuer.forged(signed, at: world.now) { RandomBytes.make(16) })
        let files: [(String, [UInt8])] = [
            ("root.cer", world.emulator.issuer.rootCertificate), ("transaction", Array(signed.utf8)),
            ("forged", Array(forged.utf8)), ("receipt", Array((bought["receipt"]?.string ?? "").utf8)),
            ("notification", Array((world.notifications.last?.signedPayload ?? "").utf8)),
            ("verify.py", Array(Self.script.utf8)),
        ]
        for (name, bytes) in files { try Data(bytes).write(to: world.directory.appendingPathComponent(name)) }
        let ran = try run([Self.python ?? "", "verify.py", environment.rawValue], in: world.directory)
        let id = try #require(bought["transactionId"]?.string)
        #expect(ran.status == 0, "\(ran.output)")
        #expect(
            ran.output == """
                transaction \(id) Consumable 30000 CNY \(token) \(environment.rawValue)
                notification SUBSCRIBED INITIAL_BUY 1
                nested True 1
                receipt \(id)
                forged VERIFICATION_FAILURE

                """, "\(ran.output)")
        await world.remove()
    }
}
