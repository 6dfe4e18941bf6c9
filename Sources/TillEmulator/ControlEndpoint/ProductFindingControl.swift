import TillBilling
import TillHTTP
import TillJSON

/// What App Review or a customer would stumble over (SCENARIOS L2).
extension ControlEndpoint {
    func addFindings(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/products/findings",
            Text(en: "What is wrong with the catalogue, and the cure of each.", zh: "商品目录的问题与解决办法。"),
            answer: Self.findings
        ) { _ in try await findings(comparing: nil) }
        routes.on(
            .post, "/emulator/products/findings",
            Text(en: "The same, compared with what the app believes there is.", zh: "同上，并与 App 自己的商品列表对照。"),
            body: [
                ControlMember(
                    "products",
                    .list([
                        ControlMember(
                            "id", .text(limit: 200), required: true,
                            Text(en: "as the app asks for it", zh: "App 请求的 id")),
                        ControlMember(
                            "type", .choice(ProductType.sold.map(\.rawValue)),
                            Text(en: "what the app takes it for", zh: "App 认为的类型")),
                    ]), required: true, Text(en: "the app's own list", zh: "App 自己的列表"))
            ], answer: Self.findings
        ) { call in
            guard let products = call.body.value("products") else {
                throw .badRequest("missing_member", "The member \"products\" is missing.", "缺少成员 “products”。")
                    as Problem
            }
            var expected: [ProductFinding.Expectation] = []
            for item in try FileMember(products, path: "products").items(upTo: ProductText.limit) {
                try item.knows(["id", "type"])
                expected.append(
                    ProductFinding.Expectation(
                        id: try item.required("id").text(upTo: 200), kind: try item.choice("type", of: ProductType.sold.map { ($0.rawValue, $0) })
                    ))
            }
            return try await findings(comparing: expected)
        }
    }

    private static let findings = ControlAnswer(
        "ProductFindings",
        [
            ControlMember(
                "data",
                .list([
                    ControlMember(
                        "code", .choice(ProductFinding.Code.allCases.map(\.rawValue)), required: true,
                        Text(en: "what kind of finding", zh: "问题种类")),
                    ControlMember("productId", .text(limit: 200), Text(en: "which product", zh: "商品")),
                    ControlMember("finding", .object(texts), required: true, Text(en: "what is wrong", zh: "问题")),
                    ControlMember("cure", .object(texts), required: true, Text(en: "what to do", zh: "解决办法")),
                ]), required: true, Text(en: "none: all is well", zh: "为空则没有问题"))
        ])

    private static let texts: [ControlMember] = [
        ControlMember("en", .text(limit: 2_000), required: true, Text(en: "English", zh: "英文")),
        ControlMember("zh", .text(limit: 2_000), required: true, Text(en: "Chinese", zh: "中文")),
    ]

    private func findings(comparing expected: [ProductFinding.Expectation]?) async throws -> HTTPResponse {
        let lint = ProductLint(products: try await store.products(), environment: configuration.environment)
        let findings = lint.findings(comparing: expected)
        return .json([
            "data": .array(
                findings.map { finding in
                    var members: [String: JSONValue] = [
                        "code": .string(finding.code.rawValue), "finding": finding.sentence.json,
                        "cure": finding.cure.json,
                    ]
                    members["productId"] = finding.product.map { .string($0) }
                    return .object(members)
                })
        ])
    }
}

extension Text {
    fileprivate var json: JSONValue { ["en": .string(en), "zh": .string(zh)] }
}
