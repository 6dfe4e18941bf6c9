import TillBilling
import TillHTTP
import TillJSON

/// The store's products and their review.
extension ControlEndpoint {
    func addProducts(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/products", LocalizedText(en: "The products on sale.", zh: "商店出售的商品。"),
            answer: ProductText.answer
        ) { _ in
            .json(["data": .array(try await store.products().map(ProductText.json))])
        }
        routes.on(
            .put, "/emulator/products",
            LocalizedText(
                en: "Replaces the products with a list or with an Xcode StoreKit configuration file.",
                zh: "替换全部商品：可提交商品列表，或 Xcode 的 StoreKit 配置文件。"),
            query: [
                ControlMember(
                    "force", .choice(["true", "false"]),
                    LocalizedText(en: "whether removed product ids may be reused", zh: "是否允许再次使用已删除的商品 ID"))
            ],
            body: [
                ControlMember(
                    "products", .list(ProductText.members), required: true,
                    LocalizedText(en: "the products", zh: "全部商品"))
            ], answer: Self.replaced, bodyLimit: ProductFile.byteLimit, readsBody: false
        ) { call in try await replaceProducts(call) }
        routes.on(
            .put, "/emulator/products/{id}", LocalizedText(en: "Updates one product.", zh: "更新一件商品。"),
            body: ProductText.members, answer: ControlResponse("Product", ProductText.members), readsBody: false
        ) { call in
            let product = try ProductText.product(try Self.body(call))
            guard product.id.text == call.id else {
                throw RequestBody.wrong("id", "the id in the path: product ids cannot change", "与路径中的 ID 相同：商品 ID 不可更改")
            }
            return .json(ProductText.json(try await store.edit(product).answered()))
        }
        addEditing(to: &routes)
        addReview(to: &routes)
        addFindings(to: &routes)
    }

    /// What a developer does in the forms of App Store Connect.
    private func addEditing(to routes: inout ControlRoutes) {
        let product = ControlResponse("Product", ProductText.members)
        routes.on(
            .post, "/emulator/products",
            LocalizedText(
                en: "Creates a product. Its state is MISSING_METADATA or READY_TO_SUBMIT.",
                zh: "新建一件商品，其状态为 MISSING_METADATA 或 READY_TO_SUBMIT。"),
            body: ProductText.members, answer: product, readsBody: false
        ) { call in
            .json(ProductText.json(try await store.create(try ProductText.product(try Self.body(call))).answered()))
        }
        routes.on(
            .post, "/emulator/products/{id}/metadata",
            LocalizedText(
                en: "Changes a part of a product's metadata. What is absent stays.", zh: "修改商品的部分元数据，省略的保持不变。"),
            body: [
                ControlMember("name", .text(limit: 64), LocalizedText(en: "the reference name", zh: "参考名称")),
                ControlMember(
                    "tier", .text(limit: 4),
                    LocalizedText(
                        en: "the classic price tier: 0 to 87, A, B, alt1 to alt5", zh: "经典价格档：0 到 87、A、B、alt1 到 alt5")),
                ControlMember(
                    "reviewScreenshot", .bool,
                    LocalizedText(en: "whether a review screenshot is uploaded", zh: "是否已上传审核截图")),
                ControlMember(
                    "localization", .object(ProductText.localizationMembers),
                    LocalizedText(en: "the texts for customers in one locale", zh: "一种语言中面向客户的文字")),
            ], answer: product, readsBody: false
        ) { call in
            let metadata = try ProductText.metadata(try Self.body(call))
            return .json(ProductText.json(try await store.amend(call.id, with: metadata).answered()))
        }
    }

    private static let replaced = ControlResponse(
        "ReplacedProducts",
        ProductText.answer.members + [
            ControlMember(
                "ignored", .texts, required: true,
                LocalizedText(en: "members of the file that the emulator does not support", zh: "文件中模拟商店不支持、未采用的成员")),
            ControlMember(
                "storefront", .text(limit: 3), LocalizedText(en: "the storefront from the file", zh: "取自文件的店面")),
            ControlMember(
                "pace", .choice(of: RenewalPace.self),
                LocalizedText(en: "the renewal rate from the file", zh: "取自文件的订阅速度")),
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

    private static func body(_ call: ControlCall) throws(ControlError) -> FileMember {
        guard let value = try? JSONValue(decoding: call.request.body) else {
            throw .notJSON(call.request.body)
        }
        return FileMember(value)
    }

    // MARK: Review

    private func addReview(to routes: inout ControlRoutes) {
        let product = ControlResponse("Product", ProductText.members)
        for (step, summary) in Self.steps {
            let body: [ControlMember] =
                switch step {
                case .submit:
                    [
                        ControlMember(
                            "withAppVersion", .bool,
                            LocalizedText(
                                en: "whether an app version is submitted too; required for the first product",
                                zh: "是否随 App 版本一起提交；首个商品必须如此"))
                    ]
                case .removeFromSale:
                    [
                        ControlMember(
                            "by", .choice(["developer", "Apple"]),
                            LocalizedText(
                                en: "the party that removes the product; developer if absent",
                                zh: "下架的一方，省略则为 developer")
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

    private static let steps: [(ProductReview.Step, LocalizedText)] = [
        (.submit, LocalizedText(en: "Submits the product for review.", zh: "提交商品审核。")),
        (.startReview, LocalizedText(en: "Starts the review.", zh: "开始审核。")),
        (
            .approve,
            LocalizedText(en: "Approves the product, or the app version it waits for.", zh: "批准商品，或批准其等待的 App 版本。")
        ),
        (.reject, LocalizedText(en: "Rejects the product.", zh: "拒绝商品。")),
        (.requestChanges, LocalizedText(en: "Requests changes to the product.", zh: "要求修改商品。")),
        (.removeFromSale, LocalizedText(en: "Removes the product from sale.", zh: "将商品下架。")),
        (.returnToSale, LocalizedText(en: "Returns the product to sale.", zh: "将商品重新上架。")),
    ]
}

/// Faults of the catalogue that App Review or customers will meet.
extension ControlEndpoint {
    func addFindings(to routes: inout ControlRoutes) {
        routes.on(
            .get, "/emulator/products/findings",
            LocalizedText(en: "Problems in the catalogue, each with its solution.", zh: "商品目录的问题与解决办法。"),
            answer: Self.findings
        ) { _ in try await findings(comparing: nil) }
        routes.on(
            .post, "/emulator/products/findings",
            LocalizedText(
                en: "Problems in the catalogue, also compared with the app's own product list.",
                zh: "商品目录的问题，并与 App 自己的商品列表对照。"),
            body: [
                ControlMember(
                    "products",
                    .list([
                        ControlMember(
                            "id", .text(limit: 200), required: true,
                            LocalizedText(en: "the product id that the app requests", zh: "App 请求的商品 ID")),
                        ControlMember(
                            "type", .choice(of: ProductType.self),
                            LocalizedText(en: "the product type that the app expects", zh: "App 预期的商品类型")),
                    ]), required: true, LocalizedText(en: "the app's own list", zh: "App 自己的列表"))
            ], answer: Self.findings
        ) { call in
            guard let products = call.body.value("products") else {
                throw .badRequest("missing_member", "The member \"products\" is missing.", "缺少成员 “products”。")
                    as ControlError
            }
            var expected: [ProductFinding.Expectation] = []
            for item in try FileMember(products, path: "products").items(upTo: ProductText.limit) {
                try item.knows(["id", "type"])
                expected.append(
                    ProductFinding.Expectation(
                        id: try item.required("id").text(upTo: 200),
                        kind: try item.choice("type", of: ProductType.self)))
            }
            return try await findings(comparing: expected)
        }
    }

    private static let findings = ControlResponse(
        "ProductFindings",
        [
            ControlMember(
                "data",
                .list([
                    ControlMember(
                        "code", .choice(of: ProductFinding.Code.self), required: true,
                        LocalizedText(en: "the kind of problem", zh: "问题种类")),
                    ControlMember(
                        "severity", .choice(["error", "warning"]), required: true,
                        LocalizedText(
                            en: "warning: Till lacks the facts to tell whether this is a problem",
                            zh: "warning 表示 Till 缺少资料，无法判断是否有问题")),
                    ControlMember("productId", .text(limit: 200), LocalizedText(en: "the product id", zh: "商品 ID")),
                    ControlMember(
                        "finding", .object(texts), required: true, LocalizedText(en: "the problem", zh: "问题")),
                    ControlMember(
                        "cure", .object(texts), required: true, LocalizedText(en: "the solution", zh: "解决办法")),
                ]), required: true, LocalizedText(en: "the problems; empty if there are none", zh: "问题列表，为空表示没有问题"))
        ])

    private static let texts: [ControlMember] = [
        ControlMember("en", .text(limit: 2_000), required: true, LocalizedText(en: "the English text", zh: "英文")),
        ControlMember("zh", .text(limit: 2_000), required: true, LocalizedText(en: "the Chinese text", zh: "中文")),
    ]

    private func findings(comparing expected: [ProductFinding.Expectation]?) async throws -> HTTPResponse {
        let lint = ProductValidator(products: try await store.products(), environment: configuration.environment)
        let findings = lint.findings(comparing: expected)
        return .json([
            "data": .array(
                findings.map { finding in
                    var members: [String: JSONValue] = [
                        "code": .string(finding.code.rawValue),
                        "severity": .string(finding.isWarning ? "warning" : "error"), "finding": finding.sentence.json,
                        "cure": finding.cure.json,
                    ]
                    members["productId"] = finding.product.map { .string($0) }
                    return .object(members)
                })
        ])
    }
}

extension LocalizedText {
    fileprivate var json: JSONValue { ["en": .string(en), "zh": .string(zh)] }
}
