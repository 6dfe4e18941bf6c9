import Foundation
import Glibc
import Testing
import TillAppStore
import TillBilling
import TillEmulator
import TillHTTP
import TillServer
import TillThreads

@Suite("The client of verifyReceipt over real sockets (P2)") struct VerifyReceiptClientJourneys {
    /// A client whose Apple listens on these ports.
    private func client(
        production: UInt16, sandbox: UInt16, secret: String? = nil,
        change: (inout FetchConfiguration) -> Void = { _ in }
    ) throws -> (client: VerifyReceiptClient, fetch: Fetch) {
        var configuration = FetchConfiguration()
        configuration.totalTimeout = 5_000
        change(&configuration)
        let fetch = try Fetch(configuration: configuration)
        // Apple's two names become two ports of this machine.
        let redirected: HTTPSend = { url, request async throws(HTTPError) in
            let isSandbox = url.contains("sandbox.itunes.apple.com")
            let port = isSandbox ? sandbox : production
            let path = isSandbox ? "/sandbox/verifyReceipt" : "/production/verifyReceipt"
            return try await fetch.send("http://127.0.0.1:\(port)\(path)", request)
        }
        let client = VerifyReceiptClient(
            exchange: appleExchange(over: redirected), secret: secret.map(AppSharedSecret.init))
        return (client, fetch)
    }

    @Test("The emulated store's receipt is requested in production, found in the sandbox, and matches (P2)")
    func emulator() async throws {
        try await DropInJourneys.open { shop in
            let store = try Listener(
                configuration: ListenerConfiguration(), bodyLimit: shop.emulator.router.bodyLimit(method:path:),
                handler: shop.emulator.respond(to:))
            let (client, fetch) = try client(production: store.port, sandbox: store.port)
            let order = try await shop.openOrder(as: "u1")
            let payment = try await shop.pay(token: order, quantity: 2)
            _ = try await shop.pay(DropInJourneys.monthly, token: nil)
            let receipt = try await shop.emulator.receipt(bundleID: Shop.bundleID)
            let outcome = await client.verify(try VerifyReceiptRequest(receipt: receipt))
            guard case .answered(let answer, from: .sandbox) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(answer.receipt?.inApp?.count == 2 && answer.pendingRenewalInfo?.count == 1)
            var claim = ReceiptExpectation(
                bundleID: Shop.bundleID, transactionID: TransactionID(payment.id), productID: ProductID(Shop.points60),
                quantity: 2, environments: [.sandbox], orderOpened: shop.time.now, now: shop.time.now)
            #expect(claim.findings(in: answer, from: .sandbox).isEmpty)
            claim.productID = ProductID(Shop.points300)
            claim.environments = [.production]
            #expect(claim.findings(in: answer, from: .sandbox) == [.wrongEnvironment, .productMismatch])

            var altered = receipt
            let product = Array(Shop.points60.utf8)
            let at = try #require(altered.indices.first { altered[$0...].starts(with: product) })
            altered[at + 3] ^= 1
            #expect(
                await client.verify(try VerifyReceiptRequest(receipt: altered))
                    == .refused(.notAuthentic, isFinal: false))
            #expect(
                await client.verify(try VerifyReceiptRequest(receipt: [1, 2, 3]))
                    == .retry(.status(.malformed), after: nil))
            fetch.stop()
            await store.stop(grace: 1)
        }
    }

    @Test("Till's own POST /verifyReceipt is read by the same client: both use one format")
    func ourOwn() async throws {
        try await DropInJourneys.open { shop in
            let router = shop.server.router
            let ours = try Listener(
                configuration: ListenerConfiguration(),
                bodyLimit: { method, _ in
                    router.bodyLimit(method: method, path: "/verifyReceipt")
                },
                handler: { request in
                    var request = request
                    request.path = "/verifyReceipt"
                    return await router.respond(to: request)
                })
            let (client, fetch) = try client(production: ours.port, sandbox: ours.port)
            let payment = try await shop.pay(DropInJourneys.monthly, token: nil)
            let outcome = await client.verify(try VerifyReceiptRequest(base64: payment.receipt))
            guard case .answered(let answer, from: .production) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(answer.other.isEmpty && answer.latestReceipt == payment.receipt)
            #expect(answer.latestReceiptInfo?.first?.transactionID == payment.id)
            fetch.stop()
            await ours.stop(grace: 1)
        }
    }

    @Test("No server, a hanging one, one that closes half-way, a page: try again, each with its reason")
    func outages() async throws {
        let half = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"status\":21003"
        let page = "<html><title>Down</title><p>The store is closed for the night.</html>"
        let cases: [(name: String, trouble: VerifyReceiptRetryReason, answer: @Sendable (BareConnection) -> Void)] = [
            ("hangs", .outage(.timedOut), { $0.waitForEnd() }),
            ("closes at once", .outage(.connectionLost), { _ in }),
            ("closes half-way", .outage(.connectionLost), { $0.send(half) }),
            (
                "hangs half-way", .outage(.timedOut),
                {
                    $0.send(half)
                    $0.waitForEnd()
                }
            ),
            ("is no HTTP", .outage(.connectionLost), { $0.send("220 mail.example.com ESMTP\r\n") }),
            (
                "shows a page", .httpStatus(503),
                {
                    $0.send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: \(page.utf8.count)\r\n\r\n\(page)")
                }
            ),
            (
                "shows a page and says 200", .page,
                {
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
                    $0.send("\(head)Content-Length: \(page.utf8.count)\r\n\r\n\(page)")
                }
            ),
            (
                "sends elsewhere", .httpStatus(302),
                {
                    $0.send("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n")
                }
            ),
            ("says nothing", .unusable(.empty), { $0.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }),
        ]
        for item in cases {
            let server = try #require(BareServer(item.answer))
            let (client, fetch) = try client(production: server.port, sandbox: server.port) { $0.totalTimeout = 400 }
            let start = ContinuousClock.now
            let outcome = await client.verify(try VerifyReceiptRequest(receipt: [1]))
            #expect(outcome == .retry(item.trouble, after: nil), "\(item.name)")
            #expect(ContinuousClock.now - start < .seconds(4), "\(item.name)")
            fetch.stop()
            server.stop()
        }
        // A port that was free a moment ago.
        let gone = try #require(BareServer { _ in })
        gone.stop()
        let (client, fetch) = try client(production: gone.port, sandbox: gone.port)
        let outcome = await client.verify(try VerifyReceiptRequest(receipt: [1]))
        #expect(outcome == .retry(.outage(.unreachable), after: nil))
        fetch.stop()
    }

    @Test("An endless answer is cut off at the limit, with or without a stated length", arguments: [true, false])
    func endless(_ statesLength: Bool) async throws {
        let sent = Locked(0)
        let length = statesLength ? "Content-Length: 100000000000\r\n" : "Connection: close\r\n"
        let server = try #require(
            BareServer { connection in
                connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\(length)\r\n{\"status\":0,\"x\":\"")
                let piece = String(repeating: "a", count: 64 << 10)
                while connection.send(piece) { sent.withLock { $0 += piece.utf8.count } }
            })
        let (client, fetch) = try client(production: server.port, sandbox: server.port) { $0.responseLimit = 1 << 20 }
        let outcome = await client.verify(try VerifyReceiptRequest(receipt: [1]))
        #expect(outcome == .retry(.outage(.responseTooLarge), after: nil))
        fetch.stop()
        server.stop()
        // The limit, and the data that the sockets' buffers took before the connection was closed.
        #expect(sent.withLock { $0 } < 16 << 20)
    }
}

/// A server that sends any bytes a test chooses, after one request, on its own thread.
final class BareServer: Sendable {
    let port: UInt16
    private let descriptor: Int32
    /// Only the thread closes the socket: a freed descriptor would soon be another server's.
    private let isOpen = Locked(true)

    /// Nil if no socket is available.
    init?(_ answer: @escaping @Sendable (BareConnection) -> Void) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = descriptor
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && listen(socket, 8) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard isListening else {
            close(descriptor)
            return nil
        }
        Thread { [isOpen] in
            while true {
                let client = accept(socket, nil, nil)
                if client < 0 { break }
                let connection = BareConnection(client)
                if connection.receive() { answer(connection) }
            }
            isOpen.withLock {
                close(socket)
                $0 = false
            }
        }.start()
    }

    func stop() {
        isOpen.withLock { if $0 { shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }
}

/// The server's end of one connection; closed when it is released.
final class BareConnection {
    private let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    deinit { close(descriptor) }

    /// Receives one request with a short body; false if the other end closed.
    func receive() -> Bool {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !text.contains("\r\n\r\n{") || !text.hasSuffix("}") {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 { return false }
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count <= 0 { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Waits until the other end has closed.
    func waitForEnd() {
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, 0) > 0 {}
    }
}
