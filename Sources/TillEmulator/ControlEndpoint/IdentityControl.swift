import TillAppStore
import TillBilling
import TillHTTP

/// What a server has to know of this store before it can trust it and ask it.
extension ControlEndpoint {
    func addIdentity(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/root.cer",
            Text(en: "The root certificate (DER) that everything here is signed under.", zh: "本商店签名所用的根证书（DER）。")
        ) { _ in
            var response = HTTPResponse(status: 200, body: issuer.rootCertificate)
            response.headers.add("Content-Type", "application/pkix-cert")
            return response
        }
        routes.on(
            .get, "/emulator/api-key",
            Text(en: "A throw-away In-App Purchase key for bearer tokens.", zh: "用于签发 Bearer 令牌的一次性密钥。"),
            answer: ControlAnswer(
                "APIKey",
                [
                    ControlMember("issuerId", .uuid, required: true, Text(en: "claim iss", zh: "声明 iss")),
                    ControlMember("keyId", .text(limit: 10), required: true, Text(en: "header kid", zh: "头部 kid")),
                    ControlMember("bundleId", .text(limit: 200), required: true, Text(en: "claim bid", zh: "声明 bid")),
                    ControlMember(
                        "privateKey", .text(limit: 1_000), required: true, Text(en: "PEM, PKCS#8", zh: "PEM，PKCS#8")),
                ])
        ) { _ in try .json(apiKey.json(bundleID: configuration.app.bundleID)) }
    }
}
