import Foundation

/// What an iPhone app shows in Apple's sheets. A terminal has none, so these lines name the sheet, and how to do the
/// same in the emulated App Store.
extension Terminal {
    /// In an iPhone app: `try await store.presentOfferCodeRedeemSheet(in: scene)`.
    public func explainOfferCodes() {
        let request = "'{\"account\": \"\(Self.account)\", \"bundleId\": \"\(Self.app)\"}'"
        let command = "    curl -s \(Self.store)/emulator/offer-codes/CODE/redeem -d \(request)"
        say(
            """
              An iPhone app shows Apple's sheet for offer codes here. A terminal has no sheet: redeem the code in the
              emulated App Store, then type restore, because a redeemed purchase names no user.
            \(command)
            """,
            """
              iPhone App 在这里弹出 Apple 的优惠代码兑换页。终端没有该页面：请在模拟商店中兑换，然后输入 restore，因为兑换的购买不带用户信息。
            \(command)
            """)
    }

    /// In an iPhone app: `try await store.showManageSubscriptions(in: scene)`.
    public func explainSubscriptions() {
        let page = "    \(Self.store)/emulator/page/account?name=\(Self.account)"
        say(
            """
              An iPhone app shows Apple's sheet for subscriptions here. A terminal has no sheet: cancel or resume in the
              emulated App Store, on the page of your account.
            \(page)
            """,
            """
              iPhone App 在这里弹出 Apple 的订阅管理页。终端没有该页面：请在模拟商店的账户页上取消或恢复订阅。
            \(page)
            """)
    }

    private static var environment: [String: String] { ProcessInfo.processInfo.environment }
    private static var store: String { environment["TILL_STORE"] ?? "http://127.0.0.1:8789" }
    private static var account: String { environment["TILL_STORE_ACCOUNT"] ?? "default" }
    private static var app: String { environment["TILL_STORE_BUNDLE_ID"] ?? "com.example.learn" }
}
