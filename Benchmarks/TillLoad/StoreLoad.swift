import Foundation
import TillBilling
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON

/// Fills an emulated store with one customer's purchases and reads their complete history, in process, so that the
/// figures exclude sockets.
struct StoreLoad {
    let directory: String
    let purchases: Int

    private static let bundleID = "com.example.learnpoints"

    /// Reports purchases per second, each on disk and with its signed transaction in the answer; milliseconds of a
    /// history page (median of the first and of the last hundred, the last one), and their number; milliseconds to
    /// create and to answer the app receipt, and its bytes; resident MiB at the end and at most; bytes of the file per
    /// purchase.
    func line() async throws -> String {
        let path = directory + "/store.db"
        let database = try Emulator.openDatabase(path: path)
        var configuration = EmulatorConfiguration()
        // Fifty thousand consecutive pages exceed the hourly quota of Apple's sandbox.
        configuration.environment = .production
        let emulator = try await Emulator(
            configuration: configuration, database: database,
            clock: { Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) },
            entropy: RandomBytes.make,
            send: { _, _ throws(HTTPError) in throw HTTPError(.stopped, "no server listens") })
        let clock = ContinuousClock()
        let began = clock.now
        let first = try await buyAll(emulator)
        let rate = Double(purchases) / ((clock.now - began) / .seconds(1))
        let pages = try await walk(emulator, from: first)
        // Measured before the receipt, which temporarily takes twenty times its size.
        let resident = try memory()
        let receipt = try await receipt(emulator)
        await database.close()
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        func median(_ times: some Collection<Double>) -> Double { times.sorted()[times.count / 2] }
        return [
            String(Int(rate)), milliseconds(median(pages.prefix(100))), milliseconds(median(pages.suffix(100))),
            milliseconds(pages.last ?? 0), String(pages.count), milliseconds(receipt.made),
            milliseconds(receipt.answered), String(receipt.size), resident.now, resident.highest,
            String(size / purchases),
        ].joined(separator: " ")
    }

    /// 256 concurrent requests, all for one account: the writer and the signers are both busy.
    private func buyAll(_ emulator: Emulator) async throws -> String {
        let body = Array(
            #"{"bundleId":"\#(Self.bundleID)","productId":"\#(Self.bundleID).points60","receipt":false}"#.utf8)
        return try await withThrowingTaskGroup(of: String.self) { group in
            var waiting = purchases
            var first = ""
            func start() {
                guard waiting > 0 else { return }
                waiting -= 1
                group.addTask {
                    let answer = await emulator.respond(
                        to: HTTPRequest(method: .post, path: "/emulator/purchases", body: body))
                    guard answer.status == 200, let json = try? JSONObject(answer.body),
                        let id = try? json.string("transactionId"), json.has("signedTransaction")
                    else { throw LoadError("a purchase was answered \(answer.status)") }
                    return id
                }
            }
            for _ in 0..<256 { start() }
            while let id = try await group.next() {
                first = id
                start()
            }
            return first
        }
    }

    /// - Returns: the seconds of each page, from the first to the last.
    private func walk(_ emulator: Emulator, from transaction: String) async throws -> [Double] {
        let token = try await bearer(emulator)
        let clock = ContinuousClock()
        var (times, revision, seen): ([Double], String?, Int) = ([], nil, 0)
        while true {
            let request = HTTPRequest(
                method: .get, path: "/inApps/v2/history/\(transaction)",
                query: revision.map { [(name: "revision", value: $0)] } ?? [],
                headers: HTTPHeaders([(name: "Authorization", value: "Bearer \(token)")]))
            let began = clock.now
            let answer = await emulator.respond(to: request)
            times.append((clock.now - began) / .seconds(1))
            guard answer.status == 200, let page = try? JSONValue(decoding: answer.body),
                let signed = page["signedTransactions"]?.array
            else { throw LoadError("a page was answered \(answer.status)") }
            seen += signed.count
            guard page["hasMore"]?.bool == true else { break }
            revision = page["revision"]?.string
        }
        guard seen == purchases else { throw LoadError("\(seen) transactions in the history of \(purchases)") }
        return times
    }

    /// Seconds to create the receipt of the whole queue (at most 20,000 purchases), and to verify and answer it.
    private func receipt(_ emulator: Emulator) async throws -> (made: Double, answered: Double, size: Int) {
        let clock = ContinuousClock()
        let began = clock.now
        let receipt = try await emulator.receipt(bundleID: Self.bundleID)
        let made = clock.now
        let answer = await emulator.respond(
            to: HTTPRequest(
                method: .post, path: "/verifyReceipt",
                body: Array(#"{"receipt-data":"\#(Base64.encode(receipt))"}"#.utf8)))
        let answered = clock.now
        guard answer.status == 200, try JSONValue(decoding: answer.body)["status"]?.int == 0 else {
            throw LoadError("the receipt was answered \(answer.status)")
        }
        return ((made - began) / .seconds(1), (answered - made) / .seconds(1), receipt.count)
    }

    private func bearer(_ emulator: Emulator) async throws -> String {
        let answer = await emulator.respond(to: HTTPRequest(method: .get, path: "/emulator/api-key"))
        let key = try JSONValue(decoding: answer.body)
        let now = Int64(Date().timeIntervalSince1970)
        let header: JSONValue = ["alg": "ES256", "kid": key["keyId"] ?? .null, "typ": "JWT"]
        let claims: JSONValue = [
            "iss": key["issuerId"] ?? .null, "iat": .int(now), "exp": .int(now + 3_600), "aud": "appstoreconnect-v1",
            "bid": .string(Self.bundleID),
        ]
        let message = [header, claims].map { Base64.encode(Array($0.encoded().utf8), .url) }.joined(separator: ".")
        let signature = try PrivateKey(pem: key["privateKey"]?.string ?? "").signES256(Array(message.utf8))
        return message + "." + Base64.encode(signature, .url)
    }

    /// Resident MiB as reported by Linux.
    private func memory() throws -> (now: String, highest: String) {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        func mebibytes(_ name: String) -> String {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") } ?? ""
            let kibibytes = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap {
                Double($0)
            }
            return String(format: "%.1f", (kibibytes ?? 0) / 1_024)
        }
        return (mebibytes("VmRSS"), mebibytes("VmHWM"))
    }

    private func milliseconds(_ seconds: Double) -> String { String(format: "%.2f", seconds * 1_000) }
}
