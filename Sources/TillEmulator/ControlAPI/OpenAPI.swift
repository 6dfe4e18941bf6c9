import TillBilling
import TillCrypto
import TillHTTP
import TillJSON

/// The control API's description in OpenAPI 3.1, generated from the routes' own declarations, so that it always agrees
/// with them. Apple's endpoints are listed, and described in Apple's documentation.
struct OpenAPI: Sendable {
    static let path = "/emulator/openapi.json"

    private static let own = ControlRoute(
        method: .get, pattern: path, summary: LocalizedText(en: "This description.", zh: "本说明。"), query: [], body: [],
        answer: ControlResponse(
            "OpenAPI",
            [
                ControlMember("openapi", .text(limit: 10), required: true, LocalizedText(en: "3.1.0", zh: "3.1.0")),
                ControlMember("info", .object([]), required: true, LocalizedText(en: "about this API", zh: "接口概要")),
                ControlMember("servers", .list([]), required: true, LocalizedText(en: "the server", zh: "本服务")),
                ControlMember("tags", .list([]), required: true, LocalizedText(en: "groups of routes", zh: "路由分组")),
                ControlMember("paths", .map, required: true, LocalizedText(en: "all paths", zh: "所有路径")),
                ControlMember("components", .object([]), required: true, LocalizedText(en: "schemas", zh: "数据结构")),
            ]))

    let document: JSONValue

    /// Adds the description as a route.
    /// - Returns: the control API's routes, this one included.
    @discardableResult
    static func serve(_ described: [ControlRoute], on router: inout Router) -> [ControlRoute] {
        let all = described + [own]
        let foreign = router.routes.filter { route in
            !all.contains { $0.method == route.method && $0.pattern == route.pattern }
        }
        router.on(.get, path) { request, _ in
            // Generated on request, because it would take longer than everything else at an emulator's start.
            let text = OpenAPI(all, apple: foreign).document.encodedBytes()
            let tag = "\"\(Base64.encode(Digest.sha256.hash(text).prefix(12), .url))\""
            var headers = HTTPHeaders([("ETag", tag), ("Cache-Control", "no-cache")])
            if request.headers["If-None-Match"] == tag { return HTTPResponse(status: 304, headers: headers) }
            headers.add("Content-Type", "application/json")
            return HTTPResponse(status: 200, headers: headers, body: text)
        }
        return all
    }

    /// - Parameter apple: the router's other routes, which are Apple's.
    init(_ routes: [ControlRoute], apple: [Router.Route]) {
        var paths: [String: [String: JSONValue]] = [:]
        var schemas: [String: JSONValue] = ["Problem": Self.problem]
        for route in routes {
            paths[route.pattern, default: [:]][route.method.rawValue.lowercased()] = Self.operation(route)
            if let answer = route.answer { schemas[answer.name] = Self.object(answer.members, orNull: true) }
        }
        for route in apple {
            paths[route.pattern, default: [:]][route.method.rawValue.lowercased()] = Self.operation(ofApple: route)
        }
        document = [
            "openapi": "3.1.0",
            "info": [
                "title": "Till: the emulated App Store", "version": "1",
                "summary": "An API that performs the actions of customers, parents, banks and developers.",
                "description": .string(Self.introduction),
                "license": ["name": "Apache 2.0", "identifier": "Apache-2.0"],
            ],
            "servers": [["url": "/", "description": "This emulator."]],
            "tags": .array(Tag.allCases.map { ["name": .string($0.rawValue), "description": .string($0.text)] }),
            "paths": .object(paths.mapValues { .object($0) }),
            "components": ["schemas": .object(schemas)],
        ]
    }

    private static let introduction = """
        Bodies are JSON in UTF-8. A null member counts as absent, and an unknown member is refused. \
        Times are RFC 3339 in UTC with milliseconds, money is whole minor units with a currency, ids of transactions \
        are strings. Errors are RFC 9457 problem+json: programs use `code` and `retryable`; \
        `title` is a sentence in the language of `Accept-Language` (zh or en). `GET` paths also accept `HEAD`.
        """

    enum Tag: String, CaseIterable {
        case control = "control API"
        case page
        case serverAPI = "App Store Server API"
        case verifyReceipt

        var text: String {
            switch self {
            case .control: "Control of the emulated store by scripts. 用脚本操作模拟商店。"
            case .page: "The web pages of the emulated store. 模拟商店的网页。"
            case .serverAPI: "Defined by Apple: see Apple's documentation “App Store Server API”."
            case .verifyReceipt: "Defined by Apple: see Apple's documentation “verifyReceipt”."
            }
        }
    }
}

// MARK: Operations

extension OpenAPI {
    private static func operation(_ route: ControlRoute) -> JSONValue {
        var members: [String: JSONValue] = [
            "operationId": .string(name(route.method, route.pattern)),
            "tags": [.string((route.isPage ? Tag.page : .control).rawValue)],
            "summary": .string(route.summary.en),
            "description": .string(route.summary.zh),
            "responses": responses(route),
        ]
        let parameters =
            route.parameters.map(pathParameter)
            + route.query.map { member -> JSONValue in
                [
                    "name": .string(member.name), "in": "query", "required": .bool(member.isRequired),
                    "description": .string("\(member.note.en) / \(member.note.zh)"), "schema": schema(member.kind),
                ]
            }
        if !parameters.isEmpty { members["parameters"] = .array(parameters) }
        if !route.body.isEmpty {
            members["requestBody"] = [
                "required": .bool(route.body.contains(where: \.isRequired)),
                "content": ["application/json": ["schema": object(route.body, orNull: true)]],
            ]
        } else if route.isPage, route.method == .post {
            members["requestBody"] = [
                "content": ["application/x-www-form-urlencoded": ["schema": ["type": "object"]]]
            ]
        }
        if route.method != .get { members["x-body-limit"] = .int(Int64(route.bodyLimit)) }
        return .object(members)
    }

