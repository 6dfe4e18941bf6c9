import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP

/// An account's download of the app and its circumstances (facts/jws §6).
extension ControlEndpoint {
    func addAppTransactions(to routes: inout ControlRoutes) {
        let answer = ControlResponse(
            "AppTransaction",
            [
                ControlMember(
                    "signedAppTransaction", .text(limit: 65_536), required: true,
                    LocalizedText(en: "the signed app transaction (JWS)", zh: "已签名的 App 交易（JWS）")),
                ControlMember(
                    "appTransactionId", .text(limit: 20), required: true,
                    LocalizedText(
                        en: "the app transaction id, one for each account and app", zh: "App 交易 ID，每个账户与 App 各一个")),
                ControlMember(
                    "account", .text(limit: 200), required: true, LocalizedText(en: "the account", zh: "所属账户")),
            ])
        routes.on(
            .get, "/emulator/app-transaction",
            LocalizedText(
                en: "The signed app transaction of an account: its download of the app.",
                zh: "账户的已签名 App 交易，即 App 的下载记录。"),
            query: [
                .accountOrDevice, .bundleID,
                ControlMember(
                    "deviceId", .uuid,
                    LocalizedText(
                        en: "the registered device of the account that sends the request", zh: "发出请求的设备（已登记在该账户下）")),
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
            LocalizedText(en: "Sets the details of an account's first download of the app.", zh: "设定账户首次下载 App 的信息。"),
            body: [
                .account, .bundleID,
                ControlMember(
                    "originalVersion", .text(limit: 40),
                    LocalizedText(
                        en: "the CFBundleVersion of the first download; included in production only",
                        zh: "首次下载时的 CFBundleVersion，仅生产环境包含此项")),
                ControlMember("preorderDate", .instant, LocalizedText(en: "the time of the preorder", zh: "预订时间")),
                ControlMember(
                    "platform", .choice(of: Platform.self),
                    LocalizedText(en: "the platform of the purchase", zh: "购买所在平台")),
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
            try await store.change { change in try DownloadTable.update(changed, change.connection) }
            return try json(changed, for: nil)
        }
    }

    private enum Platform: String, CaseIterable {
        case iOS, macOS, tvOS, visionOS
    }

    /// The account's download; the first request records it.
    private func download(of account: String, bundleID: String) async throws -> AppDownload {
        let known = try await store.ask { connection in
            try DownloadTable.find(account: account, bundleID: bundleID, connection)
        }
        if let known { return known }
        return try await store.change { change in
            _ = try AccountTable.account(account, openingIn: change.configuration.storefront, change.connection)
            return try DownloadTable.download(account: account, bundleID: bundleID, at: change.now, change.connection)
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
    fileprivate func name(_ item: String) throws(ControlError) -> String? {
        guard let text = query(item) else { return nil }
        guard (1...200).contains(text.utf8.count) else {
            throw RequestBody.wrong(item, "a text of 1 to 200 bytes", "1 到 200 字节的文本")
        }
        return text
    }
}

/// The two proofs that StoreKit 1 gives an app.
extension ControlEndpoint {
    func addReceipts(to routes: inout ControlRoutes) {
        let device = ControlMember(
            "deviceId", .uuid, LocalizedText(en: "identifierForVendor", zh: "identifierForVendor"))
        let receipt = ControlMember(
            "receipt", .text(limit: 16 << 20), required: true,
            LocalizedText(en: "the app receipt in base64", zh: "App 收据的 base64"))
        routes.on(
            .get, "/emulator/receipt", LocalizedText(en: "The current app receipt of an account.", zh: "账户当前的 App 收据。"),
            query: [.accountOrDevice, .bundleID, device],
            answer: ControlResponse(
                "Receipt",
                [
                    receipt,
                    ControlMember(
                        "account", .text(limit: 200), required: true, LocalizedText(en: "the account", zh: "所属账户")),
                ])
        ) { call in try await appReceipt(call) }
        routes.on(
            .get, "/emulator/transactions/{id}/receipt",
            LocalizedText(en: "The receipt of one transaction in the format of iOS 6.", zh: "一笔交易的 iOS 6 旧式收据。"),
            query: [device],
            answer: ControlResponse(
                "TransactionReceipt",
                [
                    receipt,
                    ControlMember(
                        "transactionId", .text(limit: 20), required: true,
                        LocalizedText(en: "the transaction id", zh: "交易号")),
                ])
        ) { call in try await transactionReceipt(call) }
    }

    var receipts: ReceiptBuilder {
        ReceiptBuilder(store: store, issuer: issuer, configuration: configuration, entropy: entropy)
    }

    func makeReceipt(account: String, bundleID: String, device: [UInt8]?) async throws -> [UInt8] {
        try await receipts.appReceipt(account: account, bundleID: bundleID, device: device)
    }

    private func appReceipt(_ call: ControlCall) async throws -> HTTPResponse {
        let bundleID = call.query("bundleId") ?? configuration.app.bundleID
        let device = try call.device()
        var account = call.query("account")
        // A receipt can be bound to any 16 bytes, not only to a registered device.
        if account == nil, let device, case .success(let known) = try await store.device(device) {
            account = known.account
        }
        let owner = account ?? Emulator.defaultAccount
        let receipt = try await makeReceipt(account: owner, bundleID: bundleID, device: device?.bytes)
        return .json(["receipt": .string(Base64.encode(receipt)), "account": .string(owner)])
    }

    private func transactionReceipt(_ call: ControlCall) async throws -> HTTPResponse {
        guard let transaction = try await store.transaction(number(call.id)) else {
            throw ControlError(.unknownTransaction(call.id))
        }
        guard transaction.state == .purchased else { throw ControlError(.notPurchased(call.id)) }
        let receipt = try await receipts.transactionReceipt(transaction, device: try call.device()?.bytes)
        return .json(["receipt": .string(Base64.encode(receipt)), "transactionId": .string(call.id)])
    }
}

/// The root certificate and the API key that a server needs to trust this store and call it.
extension ControlEndpoint {
    func addIdentity(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/root.cer",
            LocalizedText(en: "The emulator's root certificate (DER).", zh: "模拟商店的根证书（DER）。")
        ) { _ in
            var response = HTTPResponse(status: 200, body: issuer.rootCertificate)
            response.headers.add("Content-Type", "application/pkix-cert")
            return response
        }
        routes.on(
            .get, "/emulator/api-key",
            LocalizedText(
                en: "A test In-App Purchase key that signs bearer tokens.", zh: "用于签发 Bearer 令牌的测试用 App 内购买项目密钥。"),
            answer: ControlResponse(
                "APIKey",
                [
                    ControlMember(
                        "issuerId", .uuid, required: true,
                        LocalizedText(en: "the issuer id, for the claim iss", zh: "issuer ID，用于声明 iss")),
                    ControlMember(
                        "keyId", .text(limit: 10), required: true,
                        LocalizedText(en: "the key id, for the header kid", zh: "密钥 ID，用于头部 kid")),
                    ControlMember(
                        "bundleId", .text(limit: 200), required: true,
                        LocalizedText(en: "the bundle id, for the claim bid", zh: "bundle ID，用于声明 bid")),
                    ControlMember(
                        "privateKey", .text(limit: 1_000), required: true,
                        LocalizedText(en: "the private key in PEM (PKCS#8)", zh: "私钥，PEM 格式（PKCS#8）")),
                ])
        ) { _ in try .json(apiKey.json(bundleID: configuration.app.bundleID)) }
    }
}
