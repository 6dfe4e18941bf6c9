import TillBilling
import TillEmulator
import TillHTTP
import TillJSON

extension Flag {
    fileprivate static let store = Flag(
        "store", .text("URL"),
        summary: LocalizedText(
            en: "the emulated store to compare with (default: apple.emulator)", zh: "要对照的模拟商店（默认取 apple.emulator）"))
    fileprivate static let products = Flag(
        "products", .text("FILE"),
        summary: LocalizedText(
            en: "a file of products to compare with: a list as in PUT /emulator/products, or Xcode's .storekit file",
            zh: "要对照的商品文件：PUT /emulator/products 的列表，或 Xcode 的 .storekit 文件"))
}

extension Command {
    /// `till catalog check`: compares the server's catalogue with a store's products.
    static let catalog = Command(
        "catalog",
        summary: LocalizedText(
            en: "check the catalogue against a store's products", zh: "将商品目录与商店的商品对照检查"),
        discussion: LocalizedText(
            en: """
                till catalog check: compares the server's catalogue with the products of an emulated store or of a file,
                and prints each finding with its cure. Findings: unknown_id (the store has no such product),
                missing_from_the_catalogue, wrong_type, price_off_the_table, not_returned_by_the_store, duplicate_id,
                first_product_without_app_version, and what App Review would find.
                Ends with 1 if there is a finding. A price in a currency without known price points is accepted with the
                warning price_not_checked, which does not change the exit code.
                --json prints {"findings": [{"code", "severity": "error" or "warning", "productId", "finding",
                "cure"}]}. Apple's own store has no list of products for a server: export a .storekit file, or describe
                the products in a file.
                """,
            zh: """
                till catalog check：将服务器的商品目录与模拟商店或文件中的商品对照，列出每个问题及其解决办法。
                问题包括：unknown_id（商店没有该商品）、missing_from_the_catalogue、wrong_type、price_off_the_table、
                not_returned_by_the_store、duplicate_id、first_product_without_app_version，以及 App 审核会发现的问题。
                有任何问题时以 1 结束。货币没有价格点资料时，价格照常接受，只给出警告 price_not_checked，不影响退出码。
                --json 输出 {"findings": [{"code", "severity": "error" 或 "warning", "productId", "finding", "cure"}]}。
                Apple 自己的商店不向服务器提供商品列表：请导出 .storekit 文件，或在文件中写明商品。
                """),
        flags: [.config, .store, .products],
        positionals: [Positional("ACTION", summary: LocalizedText(en: "what to do: check", zh: "要做的操作：check"))]
    ) { call in
        guard call.positionals == ["check"] else {
            throw UsageError(
                LocalizedText(en: "the action must be check", zh: "操作应为 check"), command: "catalog")
        }
        let configuration = try Configuration.load(for: call, keepsDuplicateProducts: true)
        let environment = configuration.server.usualEnvironment
        let findings = try await CatalogCheck(configuration, call).products()
            .findings(comparing: configuration.catalog, in: environment)
        if call.wantsJSON {
            try call.print(CatalogCheck.Document(findings.map { CatalogCheck.Reply($0, call.language) }))
        } else {
            for finding in findings {
                let reply = CatalogCheck.Reply(finding, call.language)
                let warning = finding.isWarning ? LocalizedText(en: "warning: ", zh: "警告：")(call.language) : ""
                call.console.print(
                    "\(warning)\(reply.code)  \(reply.productId.map { "\($0)  " } ?? "")\(reply.finding)")
                call.console.print("    → \(reply.cure)")
            }
            if findings.allSatisfy(\.isWarning) {
                call.say(LocalizedText(en: "The catalogue and the store agree.", zh: "商品目录与商店一致。"))
            }
        }
        return findings.allSatisfy(\.isWarning) ? .done : .refused
    }
}

/// The store's side of the comparison.
struct CatalogCheck {
    private enum Source {
        case file(String)
        case store(String)
    }

    private let source: Source

    /// - Throws: `UsageError` unless there is exactly one store to compare with.
    init(_ configuration: Configuration, _ call: Invocation) throws {
        let emulator = configuration.appleService.asksEmulator ? configuration.appleService.hosts.serverAPI : [:]
        switch (call.text(.products), call.text(.store)) {
        case (let file?, nil): source = .file(file)
        case (nil, let url?): source = .store(url.hasSuffix("/") ? String(url.dropLast()) : url)
        case (nil, nil):
            guard let origin = emulator[.sandbox] else {
                throw UsageError(
                    LocalizedText(
                        en: "give --store or --products: the configuration names no emulated store (apple.emulator)",
                        zh: "请给出 --store 或 --products：配置中没有模拟商店（apple.emulator）"), command: "catalog")
            }
            source = .store(origin)
        default:
            throw UsageError(
                LocalizedText(en: "give --store or --products, not both", zh: "--store 和 --products 只能给一个"),
                command: "catalog")
        }
    }

    func products() async throws -> ProductFile {
        let bytes: [UInt8]
        let name: String
        switch source {
        case .file(let path):
            name = path
            do throws(FileError) {
                bytes = try readFile(path, limit: ProductFile.byteLimit)
            } catch {
                throw CommandError(error.sentence)
            }
        case .store(let origin):
            name = origin
            bytes = try await Self.list(of: origin)
        }
        do {
            return try ProductFile(bytes)
        } catch {
            throw CommandError(
                LocalizedText(en: "\(shown(name)): \(error.sentence.en)", zh: "\(shown(name))：\(error.sentence.zh)"))
        }
    }

    /// `GET /emulator/products`, in the form of a product file.
    private static func list(of origin: String) async throws -> [UInt8] {
        let fetch: Fetch
        do throws(HTTPError) {
            fetch = try Fetch()
        } catch {
            throw CommandError(
                LocalizedText(
                    en: "the HTTP client can't be started: \(error.detail)", zh: "无法启动 HTTP 客户端：\(error.detail)"))
        }
        defer { fetch.stop() }
        let response: HTTPResponse
        do throws(HTTPError) {
            response = try await fetch.send(
                origin + "/emulator/products", HTTPRequest(method: .get, path: "/emulator/products"))
        } catch {
            throw CommandError(
                LocalizedText(
                    en: "\(shown(origin)) can't be reached: \(error.detail)",
                    zh: "无法连接 \(shown(origin))：\(error.detail)"))
        }
        guard response.status == 200, let list = try? JSONValue(decoding: response.body)["data"] else {
            throw CommandError(
                LocalizedText(
                    en: "\(shown(origin)) is no emulated store: GET /emulator/products answered \(response.status)",
                    zh: "\(shown(origin)) 不是模拟商店：GET /emulator/products 返回 \(response.status)"))
        }
        return JSONValue.object(["products": list]).encodedBytes()
    }

    struct Document: Encodable {
        let findings: [Reply]

        init(_ findings: [Reply]) { self.findings = findings }
    }

    struct Reply: Encodable {
        let code: String
        let severity: String
        let productId: String?
        let finding: String
        let cure: String

        init(_ finding: ProductFinding, _ language: Language) {
            code = finding.code.rawValue
            severity = finding.isWarning ? "warning" : "error"
            productId = finding.product
            self.finding = finding.sentence[language]
            cure = finding.cure[language]
        }
    }
}