    private static func responses(_ route: ControlRoute) -> JSONValue {
        let problem: JSONValue = [
            "description": "The problem.",
            "content": ["application/problem+json": ["schema": ref("Problem")]],
        ]
        if route.isPage, route.method == .post {
            return [
                "303": ["description": "The result page, which says whether the action succeeded."], "default": page,
            ]
        }
        if route.isPage { return ["200": page, "default": page] }
        guard let answer = route.answer else { return ["200": ["description": "The result."], "default": problem] }
        let good: JSONValue = [
            "description": "The result.", "content": ["application/json": ["schema": ref(answer.name)]],
        ]
        return ["200": good, "default": problem]
    }

    private static let page: JSONValue = ["description": "An HTML page, or a file that belongs to one."]

    private static func operation(ofApple route: Router.Route) -> JSONValue {
        let tag = route.pattern.hasPrefix("/inApps/") ? Tag.serverAPI : .verifyReceipt
        var members: [String: JSONValue] = [
            "operationId": .string(name(route.method, route.pattern)), "tags": [.string(tag.rawValue)],
            "summary": .string("Defined by Apple. See Apple's documentation “\(tag.rawValue)” for bodies and errors."),
            "responses": ["default": ["description": "See Apple's documentation."]],
        ]
        let parameters = ControlRoute(
            method: route.method, pattern: route.pattern, summary: LocalizedText(en: "", zh: ""), query: [], body: [],
            answer: nil
        ).parameters.map(pathParameter)
        if !parameters.isEmpty { members["parameters"] = .array(parameters) }
        return .object(members)
    }

    /// `post-emulator-transactions-id-refund`: unique for each method and path.
    private static func name(_ method: HTTPMethod, _ pattern: String) -> String {
        let letters = pattern.filter { $0 != "{" && $0 != "}" }
        let words = letters.split { $0 == "/" || $0 == "." }.map(String.init)
        return ([method.rawValue.lowercased()] + words).joined(separator: "-")
    }

    private static func pathParameter(_ name: String) -> JSONValue {
        ["name": .string(name), "in": "path", "required": true, "schema": ["type": "string"]]
    }
}

// MARK: Schemas

extension OpenAPI {
    static func ref(_ schema: String) -> JSONValue { ["$ref": .string("#/components/schemas/\(schema)")] }

    /// An object with exactly these members; with an empty list, an object of unspecified content.
    static func object(_ members: [ControlMember], orNull: Bool) -> JSONValue {
        guard !members.isEmpty else { return ["type": "object"] }
        var properties: [String: JSONValue] = [:]
        for member in members {
            var property = schema(member.kind).object ?? [:]
            property["description"] = .string("\(member.note.en) / \(member.note.zh)")
            if orNull, !member.isRequired {
                property["type"] = property["type"].map { [$0, "null"] }
                if let words = property["enum"]?.array { property["enum"] = .array(words + [.null]) }
            }
            properties[member.name] = .object(property)
        }
        var schema: [String: JSONValue] = [
            "type": "object", "properties": .object(properties), "additionalProperties": false,
        ]
        let required = members.filter(\.isRequired).map { JSONValue.string($0.name) }
        if !required.isEmpty { schema["required"] = .array(required) }
        return .object(schema)
    }

    static func schema(_ kind: ControlMember.Kind) -> JSONValue {
        switch kind {
        case .text(let limit): ["type": "string", "minLength": 1, "maxLength": .int(Int64(limit))]
        case .integer(let range):
            [
                "type": "integer", "format": "int64", "minimum": .int(range.lowerBound),
                "maximum": .int(range.upperBound),
            ]
        case .number: ["type": "number"]
        case .bool: ["type": "boolean"]
        case .uuid: ["type": "string", "format": "uuid"]
        case .instant: ["type": "string", "format": "date-time"]
        case .span: ["type": "string", "minLength": 2, "maxLength": 40, "examples": ["30d", "1d12h"]]
        case .choice(let words): ["type": "string", "enum": .array(words.map { .string($0) })]
        case .object(let members): object(members, orNull: true)
        case .list(let members): ["type": "array", "items": object(members, orNull: true)]
        case .texts: ["type": "array", "items": ["type": "string"]]
        case .map: ["type": "object"]
        }
    }

    private static let problem: JSONValue = [
        "type": "object", "description": "The problem (RFC 9457).",
        "required": ["type", "title", "status", "code", "retryable"],
        "properties": [
            "type": ["type": "string"],
            "title": ["type": "string", "description": "A sentence for people in the language of Accept-Language."],
            "status": ["type": "integer", "description": "The HTTP status."],
            "code": ["type": "string", "description": "A stable code for programs. New codes may be added."],
            "retryable": ["type": "boolean", "description": "Whether the same request may succeed later."],
        ],
    ]
}
