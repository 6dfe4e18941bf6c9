import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

/// The notification URL, the notifications and their delivery.
extension ControlEndpoint {
    func addNotifications(to routes: inout ControlRoutes) {
        addNotificationTarget(to: &routes)
        routes.on(
            .get, "/emulator/notifications", LocalizedText(en: "Notifications, newest first.", zh: "通知，从新到旧。"),
            query: [
                ControlMember(
                    "state", .choice(of: NotificationFilter.self),
                    LocalizedText(
                        en: "pending: waiting to be sent; failed: no further attempts", zh: "pending：待发送；failed：已停止重试")
                ),
                .limit, .cursor,
            ],
            answer: ControlResponse(
                "NotificationPage",
                [
                    ControlMember(
                        "data", .list(NotificationText.members), required: true,
                        LocalizedText(en: "the notifications on this page", zh: "本页通知")),
                    ControlMember(
                        "hasMore", .bool, required: true,
                        LocalizedText(en: "whether another page follows", zh: "是否还有下一页")),
                    ControlMember(
                        "nextCursor", .text(limit: 200),
                        LocalizedText(en: "the cursor of the next page", zh: "下一页的游标")),
                ])
        ) { call in try await notifications(call) }
        routes.on(
            .get, "/emulator/notifications/{id}",
            LocalizedText(
                en: "One notification with its signed payload and its delivery attempts.", zh: "一条通知，附签名内容与各次发送尝试。"),
            answer: ControlResponse("NotificationWithAttempts", NotificationText.whole)
        ) { call in
            guard let (notification, attempts) = try await store.notification(try notificationID(call.id)) else {
                throw ControlError(.unknownNotification(call.id))
            }
            let text = try notification.signedPayload ?? store.notifications.signedPayload(notification)
            return .json(
                NotificationText.json(notification).with([
                    "signedPayload": .string(text),
                    "sendAttempts": .array(
                        attempts.map { ["at": .string($0.at.rfc3339), "result": .string($0.result)] }),
                ]))
        }
        routes.on(
            .post, "/emulator/notifications/{id}/resend",
            LocalizedText(en: "Sends the notification again.", zh: "再次发送该通知。"),
            answer: ControlResponse("Notification", NotificationText.members)
        ) { call in
            let sent = try await store.resendNotification(try notificationID(call.id)).answered()
            return .json(NotificationText.json(sent))
        }
        routes.on(
            .post, "/emulator/notifications",
            LocalizedText(
                en: "Sends a notification of any type without a matching event, to test receivers.",
                zh: "发送任意类型的通知，无需对应的事件，用于测试接收方。"),
            body: Self.stagedMembers, answer: ControlResponse("Notification", NotificationText.members)
        ) { call in
            let uuid = try await store.stage(try staged(call.body)).answered()
            guard let (notification, _) = try await store.notification(uuid) else {
                throw ControlError(.unknownNotification(uuid.description))
            }
            return .json(NotificationText.json(notification))
        }
    }

    private func addNotificationTarget(to routes: inout ControlRoutes) {
        let url = ControlMember(
            "url", .text(limit: 2_000),
            LocalizedText(
                en: "the http or https URL of the receiver; null turns notifications off",
                zh: "接收方的 http 或 https 地址；null 表示不发送"))
        routes.on(
            .put, "/emulator/notifications",
            LocalizedText(en: "Sets the URL that receives notifications.", zh: "设定接收通知的地址。"),
            body: [url], answer: ControlResponse("NotificationTarget", [url])
        ) { call in
            let url = try call.body.text("url", upTo: 2_000)
            if let url, !(url.hasPrefix("http://") || url.hasPrefix("https://")) {
                throw RequestBody.wrong(
                    "url", "an http or https address, or null to send nothing", "http 或 https 地址，null 表示不发送")
            }
            try await store.setNotificationURL(url)
            return .json(["url": url.map { .string($0) } ?? .null])
        }
    }

    private func notificationID(_ text: String) throws(ControlError) -> UniqueID {
        guard let id = UniqueID(text) else { throw ControlError(.unknownNotification(String(text.prefix(40)))) }
        return id
    }

    private func notifications(_ call: ControlCall) async throws -> HTTPResponse {
        let limit = try call.pageLimit()
        guard let before = Int64(call.query("cursor") ?? String(Int64.max)) else {
            throw RequestBody.wrong("cursor", "the nextCursor of the previous page", "上一页的 nextCursor")
        }
        guard let filter = NotificationFilter(rawValue: call.query("state") ?? "all") else {
            throw RequestBody.wrong("state", "pending, failed or all", "pending、failed 或 all")
        }
        let found = try await store.notifications(filter, before: before, limit: limit + 1)
        let page = found.prefix(limit)
        return .page(
            page.map(NotificationText.json), next: found.count > limit ? page.last.map { String($0.number) } : nil)
    }

    // MARK: Staged notifications

    private static let flaws: [(flaw: NotificationDraft.Flaw, note: LocalizedText)] = [
        (.badSignature, LocalizedText(en: "sends a signature that does not match the content", zh: "签名与内容不符")),
        (.wrongBundle, LocalizedText(en: "names another app", zh: "写入其他 App 的 bundle ID")),
        (.wrongEnvironment, LocalizedText(en: "names the other environment", zh: "写入另一个环境")),
        (.unknownField, LocalizedText(en: "adds unknown members", zh: "带有未知成员")),
    ]

