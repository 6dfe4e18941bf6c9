import Foundation
import Testing
import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

@testable import TillEmulator

/// Apple's own library calls every method about purchases over a socket and verifies every proof.
@Suite("Apple's server library and the whole API", .enabled(if: AppleLibrary.isInstalled, AppleLibrary.isMissing))
struct AppleLibraryPurchaseTests {
    private struct Received: Decodable {
        /// Methods of the client that were not called and are not out of scope.
        let uncalled: [String]
        /// Out-of-scope methods that the client no longer has.
        let gone: [String]
        let called: [String]
        /// The number of verified payloads, by kind.
        let verified: [String: Int]
        let answers: [String: String]
    }

    @Test(
        "Every method about purchases works, and every returned payload verifies with the emulator's root",
        arguments: [TillBilling.StoreEnvironment.sandbox, .production])
    func everyMethod(_ environment: TillBilling.StoreEnvironment) async throws {
        var configuration = EmulatorConfiguration()
        configuration.environment = environment
        let now = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        let world = try await EmulatedWorld(configuration, start: now)
        let router = world.emulator.router
        let listener = try Listener(
            configuration: ListenerConfiguration(), bodyLimit: router.bodyLimit(method:path:),
            handler: router.respond(to:))
        try await prepare(world)
        let received = try AppleLibrary.run(
            "purchases", source: Self.script, ["http://127.0.0.1:\(listener.port)", environment.rawValue],
            in: world.directory, as: Received.self)
        #expect(received.uncalled.isEmpty && received.gone.isEmpty)
        #expect(received.called.count >= 16)
        #expect(received.verified["transaction"] ?? 0 >= 60)
        #expect(received.verified["renewal"] ?? 0 >= 2)
        #expect(received.verified["notification"] ?? 0 >= 30)
        #expect(received.verified["app"] == 2)
        #expect(
            received.answers == [
                "history": "31", "historyV1": "30", "filtered": "2", "revoked": "1", "resumed": "0",
                "refunds": "1", "statuses": "1 ACTIVE", "noStatuses": "0", "notifications": "33",
                "failures": "0", "test": "SUCCESS", "notFound": "TRANSACTION_ID_NOT_FOUND",
                "order": "VALID",
                "extended": "True", "massExtended": "True", "complete": "True",
                "token": "3f2c1a00-1111-4222-8333-444455556666", "platform": "iOS",
            ])
        await listener.stop(grace: 1)
        await world.remove()
    }

    /// Thirty-one purchases, one of them refunded, with their notifications.
    private func prepare(_ world: EmulatedWorld) async throws {
        _ = await world.ask(.put, "/emulator/notifications", ["url": "http://127.0.0.1:9/hook"])
        var ids: [String] = []
        for _ in 0..<28 { ids.append(try await world.bought("points300")) }
        _ = await world.ask(.post, "/emulator/transactions/\(ids[3])/refund")
        let library = try await world.bought("library")
        let course = try await world.bought("course")
        let member = try await world.bought("member.monthly")
        _ = try await world.emulator.store.sendTestNotification(bundleID: EmulatedWorld.bundleID)
        await world.emulator.sendDueNotifications()
        try await extendAll(world)
        let number = try #require(Int64(library))
        let found = try #require(try await world.emulator.store.transaction(number))
        let order = try #require(found.orderNumber)
        let plan: JSONValue = [
            "points": .string(ids[0]), "library": .string(library), "course": .string(course),
            "member": .string(member), "order": .string(order.description),
            "download": .string(String(found.appTransaction)), "product": "com.example.learnpoints.member.monthly",
        ]
        try Data(plan.encoded().utf8).write(to: world.directory.appendingPathComponent("plan.json"))
        let key = await world.ask(.get, "/emulator/api-key").response.body
        try Data(key).write(to: world.directory.appendingPathComponent("key.json"))
        try Data(world.emulator.issuer.rootCertificate).write(to: world.directory.appendingPathComponent("root.cer"))
    }

    /// Requests a mass extension, which takes time; the library then repeats the request and reads its status.
    private func extendAll(_ world: EmulatedWorld) async throws {
        let asked = try await world.call(
            .massExtension,
            json: [
                "extendByDays": 1, "extendReasonCode": 3, "requestIdentifier": "11112222-1111-4222-8333-444455556666",
                "storefrontCountryCodes": ["CHN"], "productId": "com.example.learnpoints.member.monthly",
            ])
        #expect(asked.status == 200)
        world.advance(seconds: 2)
    }

    private static let script = """
        import inspect, json, sys, time
        from appstoreserverlibrary.api_client import (
            APIException, AppStoreServerAPIClient, GetTransactionHistoryVersion)
        from appstoreserverlibrary.models.AccountTenure import AccountTenure
        from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
        from appstoreserverlibrary.models.ConsumptionRequestV1 import ConsumptionRequestV1
        from appstoreserverlibrary.models.ConsumptionStatus import ConsumptionStatus
        from appstoreserverlibrary.models.DeliveryStatus import DeliveryStatus
        from appstoreserverlibrary.models.DeliveryStatusV1 import DeliveryStatusV1
        from appstoreserverlibrary.models.Environment import Environment
        from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
        from appstoreserverlibrary.models.ExtendRenewalDateRequest import ExtendRenewalDateRequest
        from appstoreserverlibrary.models.InAppOwnershipType import InAppOwnershipType
        from appstoreserverlibrary.models.LifetimeDollarsPurchased import LifetimeDollarsPurchased
        from appstoreserverlibrary.models.LifetimeDollarsRefunded import LifetimeDollarsRefunded
        from appstoreserverlibrary.models.MassExtendRenewalDateRequest import MassExtendRenewalDateRequest
        from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
        from appstoreserverlibrary.models.Platform import Platform
        from appstoreserverlibrary.models.PlayTime import PlayTime
        from appstoreserverlibrary.models.RefundPreference import RefundPreference
        from appstoreserverlibrary.models.RefundPreferenceV1 import RefundPreferenceV1
        from appstoreserverlibrary.models.Status import Status
        from appstoreserverlibrary.models.TransactionHistoryRequest import (
            Order, ProductType, TransactionHistoryRequest)
        from appstoreserverlibrary.models.UpdateAppAccountTokenRequest import UpdateAppAccountTokenRequest
        from appstoreserverlibrary.models.UserStatus import UserStatus
        from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

        # Retention messaging; the Advanced Commerce API has a client of its own.
        out_of_scope = {
            "upload_image", "delete_image", "get_image_list", "upload_message", "delete_message", "get_message_list",
            "configure_default_message", "delete_default_message", "get_default_message", "configure_realtime_url",
            "delete_realtime_url", "get_realtime_url", "initiate_performance_test", "get_performance_test_results",
        }
        methods = {name for name, _ in inspect.getmembers(AppStoreServerAPIClient, inspect.isfunction)
                   if not name.startswith("_")}
        called = set()

        class Recording(AppStoreServerAPIClient):
            def __getattribute__(self, name):
                if name in methods:
                    called.add(name)
                return super().__getattribute__(name)

        base, environment = sys.argv[1], Environment(sys.argv[2])
        key, plan = json.load(open("key.json")), json.load(open("plan.json"))
        client = Recording(key["privateKey"].encode(), key["keyId"], key["issuerId"], key["bundleId"], environment)
        client._base_url = base
        app_id = 690661663 if environment == Environment.PRODUCTION else None
        verifier = SignedDataVerifier([open("root.cer", "rb").read()], False, environment, key["bundleId"], app_id)
        verified = {"transaction": 0, "renewal": 0, "notification": 0, "app": 0}
        answers = {}

        def transaction(token):
            verified["transaction"] += 1
            return verifier.verify_and_decode_signed_transaction(token)

        def renewal(token):
            verified["renewal"] += 1
            return verifier.verify_and_decode_renewal_info(token)

        def notification(token):
            verified["notification"] += 1
            told = verifier.verify_and_decode_notification(token)
            if told.data is not None and told.data.signedTransactionInfo:
                transaction(told.data.signedTransactionInfo)
            if told.data is not None and told.data.signedRenewalInfo:
                renewal(told.data.signedRenewalInfo)
            return told

        def pages(ask):
            token = None
            while True:
                page = ask(token)
                yield page
                token = page.revision if hasattr(page, "revision") else page.paginationToken
                if not page.hasMore:
                    return

        def history(request, version=GetTransactionHistoryVersion.V2, of="points"):
            found = []
            for page in pages(lambda token: client.get_transaction_history(plan[of], token, request, version)):
                assert page.bundleId == key["bundleId"] and page.environment == environment
                assert page.appAppleId == app_id
                found += [transaction(token) for token in page.signedTransactions]
            return found, page.revision

        everything = TransactionHistoryRequest(sort=Order.ASCENDING)
        found, revision = history(everything)
        assert len({item.transactionId for item in found}) == len(found)
        answers["history"] = str(len(found))
        client.finish_transaction(plan["points"])
        answers["historyV1"] = str(len(history(everything, GetTransactionHistoryVersion.V1, "download")[0]))
        answers["resumed"] = str(len(client.get_transaction_history(
            plan["points"], revision, everything, GetTransactionHistoryVersion.V2).signedTransactions))
        answers["filtered"] = str(len(history(TransactionHistoryRequest(
            startDate=1, endDate=int(time.time() * 1000) + 60000, productIds=[item.productId for item in found],
            productTypes=[ProductType.AUTO_RENEWABLE, ProductType.NON_CONSUMABLE], sort=Order.DESCENDING,
            inAppOwnershipType=InAppOwnershipType.PURCHASED, revoked=False))[0]))
        answers["revoked"] = str(len(history(TransactionHistoryRequest(revoked=True))[0]))
        transaction(client.get_transaction_info(plan["library"]).signedTransactionInfo)
        try:
            client.get_transaction_info("1")
        except APIException as refused:
            answers["notFound"] = refused.api_error.name

        refunds = [transaction(token) for page in pages(lambda token: client.get_refund_history(plan["course"], token))
                   for token in page.signedTransactions]
        answers["refunds"] = str(len(refunds))
        statuses = client.get_all_subscription_statuses(plan["points"], [Status.ACTIVE, Status.EXPIRED])
        assert statuses.appAppleId == app_id and statuses.environment == environment
        last = statuses.data[0].lastTransactions[0]
        assert renewal(last.signedRenewalInfo).originalTransactionId == last.originalTransactionId == plan["member"]
        transaction(last.signedTransactionInfo)
        answers["statuses"] = f"{len(statuses.data)} {last.status.name}"
        answers["noStatuses"] = str(len(client.get_all_subscription_statuses(plan["points"], [Status.REVOKED]).data))

        try:
            order = client.look_up_order_id(plan["order"])
            assert [transaction(token).transactionId for token in order.signedTransactions] == [plan["library"]]
            answers["order"] = order.status.name
        except APIException as refused:
            answers["order"] = refused.api_error.name

        now = int(time.time() * 1000)
        span = NotificationHistoryRequest(startDate=now - 3600000, endDate=now + 3600000)
        told = [(notification(item.signedPayload), item.sendAttempts)
                for page in pages(lambda token: client.get_notification_history(token, span))
                for item in page.notificationHistory]
        answers["notifications"] = str(len(told))
        test = next(item for item, attempts in told if item.notificationType.value == "TEST")
        status = client.get_test_notification_status(test.notificationUUID)
        assert notification(status.signedPayload).notificationUUID == test.notificationUUID
        answers["test"] = status.sendAttempts[0].sendAttemptResult.name
        assert client.request_test_notification().testNotificationToken
        failures = NotificationHistoryRequest(
            startDate=now - 3600000, endDate=now + 3600000, transactionId=plan["points"], onlyFailures=True)
        answers["failures"] = str(len(client.get_notification_history(None, failures).notificationHistory))

        client.set_app_account_token(
            plan["member"], UpdateAppAccountTokenRequest("3f2c1a00-1111-4222-8333-444455556666"))
        told_whose = client.get_transaction_info(plan["member"]).signedTransactionInfo
        answers["token"] = transaction(told_whose).appAccountToken
        for named in ("course", "download"):
            verified["app"] += 1
            download = verifier.verify_and_decode_app_transaction(
                client.get_app_transaction_info(plan[named]).signedAppTransactionInfo)
            assert download.appTransactionId == plan["download"] and download.appAppleId == app_id
            answers["platform"] = download.originalPlatform.value
        client.send_consumption_information(plan["library"], ConsumptionRequest(
            customerConsented=True, sampleContentProvided=False, deliveryStatus=DeliveryStatus.DELIVERED,
            consumptionPercentage=50000, refundPreference=RefundPreference.GRANT_PRORATED))
        client.send_consumption_data(plan["points"], ConsumptionRequestV1(
            customerConsented=True, consumptionStatus=ConsumptionStatus.FULLY_CONSUMED, platform=Platform.APPLE,
            sampleContentProvided=False, deliveryStatus=DeliveryStatusV1.DELIVERED_AND_WORKING_PROPERLY,
            appAccountToken="", accountTenure=AccountTenure.UNDECLARED, playTime=PlayTime.UNDECLARED,
            lifetimeDollarsPurchased=LifetimeDollarsPurchased.UNDECLARED,
            lifetimeDollarsRefunded=LifetimeDollarsRefunded.UNDECLARED, userStatus=UserStatus.ACTIVE,
            refundPreference=RefundPreferenceV1.PREFER_DECLINE))

        def said(ask):
            try:
                return str(ask())
            except APIException as refused:
                return refused.api_error.name

        answers["extended"] = said(lambda: client.extend_subscription_renewal_date(
            plan["member"], ExtendRenewalDateRequest(
                extendByDays=3, extendReasonCode=ExtendReasonCode.CUSTOMER_SATISFACTION,
                requestIdentifier="mine")).success)
        identifier = "11112222-1111-4222-8333-444455556666"
        mass = MassExtendRenewalDateRequest(
            extendByDays=1, extendReasonCode=ExtendReasonCode.SERVICE_ISSUE_OR_OUTAGE, requestIdentifier=identifier,
            storefrontCountryCodes=["CHN"], productId=plan["product"])
        answers["massExtended"] = said(lambda: {
            client.extend_renewal_date_for_all_active_subscribers(mass).requestIdentifier for _ in range(2)
        } == {identifier})

        def finished():
            status = client.get_status_of_subscription_renewal_date_extensions(identifier, plan["product"])
            return status.complete and status.completeDate is not None and (
                status.succeededCount, status.failedCount) == (1, 0)

        answers["complete"] = said(finished)
        print(json.dumps({
            "uncalled": sorted(methods - called - out_of_scope), "gone": sorted(out_of_scope - methods),
            "called": sorted(called), "verified": verified, "answers": answers,
        }))
        """

    // MARK: Enums

    @Test("The values of its enums are the ones that we know, member by member")
    func enums() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("till-enums-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let theirs = try AppleLibrary.run("enums", source: Self.enumScript, in: directory, as: [String: [String]].self)
        try FileManager.default.removeItem(at: directory)
        func texts(_ values: [some RawRepresentable]) -> Set<String> { Set(values.map { "\($0.rawValue)" }) }
        typealias V1 = ConsumptionInformationV1
        let ours: [String: Set<String>] = [
            "NotificationTypeV2": texts(NotificationType.known), "Subtype": texts(NotificationSubtype.known),
            "Status": Set((1...5).map(String.init)),
            "OfferType": texts([OfferType.introductory, .promotional, .offerCode, .winBack]),
            "OfferDiscountType": texts(ProductOffer.Discount.allCases), "Type": texts(ProductType.sold),
            "InAppOwnershipType": texts([Ownership.purchased, .familyShared]),
            "TransactionReason": texts([TransactionReason.purchase, .renewal]),
            "RevocationReason": texts([RevocationReason.other, .issueWithApp]),
            "RevocationType": texts([RevocationType.refundFull, .refundProrated, .familyRevoke]),
            "AutoRenewStatus": texts([AutoRenewStatus.off, .on]),
            "ExpirationIntent": Set((1...5).map(String.init)), "PriceIncreaseStatus": ["0", "1"],
            "ConsumptionRequestReason": texts([
                ConsumptionRequestReason.unintendedPurchase, .fulfillmentIssue, .unsatisfiedWithPurchase, .legal,
                .other,
            ]),
            "PurchasePlatform": texts([TillAppStore.Platform.iOS, .macOS, .tvOS, .visionOS]),
            "BillingPlanType": texts([BillingPlanType.billedUpFront, .monthly]),
            "ExtendReasonCode": texts(ExtensionReason.allCases), "OrderLookupStatus": ["0", "1"],
            "DeliveryStatus": texts(ConsumptionInformation.Delivery.allCases),
            "RefundPreference": texts(ConsumptionInformation.RefundPreference.allCases),
            "AccountTenure": texts(V1.Tenure.allCases), "PlayTime": texts(V1.PlayTime.allCases),
            "ConsumptionStatus": texts(V1.Consumption.allCases), "DeliveryStatusV1": texts(V1.Delivery.allCases),
            "LifetimeDollarsPurchased": texts(V1.Dollars.allCases),
            "LifetimeDollarsRefunded": texts(V1.Dollars.allCases), "Platform": texts(V1.Platform.allCases),
            "UserStatus": texts(V1.Account.allCases), "RefundPreferenceV1": texts(V1.RefundPreference.allCases),
            "ProductType": texts(HistoryFilter.Kind.allCases),
            "Order": texts([HistoryFilter.Order.ascending, .descending]),
            "SendAttemptResult": texts([
                SendAttempt.Result.success, .timedOut, .tlsIssue, .circularRedirect, .noResponse, .socketIssue,
                .unsupportedCharset, .invalidResponse, .prematureClose, .unsuccessfulStatus, .other,
            ]),
        ]
        for (name, values) in ours {
            let listed = try #require(theirs[name], "\(name) is no enum of the library")
            #expect(Set(listed).isSubset(of: values), "\(name)")
            #expect(values.subtracting(listed) == Self.documentedOnly[name] ?? [], "\(name)")
        }
        let errors = Set(try #require(theirs["APIError"]).compactMap { Int64($0) })
        // Of retention messaging, which is out of scope.
        let retention = errors.filter { ServerAPIErrorCode(rawValue: $0).name == nil }
        #expect(retention == Self.retention.intersection(errors))
        let ranges: [ClosedRange<Int64>] = [4_000_000...4_000_300, 4_030_000...4_040_100, 4_290_000...5_000_010]
        let known = Set(ranges.joined().filter { ServerAPIErrorCode(rawValue: $0).name != nil })
        // Documented, but not in the library (facts/server-api §6).
        #expect(known.subtracting(errors) == [4_000_044, 4_000_209])
    }

    /// Documented by Apple but missing in its library: external purchases.
    private static let documentedOnly: [String: Set<String>] = ["Subtype": ["CREATED", "ACTIVE_TOKEN_REMINDER"]]

    private static let retention: Set<Int64> = [
        4_000_161, 4_000_162, 4_000_163, 4_000_164, 4_000_175, 4_000_211, 4_000_212, 4_000_213, 4_000_215, 4_000_216,
        4_000_218, 4_000_219, 4_000_224, 4_030_014, 4_030_016, 4_030_017, 4_030_018, 4_030_019, 4_030_026, 4_040_014,
        4_040_015, 4_040_018, 4_040_020, 4_040_021, 4_090_000, 4_090_001,
    ]

    private static let enumScript = """
        import importlib, inspect, json, pkgutil
        from enum import Enum
        import appstoreserverlibrary.models as models
        from appstoreserverlibrary.api_client import APIError

        found = {"APIError": APIError}
        for module in pkgutil.iter_modules(models.__path__):
            for name, value in inspect.getmembers(importlib.import_module(f"{models.__name__}.{module.name}")):
                if inspect.isclass(value) and issubclass(value, Enum) and value.__module__.startswith(models.__name__):
                    found[name] = value
        print(json.dumps({name: [str(member.value) for member in members] for name, members in found.items()}))
        """
}
