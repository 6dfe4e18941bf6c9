import TillBilling
import TillHTTP
import TillJSON

/// The store's products and their review.
extension ControlEndpoint {
    func addProducts(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/products", Text(en: "What the store sells.", zh: "商店出售的商品。"),
            answer: ProductText.answer
        ) { _ in
            .json(["data": .array(try await store.products().map(ProductText.json))])
        }
        routes.on(
            .put, "/emulator/products",
            Text(
                en: "Replaces what the store sells: by a list, or by Xcode's StoreKit configuration file as it is.",
                zh: "更换商店出售的商品：商品列表，或原样的 Xcode StoreKit 配置文件。"),
            query: [
                ControlMember(
                    "force", .choice(["true", "false"]),
                    Text(en: "whether ids that were removed may come again", zh: "是否允许再次使用已删除的 id"))
            ],
            body: [
                ControlMember(
                    "products", .list(ProductText.members), required: true, Text(en: "all of them", zh: "全部商品"))
            ], answer: Self.replaced, bodyLimit: ProductFile.byteLimit, readsBody: false
        ) { call in try await replaceProducts(call) }
        routes.on(
            .put, "/emulator/products/{id}", Text(en: "Saves one product again.", zh: "重新保存一件商品。"),
            body: ProductText.members, answer: ControlAnswer("Product", ProductText.members), readsBody: false
        ) { call in
            let product = try ProductText.product(try Self.body(call))
            guard product.id.text == call.id else {
                throw RequestBody.wrong("id", "the id in the path: ids never change", "与路径中的 id 相同：id 不可更改")
            }
            return .json(ProductText.json(try await store.edit(product).answered()))
        }
        addReview(to: &routes)
        addFindings(to: &routes)
    }

    private static let replaced = ControlAnswer(
        "ReplacedProducts",
        ProductText.answer.members + [
            ControlMember(
                "ignored", .texts, required: true,
                Text(en: "members that mean nothing here", zh: "此处没有对应意义而未采用的成员")),
            ControlMember("storefront", .text(limit: 3), Text(en: "taken over from the file", zh: "取自文件的地区")),
            ControlMember(
                "pace", .choice(of: RenewalPace.self),
                Text(en: "taken over from the file", zh: "取自文件的订阅速度")),
        ])

    private func replaceProducts(_ call: ControlCall) async throws -> HTTPResponse {
        let force = call.query("force") ?? "false"
        guard force == "true" || force == "false" else {
            throw RequestBody.wrong("force", "true or false", "true 或 false")
        }
        let file = try ProductFile(reading: call.request.body)
        let products = try await store.load(file, force: force == "true").answered()
        var answer: [String: JSONValue] = [
            "data": .array(products.map(ProductText.json)), "ignored": .array(file.ignored.map { .string($0) }),
        ]
        answer["storefront"] = file.storefront.map { .string($0) }
        answer["pace"] = file.pace.map { .string($0.rawValue) }
        return .json(.object(answer))
    }

    private static func body(_ call: ControlCall) throws(Problem) -> FileMember {
        guard let value = try? JSONValue(decoding: call.request.body) else {
            throw .badRequest("not_json", "The body is no JSON: send one JSON object.", "请求体不是 JSON：请发送一个 JSON 对象。")
        }
        return FileMember(value)
    }

    // MARK: Review

    private func addReview(to routes: inout ControlRoutes) {
        let product = ControlAnswer("Product", ProductText.members)
        for (step, summary) in Self.steps {
            let body: [ControlMember] =
                switch step {
                case .submit:
                    [
                        ControlMember(
                            "withAppVersion", .bool,
                            Text(
                                en: "an app version goes with it; the first product needs one",
                                zh: "随 App 版本一起提交；首个商品必须如此"))
                    ]
                case .removeFromSale:
                    [
                        ControlMember(
                            "by", .choice(["developer", "Apple"]), Text(en: "developer if absent", zh: "省略则为 developer")
                        )
                    ]
                default: []
                }
            routes.on(
                .post, "/emulator/products/{id}/\(step.rawValue)", summary, body: body, answer: product
            ) { call in
                let by = try call.body.text("by") ?? "developer"
                guard by == "developer" || by == "Apple" else {
                    throw RequestBody.wrong("by", "one of \"developer\", \"Apple\"", "developer 或 Apple")
                }
                let reviewed = try await store.review(
                    step, call.id, withAppVersion: try call.body.bool("withAppVersion") ?? false,
                    byApple: by == "Apple")
                return .json(ProductText.json(try reviewed.answered()))
            }
        }
    }

    private static let steps: [(ProductReview.Step, Text)] = [
        (.submit, Text(en: "The developer submits a product for review.", zh: "开发者提交商品审核。")),
        (.startReview, Text(en: "App Review looks at it.", zh: "App 审核开始审查。")),
        (.approve, Text(en: "App Review approves it, or the app version it waits for.", zh: "审核通过商品，或其等待的 App 版本。")),
        (.reject, Text(en: "App Review rejects it.", zh: "审核拒绝。")),
        (.requestChanges, Text(en: "App Review asks for changes.", zh: "审核要求修改。")),
        (.removeFromSale, Text(en: "It is taken off the store.", zh: "商品下架。")),
        (.returnToSale, Text(en: "The developer brings it back.", zh: "开发者重新上架。")),
    ]
}

/// Faults of the catalogue that App Review or customers will meet.
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
                        id: try item.required("id").text(upTo: 200),
                        kind: try item.choice("type", of: ProductType.sold.map { ($0.rawValue, $0) })
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
                        "code", .choice(of: ProductFinding.Code.self), required: true,
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
