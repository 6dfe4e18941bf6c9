import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

/// Apple Accounts, families and devices.
extension ControlEndpoint {
    func addAccounts(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/accounts", LocalizedText(en: "All accounts, by name.", zh: "全部账户，按名称排序。"),
            query: [.limit, .cursor], answer: Self.accountsAnswer
        ) { call in
            let limit = try call.pageLimit()
            let found = try await store.accounts(after: call.query("cursor") ?? "", limit: limit + 1)
            let page = found.prefix(limit)
            return .page(page.map(Self.json), next: found.count > limit ? page.last?.name : nil)
        }
        routes.on(
            .get, "/emulator/accounts/{id}", LocalizedText(en: "One account.", zh: "一个账户。"),
            answer: ControlResponse("Account", Self.accountMembers)
        ) { call in
            guard let account = try await store.account(call.id) else { throw ControlError(.unknownAccount(call.id)) }
            return .json(Self.json(account))
        }
        routes.on(
            .put, "/emulator/accounts/{id}",
            LocalizedText(en: "Creates an account, or changes the given members of it.", zh: "创建账户，或修改请求中给出的成员。"),
            body: Array(Self.accountMembers.dropFirst()).map { ControlMember($0.name, $0.kind, $0.note) },
            answer: ControlResponse("Account", Self.accountMembers)
        ) { call in
            let name = try accountName(call.id)
            var change = AccountChange()
            change.storefront = try call.body.storefront("storefront")
            change.asksToBuy = try call.body.bool("asksToBuy")
            change.mayPay = try call.body.bool("mayPay")
            change.paymentMethodWorks = try call.body.bool("paymentMethodWorks")
            change.paymentSheet = try call.body.choice("paymentSheet", of: PurchaseRequest.Outcome.self)
            change.isDeleted = try call.body.bool("isDeleted")
            change.family = try call.body.text("family")
            return .json(Self.json(try await store.changeAccount(name, change).answered()))
        }
        routes.on(
            .post, "/emulator/accounts/{id}/leaveFamily",
            LocalizedText(
                en: "Removes the account from its family. If the organizer leaves, the family is dissolved.",
                zh: "将账户移出家庭；组织者退出时家庭解散。"),
            answer: ControlResponse("Account", Self.accountMembers)
        ) { call in .json(Self.json(try await store.leaveFamily(call.id).answered())) }
        addSignIn(to: &routes)
    }

    private func addSignIn(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/accounts/{id}/devices",
            LocalizedText(en: "The devices that the account is signed in on.", zh: "账户已登录的设备。"),
            answer: ControlResponse(
                "Devices",
                [
                    ControlMember(
                        "data", .list(DeviceText.members), required: true, LocalizedText(en: "the devices", zh: "全部设备"))
                ])
        ) { call in
            .json(["data": .array(try await store.devices(of: call.id).answered().map(DeviceText.json))])
        }
        routes.on(
            .put, "/emulator/accounts/{id}/devices",
            LocalizedText(
                en: "Signs the account in on a device and signs out the account that used the device before.",
                zh: "在设备上登录此账户，并退出该设备上原来的账户。"),
            body: DeviceText.given, answer: DeviceText.answer
        ) { call in
            guard let id = try call.body.uniqueID("id") else {
                throw ControlError.badRequest("missing_member", "The member \"id\" is missing.", "缺少成员 “id”。")
            }
            let device = try await store.signIn(
                call.id, on: id, name: try call.body.text("name") ?? "iPhone",
                platform: try call.body.choice("platform", of: StoreDevice.Platform.self) ?? .iOS)
            return .json(DeviceText.json(try device.answered()))
        }
    }

    private static var accountMembers: [ControlMember] { accountObject.members }
    private static func json(_ account: StoreAccount) -> JSONValue { accountObject.json(account) }

    private static let accountObject = ControlObject<StoreAccount> {
        $0.add(
            "id", .text(limit: 200), required: true,
            LocalizedText(en: "the name of the account in the emulator", zh: "账户在模拟商店中的名称")
        ) { .string($0.name) }
        $0.add(
            "storefront", .text(limit: 3), required: true,
            LocalizedText(
                en: "ISO 3166-1 alpha-3 code of the storefront for future purchases",
                zh: "店面的 ISO 3166-1 三位代码；此后的购买在该店面进行")
        ) { .string($0.storefront) }
        $0.add(
            "asksToBuy", .bool, required: true,
            LocalizedText(en: "whether purchases need a parent's approval", zh: "购买是否须经家长批准")
        ) {
            .bool($0.asksToBuy)
        }
        $0.add(
            "mayPay", .bool, required: true,
            LocalizedText(en: "false: Screen Time forbids purchases", zh: "false：屏幕使用时间禁止购买")
        ) { .bool($0.mayPay) }
        $0.add("paymentMethodWorks", .bool, required: true, LocalizedText(en: "whether charges succeed", zh: "扣款能否成功"))
        {
            .bool($0.paymentMethodWorks)
        }
        $0.add(
            "paymentSheet", .choice(of: PurchaseRequest.Outcome.self), required: true,
            LocalizedText(
                en: "the default outcome of purchases that name none",
                zh: "购买请求未指定结果时采用的结果")
        ) { .string($0.paymentSheet.rawValue) }
        $0.add(
            "isDeleted", .bool, required: true,
            LocalizedText(en: "true: the account leaves its family and cannot buy", zh: "true：账户退出家庭，且不能再购买")
        ) { .bool($0.isDeleted) }
        $0.add(
            "family", .text(limit: 200),
            LocalizedText(
                en: "the family organizer's account; the account's own name creates a family",
                zh: "家庭组织者的账户；填写本账户名称即创建家庭")
        ) { $0.family.map { .string($0) } }
    }

    private static let accountsAnswer = ControlResponse(
        "Accounts",
        [
            ControlMember(
                "data", .list(accountMembers), required: true,
                LocalizedText(en: "the accounts on this page", zh: "本页账户")),
            ControlMember(
                "hasMore", .bool, required: true, LocalizedText(en: "whether another page follows", zh: "是否还有下一页")),
            ControlMember(
                "nextCursor", .text(limit: 200), LocalizedText(en: "the cursor of the next page", zh: "下一页的游标")),
        ])

    /// Account names are part of paths and are shown on pages.
    private func accountName(_ text: String) throws(ControlError) -> String {
        guard (1...200).contains(text.utf8.count),
            text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else { throw RequestBody.wrong("id", "a text of 1 to 200 bytes", "1 到 200 字节的文本") }
        return text
    }
}
