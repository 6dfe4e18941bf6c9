import TillAppStore
import TillBilling
import TillHTTP

/// An account's download of the app, and how it came about (facts/jws §6).
extension ControlEndpoint {
    func addAppTransactions(to routes: inout ControlRoutes) {
        let answer = ControlAnswer(
            "AppTransaction",
            [
                ControlMember(
                    "signedAppTransaction", .text(limit: 65_536), required: true, Text(en: "JWS", zh: "JWS")),
                ControlMember(
                    "appTransactionId", .text(limit: 20), required: true,
                    Text(en: "one per account and app", zh: "每个账户与 App 各一个")),
                ControlMember("account", .text(limit: 200), required: true, Text(en: "whose it is", zh: "所属账户")),
            ])
        routes.on(
            .get, "/emulator/app-transaction",
            Text(en: "An account's download of the app, as Apple signs it.", zh: "账户对 App 的下载记录（Apple 签名）。"),
            query: [
                .accountOrDevice, .bundleID,
                ControlMember(
                    "deviceId", .uuid,
                    Text(en: "a registered device of the account, which asks", zh: "询问的设备（已登记在该账户下）")),
            ], answer: answer
        ) { call in
            let account = try await account(call.name("account"), on: call.device())
            let device = try await device(call, of: account)
            let download = try await download(
                of: account, bundleID: call.name("bundleId") ?? configuration.app.bundleID)
            return try json(download, for: device)
        }
        routes.on(
            .put, "/emulator/app-transaction",
            Text(en: "Says how an account came by the app.", zh: "设定账户取得 App 的经过。"),
            body: [
                .account, .bundleID,
                ControlMember(
                    "originalVersion", .text(limit: 40),
                    Text(
                        en: "CFBundleVersion at the first download; shown in production",
                        zh: "首次下载时的 CFBundleVersion，仅正式环境显示")),
                ControlMember("preorderDate", .instant, Text(en: "when it was ordered ahead", zh: "预订时间")),
                ControlMember(
                    "platform", .choice(Platform.allCases.map(\.rawValue)),
                    Text(en: "where it was bought", zh: "购买所在平台")),
            ], answer: answer
        ) { call in
            var download = try await download(
                of: call.body.text("account") ?? Emulator.defaultAccount,
                bundleID: call.body.text("bundleId") ?? configuration.app.bundleID)
            if let version = try call.body.text("originalVersion", upTo: 40) { download.originalVersion = version }
            if let date = try call.body.instant("preorderDate") { download.preordered = date }
            if let platform = try call.body.choice("platform", of: Platform.self) {
                download.platform = platform.rawValue
            }
            let changed = download
            try await store.change { turn in try DownloadTable.update(changed, turn.session) }
            return try json(changed, for: nil)
        }
    }

    private enum Platform: String, CaseIterable {
        case iOS, macOS, tvOS, visionOS
    }

    /// Who asks has the app: the first question is the download.
    private func download(of account: String, bundleID: String) async throws -> AppDownload {
        let known = try await store.ask { session in
            try DownloadTable.find(account: account, bundleID: bundleID, session)
        }
        if let known { return known }
        return try await store.change { turn in
            _ = try AccountTable.account(account, openingIn: turn.configuration.storefront, turn.session)
            return try DownloadTable.download(account: account, bundleID: bundleID, at: turn.now, turn.session)
        }
    }

    private func json(_ download: AppDownload, for device: StoreDevice?) throws -> HTTPResponse {
        var content = AppTransactionContent(
            download: download, app: configuration.app(download.bundleID), environment: configuration.environment)
        content.proof = device.map { DeviceProof($0, nonce: UniqueID(random: entropy(16))) }
        return .json([
            "signedAppTransaction": .string(try issuer.signedAppTransaction(content, at: store.now)),
            "appTransactionId": .string(String(download.appTransaction)), "account": .string(download.account),
        ])
    }
}

extension ControlCall {
    /// A name of 1 to 200 bytes.
    fileprivate func name(_ item: String) throws(Problem) -> String? {
        guard let text = query(item) else { return nil }
        guard (1...200).contains(text.utf8.count) else {
            throw RequestBody.wrong(item, "a text of 1 to 200 bytes", "1 到 200 字节的文本")
        }
        return text
    }
}