    private static let stagedMembers: [ControlMember] =
        [
            ControlMember(
                "type", .text(limit: 100), required: true,
                LocalizedText(en: "the notificationType; unknown values are allowed", zh: "notificationType，允许未知的值")),
            ControlMember(
                "subtype", .text(limit: 100),
                LocalizedText(en: "the subtype; unknown ones are allowed", zh: "subtype，允许未知的值")),
            ControlMember(
                "transactionId", .text(limit: 20),
                LocalizedText(en: "the transaction of the notification", zh: "通知所涉及的交易")),
            .bundleID, .account,
            ControlMember(
                "productId", .text(limit: 100), LocalizedText(en: "the product of a summary", zh: "summary 中的商品")),
            ControlMember(
                "consumptionRequestReason", .text(limit: 100),
                LocalizedText(en: "the reason of a CONSUMPTION_REQUEST", zh: "CONSUMPTION_REQUEST 的原因")),
            ControlMember(
                "externalPurchaseId", .text(limit: 200),
                LocalizedText(en: "the id in an EXTERNAL_PURCHASE_TOKEN", zh: "EXTERNAL_PURCHASE_TOKEN 的标识")),
            ControlMember(
                "tokenCreationDate", .instant,
                LocalizedText(en: "the creation date of the token; now if absent", zh: "令牌的创建时间，省略则为现在")),
            ControlMember(
                "unknownType", .bool, LocalizedText(en: "replaces the type with an unknown one", zh: "改用未知的类型")),
        ] + flaws.map { ControlMember($0.flaw.rawValue, .bool, $0.note) }

    private func staged(_ body: RequestBody) throws(ControlError) -> StagedNotification {
        var type = try body.requiredText("type", upTo: 100)
        if try body.bool("unknownType") ?? false { type = "UNHEARD_OF" }
        var staged = StagedNotification(
            type: NotificationType(rawValue: type), bundleID: try body.text("bundleId") ?? configuration.app.bundleID)
        staged.subtype = try body.text("subtype", upTo: 100).map(NotificationSubtype.init(rawValue:))
        if let id = try body.text("transactionId", upTo: 40) { staged.transaction = try number(id) }
        if let account = try body.text("account") { staged.account = account }
        staged.productID = try body.text("productId", upTo: 100)
        staged.consumptionRequestReason = try body.text("consumptionRequestReason", upTo: 100)
            .map(ConsumptionRequestReason.init(rawValue:))
        staged.externalPurchaseID = try body.text("externalPurchaseId")
        staged.tokenCreated = try body.instant("tokenCreationDate")
        for flaw in NotificationDraft.Flaw.allCases where try body.bool(flaw.rawValue) ?? false {
            staged.flaws.insert(flaw)
        }
        return staged
    }
}

/// One notification as JSON of the control API.
enum NotificationText {
    static var members: [ControlMember] { object.members }
    static func json(_ notification: StoredNotification) -> JSONValue { object.json(notification) }

    private static let object = ControlObject<StoredNotification> {
        $0.add("id", .uuid, required: true, LocalizedText(en: "notificationUUID", zh: "notificationUUID")) {
            .string($0.uuid.description)
        }
        $0.add("type", .text(limit: 100), required: true, LocalizedText(en: "notificationType", zh: "notificationType"))
        {
            .string($0.type)
        }
        $0.add(
            "subtype", .text(limit: 100),
            LocalizedText(en: "the subtype, if the notification has one", zh: "subtype（如有）")
        ) {
            $0.subtype.map { .string($0) }
        }
        $0.add(
            "bundleId", .text(limit: 200), required: true,
            LocalizedText(en: "the bundle id of the app", zh: "App 的 bundle ID")
        ) { .string($0.bundleID) }
        $0.add(
            "transactionId", .text(limit: 20), LocalizedText(en: "the transaction of the notification", zh: "通知所涉及的交易")
        ) {
            (try? JSONValue(decoding: $0.content))?["transaction"]?["transactionId"]
        }
        $0.add(
            "originalTransactionId", .text(limit: 20), LocalizedText(en: "the original transaction id", zh: "首笔交易的交易号")
        ) { $0.original.map { .string(String($0)) } }
        $0.add(
            "createdAt", .instant, required: true,
            LocalizedText(en: "the creation time, sent as signedDate", zh: "创建时间，即 signedDate")
        ) {
            .string($0.created.rfc3339)
        }
        $0.add(
            "attempts", .integer(0...1_000), required: true,
            LocalizedText(en: "the number of delivery attempts", zh: "发送次数")
        ) {
            .int($0.attempts)
        }
        $0.add(
            "nextAttemptAt", .instant,
            LocalizedText(en: "the time of the next attempt; null: no further attempt", zh: "下次发送时间；null 表示不再发送")
        ) {
            $0.due.map { .string($0.rfc3339) } ?? .null
        }
        $0.add(
            "result", .choice(of: SendAttemptResult.self),
            LocalizedText(en: "the result of the last attempt", zh: "最近一次的结果")
        ) { $0.result.map { .string($0) } }
    }

    static let whole =
        members + [
            ControlMember(
                "sendAttempts",
                .list([
                    ControlMember(
                        "at", .instant, required: true, LocalizedText(en: "the time of the attempt", zh: "尝试的时间")),
                    ControlMember(
                        "result", .text(limit: 40), required: true, LocalizedText(en: "the result", zh: "结果")),
                ]), required: true, LocalizedText(en: "the delivery attempts, oldest first", zh: "各次发送尝试，从旧到新")),
            ControlMember(
                "signedPayload", .text(limit: 1 << 20), required: true,
                LocalizedText(en: "the signed payload", zh: "签名内容")),
        ]
}
