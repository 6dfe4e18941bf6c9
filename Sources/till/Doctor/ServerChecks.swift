import TillBilling
import TillCrypto
import TillHTTP
import TillJSON
import TillLedger
import TillSQL
import TillServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The running server, asked at its own address and through the proxy in front. A server of the same ledger recognises
/// the doctor and says what it saw of the request.
struct ServerChecks: Sendable {
    let doctor: Doctor
    let ledger: (any Database)?

    private var configuration: Configuration { doctor.configuration }

    func run() async -> (checks: [DoctorCheck], isRunning: Bool) {
        let identity = try? await ledger?.read { try LedgerIdentityTable($0).find() }
        let (server, isRunning) = await server(identity)
        return ([server] + (await proxy(identity)), isRunning)
    }

    /// The answer of `GET /healthz`.
    private enum Health {
        case answered(DoctorAnswer)
        /// A server that does not recognise the doctor.
        case stranger(status: Int)
        case failed(HTTPError)
    }

    private func health(
        at origin: String, _ identity: LedgerIdentity?
    ) async -> (health: Health, certificate: String?) {
        var headers = HTTPHeaders([("User-Agent", "till doctor")])
        if let identity {
            headers.add(
                DoctorQuestion.header,
                DoctorQuestion.value(nonce: doctor.process.entropy(16), secret: identity.secret))
        }
        do throws(HTTPError) {
            let request = HTTPRequest(method: .get, path: "", headers: headers)
            let response = try await doctor.fetch.send(origin + "/healthz", request)
            let answer = try? JSONDecoder().decode(DoctorAnswer.self, from: Data(response.body))
            guard response.status == 200, let answer else {
                return (.stranger(status: response.status), response.peerCertificate)
            }
            return (.answered(answer), response.peerCertificate)
        } catch {
            return (.failed(error), nil)
        }
    }

    // MARK: At its own address

    private static let start = LocalizedText(
        en: "Start it with `till serve --config FILE`.", zh: "请用 `till serve --config 文件` 启动。")

    private func server(_ identity: LedgerIdentity?) async -> (DoctorCheck, isRunning: Bool) {
        let listen = configuration.listen
        guard listen.port != 0 else {
            return (
                .notChecked(
                    .server,
                    because: LocalizedText(
                        en: "port 0 lets the system choose, so the address is unknown",
                        zh: "端口 0 由系统选择，无法得知地址"),
                    do: LocalizedText(
                        en: "Pass --listen with the address that the server printed.",
                        zh: "请用 --listen 指明服务器启动时打印的地址。")), false
            )
        }
        let everywhere = ["0.0.0.0": "127.0.0.1", "::": "::1"]
        let address = ListenAddress(host: everywhere[listen.host] ?? listen.host, port: listen.port)
        let origin = "http://\(address)"
        switch await health(at: origin, identity).health {
        case .failed(let error):
            return (
                .warning(
                    .server,
                    LocalizedText(
                        en: "No server answers at \(address) (\(error.kind.rawValue)).",
                        zh: "\(address) 没有服务器应答（\(error.kind.rawValue)）。"), do: Self.start), false
            )
        case .stranger(let status):
            return (stranger(address, status, identity), false)
        case .answered(let answer):
            return (await ready(origin, answer), true)
        }
    }

    private func stranger(_ address: ListenAddress, _ status: Int, _ identity: LedgerIdentity?) -> DoctorCheck {
        guard identity != nil else {
            return .notChecked(
                .server,
                because: LocalizedText(
                    en: "\(address) answers, and the ledger has no identity yet by which its server is recognised",
                    zh: "\(address) 有应答，但账本尚无可用来识别服务器的标识"),
                do: LocalizedText(
                    en: "Start the server once with this version of Till.", zh: "请用此版本的 Till 启动一次服务器。"))
        }
        return .error(
            .server,
            LocalizedText(
                en: "\(address) answers (\(status)), and not for this ledger: another program, or a server with "
                    + "another database.", zh: "\(address) 有应答（\(status)），但不属于此账本：是其他程序，或使用其他数据库的服务器。"),
            do: LocalizedText(
                en: "Compare `listen` and `database` with those of the running server; a server of an older version "
                    + "must be replaced by this one.", zh: "请与正在运行的服务器核对 `listen` 与 `database`；旧版本的服务器须换成此版本。"))
    }

