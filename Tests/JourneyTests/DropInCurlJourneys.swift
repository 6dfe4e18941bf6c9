import Foundation
import Testing
import TillBilling
import TillHTTP
import TillJSON

/// An independent client, on the addresses that released apps use.
@Suite("curl at the addresses of released apps", .enabled(if: CurlProgram.isThere, "there is no /usr/bin/curl"))
struct DropInCurlJourneys {
    @Test("curl posts a receipt to /verifyReceipt, and a purchase to /postPay/ios as a form and as JSON (C8)")
    func curl() async throws {
        try await Shop.open { shop in
            let router = shop.server.router
            let listener = try Listener(
                configuration: ListenerConfiguration(), bodyLimit: router.bodyLimit(method:path:),
                handler: router.respond(to:))
            let site = "http://127.0.0.1:\(listener.port)"
            for isForm in [true, false] {
                let order = try await shop.openOrder(as: "u1")
                let payment = try await shop.pay(token: nil)
                let asked = try await CurlProgram.run(
                    ["-d", "@-", "\(site)/verifyReceipt"], input: "{\"receipt-data\":\"\(payment.receipt)\"}")
                #expect(try JSONValue(decoding: asked)["status"] == 0)
                let wrapped = stride(from: 0, to: payment.receipt.count, by: 64)
                    .map { payment.receipt.dropFirst($0).prefix(64) }.joined(separator: "\n")
                let fields: [String: String] = [
                    "token": UserToken.hs256(subject: "u1", expires: shop.time.now.seconds + 600),
                    "product_id": "points60", "transaction_id": payment.id, "quantity": "1",
                    "order_id": order.description, "is_sandbox": "1", "bundle_id": Shop.bundleID, "password": "x",
                ]
                let answer: String
                if isForm {
                    let plain = fields.flatMap { ["--data-urlencode", "\($0.key)=\($0.value)"] }
                    answer = try await CurlProgram.run(
                        plain + ["--data-urlencode", "receipt-data@-", "\(site)/postPay/ios"], input: wrapped)
                } else {
                    var members = fields.mapValues { JSONValue.string($0) }
                    members["receipt-data"] = .string(wrapped)
                    answer = try await CurlProgram.run(
                        ["-H", "Content-Type: application/json", "-d", "@-", "\(site)/postPay/ios"],
                        input: JSONValue.object(members).encoded())
                }
                let reply = try JSONValue(decoding: answer)
                #expect(reply["status"] == 200 && reply["outcome"] == "granted", "\(answer)")
                #expect(reply["order"]?["id"] == .string(order.description))
            }
            #expect(try await shop.points(of: "u1") == 120)
            #expect(try await CurlProgram.run(["\(site)/verifyReceipt"]) == "{\"status\":21000}")
            await listener.stop(grace: 1)
        }
    }
}

/// The command-line program curl.
private enum CurlProgram {
    private static let path = "/usr/bin/curl"
    static var isThere: Bool { FileManager.default.isExecutableFile(atPath: path) }

    static func run(_ arguments: [String], input: String = "") async throws -> String {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data(input.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let handle = try FileHandle(forReadingFrom: file)
        return try await blocking {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: path)
            process.arguments = ["-s", "--max-time", "20", "--noproxy", "*"] + arguments
            process.standardInput = handle
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let data = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return String(decoding: data, as: UTF8.self)
        }
    }
}
