import TillAppStore
import TillBilling
import TillHTTP

/// What a server has to know of this store before it can trust it and ask it.
extension ControlEndpoint {
    func addIdentity(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/root.cer",
            Text(en: "The root certificate (DER) that everything here is signed under.", zh: "本商店签名所用的根证书（DER）。")
        ) { _ in
            var response = HTTPResponse(status: 200, body: issuer.rootCertificate)
            response.headers.add("Content-Type", "application/pkix-cert")
            return response
        }
        routes.on(
            .get, "/emulator/api-key",
            Text(en: "A throw-away In-App Purchase key for bearer tokens.", zh: "用于签发 Bearer 令牌的一次性密钥。"),
            answer: ControlAnswer(
                "APIKey",
                [
                    ControlMember("issuerId", .uuid, required: true, Text(en: "claim iss", zh: "声明 iss")),
                    ControlMember("keyId", .text(limit: 10), required: true, Text(en: "header kid", zh: "头部 kid")),
                    ControlMember("bundleId", .text(limit: 200), required: true, Text(en: "claim bid", zh: "声明 bid")),
                    ControlMember(
                        "privateKey", .text(limit: 1_000), required: true, Text(en: "PEM, PKCS#8", zh: "PEM，PKCS#8")),
                ])
        ) { _ in try .json(apiKey.json(bundleID: configuration.app.bundleID)) }
        addAppTransaction(to: &routes)
    }

    private func addAppTransaction(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/app-transaction",
            Text(en: "An account's download of the app, as Apple signs it.", zh: "账户对 App 的下载记录（Apple 签名）。"),
            query: [
                .account, .bundleID,
                ControlMember(
                    "deviceId", .uuid,
                    Text(en: "a registered device of the account, which asks", zh: "询问的设备（已登记在该账户下）")),
            ],
            answer: ControlAnswer(
                "AppTransaction",
                [
                    ControlMember(
                        "signedAppTransaction", .text(limit: 65_536), required: true, Text(en: "JWS", zh: "JWS")),
                    ControlMember(
                        "appTransactionId", .text(limit: 20), required: true,
                        Text(en: "one per account and app", zh: "每个账户与 App 各一个")),
                    ControlMember("account", .text(limit: 200), required: true, Text(en: "whose it is", zh: "所属账户")),
                ])
        ) { call in try await appTransaction(call) }
    }

    /// A device that asks has the app: the first question is the download.
    private func appTransaction(_ call: ControlCall) async throws -> HTTPResponse {
        let account = try call.name("account") ?? Emulator.defaultAccount
        let bundleID = try call.name("bundleId") ?? configuration.app.bundleID
        let device = try await device(call, of: account)
        let known = try await store.ask { session in
            try DownloadTable.find(account: account, bundleID: bundleID, session)
        }
        let download: AppDownload
        if let known {
            download = known
        } else {
            download = try await store.change { turn in
                _ = try AccountTable.account(account, openingIn: turn.configuration.storefront, turn.session)
                return try DownloadTable.download(account: account, bundleID: bundleID, at: turn.now, turn.session)
            }
        }
        var content = AppTransactionContent(
            download: download, app: configuration.app(bundleID), environment: configuration.environment)
        content.proof = device.map { DeviceProof($0, nonce: UniqueID(random: entropy(16))) }
        return .json([
            "signedAppTransaction": .string(try issuer.signedAppTransaction(content, at: store.now)),
            "appTransactionId": .string(String(download.appTransaction)), "account": .string(account),
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