    private func ready(_ origin: String, _ answer: DoctorAnswer) async -> DoctorCheck {
        guard answer.bundleId.hasSameBytes(as: configuration.apple.bundleID) else {
            return .error(
                .server,
                LocalizedText(
                    en: "The running server has another configuration: apple.bundleId is \(shown(answer.bundleId)).",
                    zh: "正在运行的服务器使用另一份配置：apple.bundleId 为 \(shown(answer.bundleId))。"),
                do: LocalizedText(
                    en: "Pass the server's own configuration with --config.", zh: "请用 --config 指明服务器自己的配置。"))
        }
        let readiness = try? await doctor.fetch.send(origin + "/readyz", HTTPRequest(method: .get, path: ""))
        guard let readiness, readiness.status == 200 else {
            let said = readiness.map { shown(String(decoding: $0.body.prefix(200), as: UTF8.self)) } ?? ""
            return .error(
                .server,
                LocalizedText(en: "It runs and is not ready: \(said)", zh: "正在运行，但尚未就绪：\(said)"),
                do: LocalizedText(
                    en: "See the checks disk and file_modes, and the server's log.",
                    zh: "请看检查项 disk 与 file_modes，以及服务器的日志。"))
        }
        guard answer.frozenJobs.isEmpty else {
            let names = answer.frozenJobs.map { shown($0) }
            return .error(
                .server,
                LocalizedText(
                    en: "It runs, and background jobs have not ended well for too long: "
                        + "\(names.joined(separator: ", ")).",
                    zh: "正在运行，但有后台任务长时间没有正常结束：\(names.joined(separator: "、"))。"),
                do: LocalizedText(
                    en: "Look for job_failed in the server's log. Without such lines the job waits: restart the "
                        + "server.",
                    zh: "请在服务器日志中查找 job_failed。没有这样的行，说明任务在等待：请重新启动服务器。"))
        }
        guard answer.floodRefusals < Self.floodWarning else {
            return .warning(
                .server,
                LocalizedText(
                    en: "In the last five minutes \(answer.floodRefusals) requests were refused because their callers "
                        + "send more than they may.",
                    zh: "最近五分钟内有 \(answer.floodRefusals) 个请求因调用方超出限额而被拒绝。"),
                do: LocalizedText(
                    en: "Look for limit_reached in the server's log, and block the network in front of the server if "
                        + "customers are affected.",
                    zh: "请在服务器日志中查找 limit_reached；若客户受影响，请在服务器前面封锁该网段。"))
        }
        let said = (try? JSONValue(decoding: readiness.body))?["status"]?.string ?? "ready"
        guard said == "ready" else {
            let whole = shown(String(decoding: readiness.body.prefix(200), as: UTF8.self))
            return .warning(
                .server,
                LocalizedText(
                    en: "It runs and is \(shown(said)): \(whole)", zh: "正在运行，状态为 \(shown(said))：\(whole)"),
                do: LocalizedText(en: "See the check api_key.", zh: "请看检查项 api_key。"))
        }
        let own = BuildIdentity.current.name
        guard answer.version == own else {
            return .warning(
                .server,
                LocalizedText(
                    en: "The running server is version \(shown(answer.version)), and this program \(own).",
                    zh: "正在运行的服务器版本为 \(shown(answer.version))，此程序为 \(own)。"),
                do: LocalizedText(
                    en: "Restart the server with the installed program.", zh: "请用已安装的程序重新启动服务器。"))
        }
        return .ok(
            .server, en: "Runs at \(origin), ready, version \(answer.version), on this ledger.",
            zh: "运行于 \(origin)，已就绪，版本 \(answer.version)，使用此账本。")
    }

    // MARK: Through the proxy

    private func proxy(_ identity: LedgerIdentity?) async -> [DoctorCheck] {
        guard let given = doctor.publicURL else {
            return [
                .notChecked(
                    .proxy,
                    because: LocalizedText(en: "no public address was given", zh: "没有给出公开地址"),
                    do: LocalizedText(
                        en: "Pass --public https://HOST, as apps reach the server.",
                        zh: "请用 --public https://主机名 指明 App 所用的地址。"))
            ]
        }
        let origin = given.hasSuffix("/") ? String(given.dropLast()) : given
        let (health, certificate) = await health(at: origin, identity)
        var found = origin.lowercased().hasPrefix("https://") ? [] : [plain(origin)]
        if let ending = Self.ending(certificate, .proxy, now: doctor.now) { found.append(ending) }
        switch health {
        case .failed(let error): found.append(unreachable(origin, error))
        case .stranger(let status): found.append(notPassed(origin, status, identity))
        case .answered(let answer): found += headers(of: answer, origin)
        }
        guard found.isEmpty else { return found }
        return [
            .ok(
                .proxy, en: "\(shown(origin)) reaches this server, with Host, X-Forwarded-For and X-Forwarded-Proto.",
                zh: "\(shown(origin)) 可到达此服务器，并带有 Host、X-Forwarded-For 与 X-Forwarded-Proto。")
        ]
    }

    private func plain(_ origin: String) -> DoctorCheck {
        .error(
            .proxy,
            LocalizedText(
                en: "\(shown(origin)) is not https: tokens can be read in transit, and Apple sends no notification "
                    + "there.",
                zh: "\(shown(origin)) 不是 https：令牌可能在途中被读取，Apple 也不会向它发送通知。"),
            do: LocalizedText(
                en: "Put a proxy with a TLS certificate in front.", zh: "请在前面放置带 TLS 证书的代理。"))
    }

