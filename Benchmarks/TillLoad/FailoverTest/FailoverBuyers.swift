import Foundation
import TillHTTP
import TillJSON

/// Phones that buy without a pause and repeat what was not answered, as the client kit does. Some post a proof twice at
/// once to two servers, some are overtaken by Apple's notification, some spend points at once with two requests.
struct FailoverBuyers: Sendable {
    enum Manner: CaseIterable { case plain, twice, notified, spender }

    static let debitEach = 10
    /// Below are the purchases that wrk posts.
    static let first = 1_000_000

    let issuer: LoadIssuer
    let record: FailoverRecord
    let send: HTTPSend

    static func manner(_ number: Int) -> Manner { Manner.allCases[number % Manner.allCases.count] }
    static func reference(_ number: Int) -> String { "debit-\(number)" }

    /// One phone: purchases until it is told to stop, each to its end.
    ///
    /// - Parameter isOver: whether to begin no further one.
    func run(phone: Int, phones: Int, pause: Duration, isOver: @Sendable () -> Bool) async throws {
        var number = Self.first + phone
        while !isOver() {
            try await buy(number)
            number += phones
            try await Task.sleep(for: pause)
        }
    }

    private func buy(_ number: Int) async throws {
        let began = ContinuousClock.now
        record.note { $0.begun.insert(number) }
        let proof = try issuer.proof(number)
        let (id, user, product) = (LoadSet.order(number), LoadSet.user(number), LoadSet.productID)
        try await persist("order \(number)") { _ in
            await post("/v1/orders", #"{"id":"\#(id)","userId":"\#(user)","productId":"\#(product)"}"#)
        } accepts: {
            $0.status == 201 || $0.status == 200
        }
        switch Self.manner(number) {
        case .plain: try await submit(number, proof)
        case .twice:
            async let first: Void = submit(number, proof)
            async let second: Void = submit(number, proof, to: server(number))
            _ = try await (first, second)
        case .notified:
            let notification = try issuer.notification(number, about: proof)
            async let posted: Void = submit(number, proof)
            async let notified: Void = notify(number, notification)
            _ = try await (posted, notified)
        case .spender:
            try await submit(number, proof)
            async let first: Void = spend(number, user)
            async let second: Void = spend(number, user, to: server(number))
            _ = try await (first, second)
        }
        let time = (ContinuousClock.now - began) / .seconds(1)
        record.note { $0.purchases.append(time) }
    }

    private func server(_ number: Int) -> String {
        "http://\(FailoverCluster.servers[number % FailoverCluster.servers.count]):8787"
    }

    private func submit(_ number: Int, _ proof: String, to host: String = FailoverCluster.entrance) async throws {
        let answer = try await persist("proof \(number)") { [host] attempt in
            // A phone knows the entrance only; this server may be the one that is away.
            await post(
                "/v1/transactions", #"{"signedTransaction":"\#(proof)"}"#,
                to: attempt == 0 ? host : FailoverCluster.entrance)
        } accepts: {
            $0.status == 200 && ["granted", "alreadyGranted"].contains($0.outcome)
        }
        record.note { contents in
            contents.granted.insert(number)
            contents.good.append(.now)
            if answer.outcome == "granted" { contents.freshGrants[number, default: 0] += 1 }
        }
    }

    private func notify(_ number: Int, _ notification: String) async throws {
        try await persist("notification \(number)") { _ in
            await post("/v1/notifications/apple", #"{"signedPayload":"\#(notification)"}"#)
        } accepts: {
            $0.status == 200
        }
    }

    private func spend(_ number: Int, _ user: String, to host: String = FailoverCluster.entrance) async throws {
        let body = #"{"currency":"points","amount":\#(Self.debitEach),"reference":"\#(Self.reference(number))"}"#
        let answer = try await persist("debit \(number)") { [host] attempt in
            await post(
                "/v1/users/\(user)/wallet/debits", body, to: attempt == 0 ? host : FailoverCluster.entrance)
        } accepts: {
            $0.status == 201 || $0.status == 200
        }
        record.note { contents in
            contents.debited.insert(number)
            if answer.status == 201 { contents.freshDebits[number, default: 0] += 1 }
        }
    }

    // MARK: Requests

    struct Answer: Sendable {
        /// 0 without an answer.
        var status = 0
        var outcome = ""
        var retryAfter: String?
        var text = ""
    }

    /// Repeats a request until it is accepted.
    @discardableResult
    private func persist(
        _ what: String, _ request: (_ attempt: Int) async -> Answer, accepts: (Answer) -> Bool
    ) async throws -> Answer {
        var attempt = 0
        while true {
            let answer = await request(attempt)
            if accepts(answer) {
                record.note { $0.answers["\(answer.status)", default: 0] += 1 }
                return answer
            }
            note(answer, what)
            try await Task.sleep(for: .milliseconds(min(200 << min(attempt, 3), 1_000)))
            attempt += 1
        }
    }

    /// During an outage a server answers 503 with `Retry-After`, and HAProxy 502 or 504 for one that does not answer.
    private func note(_ answer: Answer, _ what: String) {
        record.note { contents in
            switch (answer.status, answer.retryAfter) {
            case (0, _): contents.answers["none: \(answer.text)", default: 0] += 1
            case (502, _), (504, _): contents.answers["\(answer.status) of HAProxy", default: 0] += 1
            case (503, .some): contents.answers["503 with Retry-After", default: 0] += 1
            default:
                contents.answers["\(answer.status)", default: 0] += 1
                contents.wrong.append("\(what) was answered \(answer.status): \(answer.text)")
            }
        }
    }

    private func post(_ path: String, _ body: String, to host: String = FailoverCluster.entrance) async -> Answer {
        let headers = HTTPHeaders([
            (name: "Authorization", value: "Bearer \(LoadSet.secretKey)"),
            (name: "Content-Type", value: "application/json"),
        ])
        do {
            let response = try await send(
                host + path, HTTPRequest(method: .post, path: "", headers: headers, body: Array(body.utf8)))
            let outcome = (try? JSONValue(decoding: response.body))?["outcome"]?.string ?? ""
            return Answer(
                status: response.status, outcome: outcome, retryAfter: response.headers["Retry-After"],
                text: String(decoding: response.body.prefix(300), as: UTF8.self))
        } catch {
            return Answer(text: error.kind.rawValue)
        }
    }
}
