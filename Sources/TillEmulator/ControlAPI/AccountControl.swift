import TillAppStore
import TillBilling
import TillHTTP
import TillJSON

/// Apple Accounts, families and devices.
extension ControlEndpoint {
    func addAccounts(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/accounts", Text(en: "All accounts, by name.", zh: "全部账户，按名称排序。"),
            query: [.limit, .cursor], answer: Self.accountsAnswer
        ) { call in
            let limit = try call.pageLimit()
            let found = try await store.accounts(after: call.query("cursor") ?? "", limit: limit + 1)
            let page = found.prefix(limit)
            return .page(page.map(Self.json), next: found.count > limit ? page.last?.name : nil)
        }
        routes.on(
            .get, "/emulator/accounts/{id}", Text(en: "One account.", zh: "一个账户。"),
            answer: ControlAnswer("Account", Self.accountMembers)
        ) { call in
            guard let account = try await store.account(call.id) else { throw Problem(.unknownAccount(call.id)) }
            return .json(Self.json(account))
        }
        routes.on(
            .put, "/emulator/accounts/{id}",
            Text(en: "Opens an account, or changes what is named.", zh: "开立账户，或更改所列各项。"),
            body: Array(Self.accountMembers.dropFirst()).map { ControlMember($0.name, $0.kind, $0.note) },
            answer: ControlAnswer("Account", Self.accountMembers)
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
            Text(
                en: "Takes the account out of its family; with the organizer everybody leaves.",
                zh: "账户退出家庭；组织者退出则家庭解散。"),
            answer: ControlAnswer("Account", Self.accountMembers)
        ) { call in .json(Self.json(try await store.leaveFamily(call.id).answered())) }
        addSignIn(to: &routes)
    }

    private func addSignIn(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/accounts/{id}/devices",
            Text(en: "Where the account is signed in.", zh: "账户登录的设备。"),
            answer: ControlAnswer(
                "Devices",
                [ControlMember("data", .list(DeviceText.members), required: true, Text(en: "all of them", zh: "全部"))])
        ) { call in
            .json(["data": .array(try await store.devices(of: call.id).answered().map(DeviceText.json))])
        }
        routes.on(
            .put, "/emulator/accounts/{id}/devices",
            Text(
                en: "Signs the account in on a device, which another account may have left.",
                zh: "在设备上登录此账户；该设备先前的账户即退出。"),
            body: DeviceText.given, answer: DeviceText.answer
        ) { call in
            guard let id = try call.body.uniqueID("id") else {
                throw Problem.badRequest("missing_member", "The member \"id\" is missing.", "缺少成员 “id”。")
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
        $0.add("id", .text(limit: 200), required: true, Text(en: "its name here", zh: "在此处的名称")) { .string($0.name) }
        $0.add(
            "storefront", .text(limit: 3), required: true,
            Text(en: "ISO 3166-1 alpha-3; what is bought from now on is bought there", zh: "三个字母的地区代码；此后在该地区购买")
        ) { .string($0.storefront) }
        $0.add("asksToBuy", .bool, required: true, Text(en: "purchases wait for a parent", zh: "购买须待家长批准")) {
            .bool($0.asksToBuy)
        }
        $0.add(
            "mayPay", .bool, required: true, Text(en: "false: Screen Time forbids purchases", zh: "false：屏幕使用时间禁止购买")
        ) { .bool($0.mayPay) }
        $0.add("paymentMethodWorks", .bool, required: true, Text(en: "false: charges fail", zh: "false：扣款失败")) {
            .bool($0.paymentMethodWorks)
        }
        $0.add(
            "paymentSheet", .choice(of: PurchaseRequest.Outcome.self), required: true,
            Text(
                en: "what its owner does at a payment sheet where a purchase names no outcome",
                zh: "购买请求未指明结果时，账户主人在付款页面的操作")
        ) { .string($0.paymentSheet.rawValue) }
        $0.add(
            "isDeleted", .bool, required: true,
            Text(en: "true: it leaves its family and buys no more", zh: "true：退出家庭且不再购买")
        ) { .bool($0.isDeleted) }
        $0.add(
            "family", .text(limit: 200),
            Text(en: "the account that organizes its family; its own name founds one", zh: "家庭组织者的账户；写自己的名称即创建家庭")
        ) { $0.family.map { .string($0) } }
    }

    private static let accountsAnswer = ControlAnswer(
        "Accounts",
        [
            ControlMember("data", .list(accountMembers), required: true, Text(en: "a page of them", zh: "一页账户")),
            ControlMember("hasMore", .bool, required: true, Text(en: "whether there are more", zh: "是否还有更多")),
            ControlMember("nextCursor", .text(limit: 200), Text(en: "for the next page", zh: "用于下一页")),
        ])

    /// Account names are part of paths and are shown on pages.
    private func accountName(_ text: String) throws(Problem) -> String {
        guard (1...200).contains(text.utf8.count),
            text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else { throw RequestBody.wrong("id", "a text of 1 to 200 bytes", "1 到 200 字节的文本") }
        return text
    }
}
