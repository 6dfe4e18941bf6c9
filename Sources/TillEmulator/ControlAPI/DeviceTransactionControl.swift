import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

/// The data of StoreKit's sequences of transactions and subscription statuses (facts/storekit-client), each signed for
/// the requesting device.
extension ControlEndpoint {
    func addDeviceTransactions(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/devices/{id}/transactions",
            LocalizedText(
                en: "The account's transactions in one of StoreKit's sequences, oldest first.",
                zh: "StoreKit 某个交易序列中该账户的交易，从旧到新。"),
            query: [
                .bundleID,
                ControlMember(
                    "set", .choice(of: TransactionSet.self), required: true,
                    LocalizedText(en: "the StoreKit sequence", zh: "StoreKit 的交易序列")),
                ControlMember(
                    "productId", .text(limit: 200), LocalizedText(en: "the product id to filter by", zh: "按商品 ID 筛选")),
                ControlMember(
                    "consumables", .bool,
                    LocalizedText(
                        en:
                            "adds finished consumables to all and latest (SKIncludeConsumableInAppPurchaseHistory)",
                        zh: "all 与 latest 是否包含已完成的消耗型商品（SKIncludeConsumableInAppPurchaseHistory）")),
                .limit, .cursor,
            ], answer: TransactionText.page
        ) { call in try await deviceTransactions(call) }
        routes.on(
            .get, "/emulator/devices/{id}/subscription-statuses",
            LocalizedText(
                en: "The account's status in each subscription group that is on sale or that it has subscribed to.",
                zh: "账户在每个在售或曾订阅的订阅组中的状态。"),
            query: [.bundleID], answer: Self.statusesAnswer
        ) { call in try await subscriptionStatuses(call) }
    }

    private func deviceTransactions(_ call: ControlCall) async throws -> HTTPResponse {
        guard let set = call.query("set").flatMap({ TransactionSet(rawValue: $0) }) else {
            throw ControlError.badRequest("missing_member", "The member \"set\" is missing.", "缺少成员 “set”。")
        }
        guard let after = Int64(call.query("cursor") ?? "0") else {
            throw RequestBody.wrong("cursor", "the nextCursor of the previous page", "上一页的 nextCursor")
        }
        let limit = try call.pageLimit()
        let device = try await store.device(deviceID(call)).answered()
        let found = try await store.transactions(
            TransactionSetQuery(
                set: set, account: device.account, bundleID: call.query("bundleId") ?? configuration.app.bundleID,
                productID: call.query("productId"), includesConsumables: call.query("consumables") == "true",
                after: after, limit: limit + 1))
        let page = found.prefix(limit)
        return .page(
            try page.map { try json($0, on: device) }, next: found.count > limit ? page.last.map { $0.id.text } : nil)
    }

    private func subscriptionStatuses(_ call: ControlCall) async throws -> HTTPResponse {
        let (device, groups) = try await store.groupStatuses(
            on: deviceID(call), bundleID: call.query("bundleId") ?? configuration.app.bundleID
        ).answered()
        return .json([
            "data": .array(
                try groups.map { group in
                    [
                        "groupId": .string(group.groupID), "groupName": .string(group.groupName),
                        "introductoryEligible": .bool(group.isEligibleForIntroductory),
                        "statuses": .array(try group.entries.map { try json($0, on: device) }),
                    ]
                })
        ])
    }

    private func json(_ entry: GroupStatus.Entry, on device: StoreDevice) throws -> JSONValue {
        let now = store.now
        func proof() -> DeviceProof { DeviceProof(device, nonce: UniqueID(random: entropy(16))) }
        return [
            "status": .int(entry.subscription.state.status),
            "originalTransactionId": .string(String(entry.subscription.original)),
            "signedTransaction": .string(try issuer.signedTransaction(entry.current, for: proof(), at: now)),
            "signedRenewalInfo": .string(
                try issuer.signedRenewal(entry.subscription, current: entry.current, for: proof(), at: now)),
        ]
    }

    private static let statusMembers: [ControlMember] = [
        ControlMember(
            "status", .integer(1...5), required: true,
            LocalizedText(
                en: "1 active, 2 expired, 3 billing retry, 4 billing grace period, 5 revoked",
                zh: "1 有效、2 过期、3 扣费重试、4 扣费宽限期、5 已撤销")),
        ControlMember(
            "originalTransactionId", .text(limit: 20), required: true,
            LocalizedText(en: "the id of the subscription", zh: "订阅的标识")),
        ControlMember(
            "signedTransaction", .text(limit: 65_536), required: true,
            LocalizedText(en: "the transaction of the newest period, signed for this device", zh: "最新一期的交易，为此设备签名")),
        ControlMember(
            "signedRenewalInfo", .text(limit: 65_536), required: true,
            LocalizedText(en: "the renewal info, signed for this device", zh: "续订信息，为此设备签名")),
    ]

    private static let statusesAnswer = ControlResponse(
        "SubscriptionStatuses",
        [
            ControlMember(
                "data",
                .list([
                    ControlMember(
                        "groupId", .text(limit: 64), required: true,
                        LocalizedText(en: "the subscription group id", zh: "订阅组 ID")
                    ),
                    ControlMember(
                        "groupName", .text(limit: ProductText.copyLimit), required: true,
                        LocalizedText(en: "the display name of the group", zh: "客户看到的订阅组名称")),
                    ControlMember(
                        "introductoryEligible", .bool, required: true,
                        LocalizedText(
                            en: "whether the customer is eligible for the group's introductory offers",
                            zh: "此客户是否符合推介促销优惠的条件")),
                    ControlMember(
                        "statuses", .list(statusMembers), required: true,
                        LocalizedText(en: "the account's own subscription, then shared ones", zh: "先列自己的订阅，后列家人共享的订阅")),
                ]), required: true, LocalizedText(en: "the subscription groups", zh: "全部订阅组"))
        ])
}
