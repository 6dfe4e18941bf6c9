import TillBilling
import TillHTTP
import TillLedger
import TillSQL
import TillServer

extension Doctor {
    /// One line for each endpoint. The request is a HEAD without body and signature: a receiver takes it for no event,
    /// and its answer, whatever it is, shows that name, address, TLS and program work. Whether the receiver accepts
    /// events is what the ledger knows from the real ones.
    func webhookChecks(_ ledger: (any Database)?) async -> [DoctorCheck] {
        let webhooks = configuration.webhooks
        guard !webhooks.endpoints.isEmpty else {
            return [.ok(.webhooks, en: "No endpoint is configured.", zh: "没有配置端点。")]
        }
        let probe: Fetch
        var settings = FetchConfiguration()
        settings.addresses = webhooks.allowsPrivate ? .internetAndOwnNetworks : .internet
        settings.connectTimeout = 3_000
        settings.totalTimeout = 5_000
        settings.responseLimit = 256 << 10
        settings.rootsFile = effects.rootsFile
        settings.readsCertificates = true
        do {
            probe = try Fetch(configuration: settings)
        } catch {
            return [
                .notChecked(
                    .webhooks,
                    because: LocalizedText(en: "no HTTP client: \(error.detail)", zh: "无法启动 HTTP 客户端：\(error.detail)"),
                    do: LocalizedText(en: "Run `till doctor` again.", zh: "请再次运行 `till doctor`。"))
            ]
        }
        defer { probe.stop() }
        return await withTaskGroup(of: [DoctorCheck].self) { group in
            for endpoint in webhooks.endpoints {
                group.addTask { await check(endpoint, over: probe.send, ledger) }
            }
            var found: [DoctorCheck] = []
            for await checks in group { found += checks }
            return found.sorted { $0.detail.en < $1.detail.en }
        }
    }

    private func check(
        _ endpoint: WebhookEndpoint, over send: HTTPSend, _ ledger: (any Database)?
    ) async -> [DoctorCheck] {
        let id = shown(endpoint.id)
        guard !endpoint.isDisabled else {
            return [.ok(.webhooks, en: "\(id): disabled; nothing is sent.", zh: "\(id)：已停用，不发送任何内容。")]
        }
        var found: [DoctorCheck] = []
        do throws(HTTPError) {
            let request = HTTPRequest(
                method: .head, path: "", headers: HTTPHeaders([("User-Agent", "till doctor")]))
            let response = try await send(endpoint.url.description, request)
            if let ending = ServerChecks.ending(response.peerCertificate, .webhooks, of: id, now: now) {
                found.append(ending)
            }
            if [502, 503, 504].contains(response.status) { found.append(away(id, response.status)) }
        } catch {
            found.append(unreachable(id, error))
        }
        if let ledger {
            do {
                let (name, now) = (endpoint.id, now)
                let stored = try await ledger.read { try WebhookEndpointTable($0).find(name) }
                if let stored { found += Self.deliveries(stored, id, at: now) }
            } catch {
                found.append(.failed(.webhooks, error))
            }
        }
        guard found.isEmpty else { return found }
        return [.ok(.webhooks, en: "\(id): reachable, and accepts events.", zh: "\(id)：可以到达，并接受事件。")]
    }

    private func unreachable(_ id: String, _ error: HTTPError) -> DoctorCheck {
        let (en, zh): (String, String) =
            switch error.kind {
            case .addressRefused: ("its address is not allowed", "不允许连接该地址")
            case .cannotResolve: ("its name has no address", "域名无法解析")
            case .cannotConnect: ("nothing listens there", "没有程序监听")
            case .timedOut: ("it does not answer in time", "没有及时应答")
            case .tls: ("its TLS certificate is not accepted", "TLS 证书不被接受")
            default: ("the connection breaks", "连接中断")
            }
        let action =
            error.kind == .addressRefused
            ? LocalizedText(
                en: "An endpoint in a private network needs webhooks.allowPrivate; addresses of cloud metadata are "
                    + "never allowed.", zh: "内网端点需要设置 webhooks.allowPrivate；云平台元数据地址绝不允许。")
            : LocalizedText(
                en: "Mend the receiver; its events wait, and are tried again for three days.",
                zh: "请修复接收方；其事件会等待，并在三天内重试。")
        return .error(
            .webhooks,
            LocalizedText(
                en: "\(id): \(en) (\(error.kind.rawValue): \(shown(error.detail))).",
                zh: "\(id)：\(zh)（\(error.kind.rawValue)：\(shown(error.detail))）。"), do: action)
    }

    private func away(_ id: String, _ status: Int) -> DoctorCheck {
        .warning(
            .webhooks,
            LocalizedText(
                en: "\(id): a proxy answers \(status); the receiver behind it is away.",
                zh: "\(id)：代理应答 \(status)，其后的接收方不可用。"),
            do: LocalizedText(en: "Start the receiver.", zh: "请启动接收方。"))
    }

    /// How the last real events fared.
    private static func deliveries(
        _ stored: WebhookEndpointTable.Stored, _ id: String, at now: Instant
    ) -> [DoctorCheck] {
        if stored.goneAt != nil {
            return [
                .error(
                    .webhooks,
                    LocalizedText(
                        en: "\(id): it answered 410, so nothing is sent to it any more.",
                        zh: "\(id)：它应答了 410，不再向它发送任何内容。"),
                    do: LocalizedText(
                        en: "Change its URL, or remove the endpoint.", zh: "请更改其 URL，或移除该端点。"))
            ]
        }
        guard let failed = stored.failedAt, failed > stored.succeededAt ?? Instant(seconds: 0) else { return [] }
        let age = shortDuration(seconds: max(0, now.seconds - failed.seconds))
        let reason = shown(stored.error ?? "")
        return [
            .warning(
                .webhooks,
                LocalizedText(
                    en: "\(id): the last event was not accepted, \(age) ago: \(reason)",
                    zh: "\(id)：最近一个事件在 \(age) 前未被接受：\(reason)"),
                do: LocalizedText(
                    en: "401 or 403 is a wrong secret at the receiver; for the rest see the receiver's log.",
                    zh: "401 或 403 表示接收方的密钥不正确；其他情况请看接收方的日志。"))
        ]
    }
}
