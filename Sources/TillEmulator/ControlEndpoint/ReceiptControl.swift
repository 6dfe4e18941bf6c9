import TillAppStore
import TillBilling
import TillCrypto
import TillHTTP

/// The two proofs that StoreKit 1 gives an app.
extension ControlEndpoint {
    func addReceipts(to routes: inout ControlRoutes) {
        let device = ControlMember("deviceId", .uuid, Text(en: "identifierForVendor", zh: "identifierForVendor"))
        let receipt = ControlMember(
            "receipt", .text(limit: 16 << 20), required: true, Text(en: "base64", zh: "base64"))
        routes.on(
            .get, "/emulator/receipt", Text(en: "An account's app receipt as it is now.", zh: "账户当前的 App 收据。"),
            query: [.accountOrDevice, .bundleID, device],
            answer: ControlAnswer(
                "Receipt",
                [
                    receipt,
                    ControlMember("account", .text(limit: 200), required: true, Text(en: "whose it is", zh: "所属账户")),
                ])
        ) { call in try await appReceipt(call) }
        routes.on(
            .get, "/emulator/transactions/{id}/receipt",
            Text(en: "One transaction's receipt in the style of iOS 6.", zh: "一笔交易的 iOS 6 旧式收据。"),
            query: [device],
            answer: ControlAnswer(
                "TransactionReceipt",
                [
                    receipt,
                    ControlMember(
                        "transactionId", .text(limit: 20), required: true,
                        Text(en: "Apple's id of it", zh: "Apple 的交易号")),
                ])
        ) { call in try await transactionReceipt(call) }
    }

    var receipts: ReceiptPrinter {
        ReceiptPrinter(store: store, issuer: issuer, configuration: configuration, entropy: entropy)
    }

    func makeReceipt(account: String, bundleID: String, device: [UInt8]?) async throws -> [UInt8] {
        try await receipts.appReceipt(account: account, bundleID: bundleID, device: device)
    }

    private func appReceipt(_ call: ControlCall) async throws -> HTTPResponse {
        let bundleID = call.query("bundleId") ?? configuration.app.bundleID
        let device = try call.device()
        var account = call.query("account")
        // A receipt is bound to any number; it need not be one of a device that is registered.
        if account == nil, let device, case .success(let known) = try await store.device(device) {
            account = known.account
        }
        let owner = account ?? Emulator.defaultAccount
        let receipt = try await makeReceipt(account: owner, bundleID: bundleID, device: device?.bytes)
        return .json(["receipt": .string(Base64.encode(receipt)), "account": .string(owner)])
    }

    private func transactionReceipt(_ call: ControlCall) async throws -> HTTPResponse {
        guard let transaction = try await store.transaction(number(call.id)) else {
            throw Problem(.unknownTransaction(call.id))
        }
        guard transaction.state == .purchased else { throw Problem(.notPurchased(call.id)) }
        let receipt = try await receipts.transactionReceipt(transaction, device: try call.device()?.bytes)
        return .json(["receipt": .string(Base64.encode(receipt)), "transactionId": .string(call.id)])
    }
}
