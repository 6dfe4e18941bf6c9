import TillAppStore
import TillBilling
import TillHTTP

/// Where notifications go.
extension ControlEndpoint {
    func addNotifications(to routes: inout ControlRoutes) {
        let url = ControlMember(
            "url", .text(limit: 2_000), Text(en: "http or https; null to send nothing", zh: "http 或 https；null 表示不发送"))
        routes.on(
            .put, "/emulator/notifications", Text(en: "Where notifications go from now on.", zh: "此后通知发往何处。"),
            body: [url], answer: ControlAnswer("NotificationTarget", [url])
        ) { call in
            let url = try call.body.text("url", upTo: 2_000)
            if let url, !(url.hasPrefix("http://") || url.hasPrefix("https://")) {
                throw RequestBody.wrong(
                    "url", "an http or https address, or null to send nothing", "http 或 https 地址，null 表示不发送")
            }
            try await store.setNotificationURL(url)
            return .json(["url": url.map { .string($0) } ?? .null])
        }
    }
}
