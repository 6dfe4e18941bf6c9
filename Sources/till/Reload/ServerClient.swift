import TillAPI
import TillBilling
import TillHTTP
import TillJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Flag {
    static let keyFile = Flag(
        "key-file", .text("FILE"),
        summary: LocalizedText(
            en: "the file with an operator token or a secret key for the running server",
            zh: "内含运营令牌或后端密钥的文件，用于请求正在运行的服务器"))
}

/// Requests to the server that uses the ledger, with the operator token or the secret key of `--key-file`.
struct ServerClient: Sendable {
    private let origin: String
    private let key: String
    private let fetch: Fetch
    private let language: Language

    init(_ configuration: Configuration, _ call: Invocation) throws {
        guard let file = call.text(.keyFile) else {
            throw CommandError(
                LocalizedText(
                    en: "a server uses the ledger: give --key-file with an operator token or a secret key for it",
                    zh: "账本正由服务器使用：请用 --key-file 给出运营令牌或后端密钥，以便请求该服务器"))
        }
        do throws(FileError) {
            let bytes = try readFile(file, limit: 4_096).filter { $0 > 0x20 && $0 < 0x7F }
            key = String(decoding: bytes, as: UTF8.self)
        } catch {
            throw CommandError(error.sentence)
        }
        let everywhere = ["0.0.0.0", "::"].contains(configuration.listen.host)
        let address = ListenAddress(
            host: everywhere ? "127.0.0.1" : configuration.listen.host, port: configuration.listen.port)
        origin = "http://\(address)"
        do {
            fetch = try Fetch()
        } catch {
            throw CommandError(
                LocalizedText(
                    en: "the HTTP client can't be started: \(error.detail)", zh: "无法启动 HTTP 客户端：\(error.detail)"))
        }
        language = call.language
    }

    func stop() { fetch.stop() }

    /// - Throws: `CommandError` with the server's problem, or with the reason why there is no answer.
    func ask<Reply: Decodable>(
        _ type: Reply.Type, _ method: HTTPMethod, _ path: String, _ body: [UInt8] = []
    ) async throws -> Reply {
        let response = try await send(method, path, body)
        let decoder = JSONDecoder()
        if (200..<300).contains(response.status), let reply = try? decoder.decode(type, from: Data(response.body)) {
            return reply
        }
        if let problem = try? decoder.decode(ProblemDetails.self, from: Data(response.body)) {
            let detail = problem.detail.map { " " + shown($0) } ?? ""
            throw CommandError(LocalizedText("\(origin): \(shown(problem.title)) (\(shown(problem.code)))\(detail)"))
        }
        throw unlikeTill(path, response)
    }

    /// An answer of any status.
    struct Answer: Sendable {
        let status: Int
        let body: JSONValue

        /// What the server says went wrong.
        func problem(about subject: String) -> LocalizedText {
            let (title, code) = (body["title"]?.string ?? "HTTP \(status)", body["code"]?.string ?? "\(status)")
            return LocalizedText("\(shown(subject)): \(shown(title)) (\(shown(code)))")
        }
    }

    /// - Throws: `CommandError` if no Till server answers.
    func ask(_ method: HTTPMethod, _ path: String, _ body: JSONValue?) async throws -> Answer {
        let response = try await send(method, path, body.map { $0.encodedBytes() } ?? [])
        guard let answer = try? JSONValue(decoding: response.body) else { throw unlikeTill(path, response) }
        return Answer(status: response.status, body: answer)
    }

    private func send(_ method: HTTPMethod, _ path: String, _ body: [UInt8]) async throws -> HTTPResponse {
        var headers = HTTPHeaders([
            (name: "Authorization", value: "Bearer \(key)"), (name: "Accept-Language", value: language.rawValue),
        ])
        if !body.isEmpty { headers.add("Content-Type", "application/json") }
        do throws(HTTPError) {
            return try await fetch.send(
                origin + path, HTTPRequest(method: method, path: "", headers: headers, body: body))
        } catch {
            throw CommandError(
                LocalizedText(
                    en: "the ledger is in use, but no server responds at \(origin): \(error.detail)",
                    zh: "账本正被使用，但 \(origin) 没有服务器应答：\(error.detail)"))
        }
    }

    private func unlikeTill(_ path: String, _ response: HTTPResponse) -> CommandError {
        CommandError(
            LocalizedText(
                en:
                    "\(origin)\(path) answered with HTTP status \(response.status), and not as a Till server does: "
                    + "check that \"listen\" in the configuration is the address of the server that uses the ledger",
                zh: "\(origin)\(path) 返回 HTTP 状态 \(response.status)，不是 Till 服务器的应答：请检查配置中的 \"listen\" "
                    + "是否为正在使用账本的服务器的地址"))
    }
}