    private func unreachable(_ origin: String, _ error: HTTPError) -> DoctorCheck {
        .error(
            .proxy,
            LocalizedText(
                en: "\(shown(origin)) can't be reached (\(error.kind.rawValue): \(shown(error.detail))).",
                zh: "连接不到 \(shown(origin))（\(error.kind.rawValue)：\(shown(error.detail))）。"),
            do: LocalizedText(
                en: "Check its DNS name, its firewall, its certificate and that the proxy runs.",
                zh: "请检查域名解析、防火墙、证书，以及代理是否在运行。"))
    }

    private func notPassed(_ origin: String, _ status: Int, _ identity: LedgerIdentity?) -> DoctorCheck {
        .error(
            .proxy,
            LocalizedText(
                en: "\(shown(origin))/healthz answers \(status), and not by the server of this ledger.",
                zh: "\(shown(origin))/healthz 应答 \(status)，但不是此账本的服务器。"),
            do: identity == nil
                ? LocalizedText(
                    en: "Start the server once with this version of Till, then run `till doctor` again.",
                    zh: "请用此版本的 Till 启动一次服务器，然后再次运行 `till doctor`。")
                : LocalizedText(
                    en: "Have the proxy pass every path, and the header Till-Doctor, to \(configuration.listen).",
                    zh: "请让代理把所有路径与请求头 Till-Doctor 转发到 \(configuration.listen)。"))
    }

    /// The request's headers as the server saw them.
    private func headers(of answer: DoctorAnswer, _ origin: String) -> [DoctorCheck] {
        var found: [DoctorCheck] = []
        let authority = origin.drop { $0 != ":" }.dropFirst(3).prefix { $0 != "/" }
        if answer.host.lowercased() != authority.lowercased() {
            found.append(
                .error(
                    .proxy,
                    LocalizedText(
                        en: "The proxy sends Host \(shown(answer.host)) in place of \(shown(authority)), so every "
                            + "login to the dashboard fails.",
                        zh: "代理把 Host \(shown(authority)) 换成了 \(shown(answer.host))，因此控制台无法登录。"),
                    do: LocalizedText(
                        en: "Pass the client's own Host (nginx: proxy_set_header Host $host).",
                        zh: "请转发客户端的 Host（nginx：proxy_set_header Host $host）。")))
        } else if !answer.isAddressedHere {
            found.append(
                .warning(
                    .proxy,
                    LocalizedText(
                        en: "The dashboard does not answer under \(shown(authority)) (421).",
                        zh: "控制台不在 \(shown(authority)) 这个名称下应答（421）。"),
                    do: LocalizedText(
                        en: "Add the name to dashboardHosts, if operators are to use it.",
                        zh: "如需供运营人员使用，请把该名称加入 dashboardHosts。")))
        }
        if origin.lowercased().hasPrefix("https://"), !answer.isEncrypted {
            found.append(
                .warning(
                    .proxy,
                    LocalizedText(
                        en: "The proxy does not send X-Forwarded-Proto: https, so cookies are not marked Secure.",
                        zh: "代理没有发送 X-Forwarded-Proto: https，因此 Cookie 没有 Secure 标记。"),
                    do: LocalizedText(
                        en: "Set it (nginx: proxy_set_header X-Forwarded-Proto $scheme).",
                        zh: "请设置它（nginx：proxy_set_header X-Forwarded-Proto $scheme）。")))
        }
        if answer.client == answer.peer {
            found.append(
                .warning(
                    .proxy,
                    LocalizedText(
                        en: "The server takes the proxy's address \(shown(answer.peer)) for every client's, so all "
                            + "clients share one limit.",
                        zh: "服务器把代理的地址 \(shown(answer.peer)) 当作所有客户端的地址，因此所有客户端共用一个限额。"),
                    do: LocalizedText(
                        en: "Add the proxy to trustedProxies, and have it send X-Forwarded-For.",
                        zh: "请把代理加入 trustedProxies，并让它发送 X-Forwarded-For。")))
        }
        return found
    }

    /// Refused requests in five minutes at which a warning begins: one in two seconds, as for the alert `TillFlood`.
    static let floodWarning: Int64 = 150
    /// Days before the end of a TLS certificate at which a warning begins: automatic renewals happen earlier.
    static let certificateDays: Int64 = 14

    /// Nil if the certificate stays valid long enough, or there is none.
    static func ending(_ pem: String?, _ name: DoctorCheck.Name, of owner: String = "", now: Instant) -> DoctorCheck? {
        guard let certificate = pem.flatMap({ Certificate(derOrPEM: Array($0.utf8)) }) else { return nil }
        let days = (certificate.notAfter - now.seconds) / 86_400
        guard days < certificateDays else { return nil }
        let whose = owner.isEmpty ? LocalizedText("") : LocalizedText(en: owner + ": ", zh: owner + "：")
        return .warning(
            name,
            LocalizedText(
                en: "\(whose.en)the TLS certificate ends in \(days) days.", zh: "\(whose.zh)TLS 证书将在 \(days) 天后到期。"),
            do: LocalizedText(en: "Renew it.", zh: "请续期。"))
    }
}
