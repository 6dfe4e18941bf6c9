import TillAPI
import TillAppStore
import TillBilling
import TillJSON

extension OpenAPI {
    static let shopOperations: [OpenAPIOperation] = [
        OpenAPIOperation(
            method: .get, path: Paths.products, id: "listProducts", tag: .shop, summary: "List the catalogue",
            description: "For the shop page. Cheap to ask again with `If-None-Match`.",
            parameters: [.header("If-None-Match", ["type": "string"], "The `ETag` of an earlier answer.")],
            answers: [
                OpenAPIOperation.Answer(
                    200, "The catalogue.", "Products",
                    example: [
                        "data": [
                            [
                                "id": "com.example.learn.points60", "type": "Consumable",
                                "names": ["en": "60 points", "zh": "60 学点"],
                                "price": ["amount": 600, "currency": "CNY"], "points": ["points": 60],
                            ]
                        ]
                    ]
                ).with(headers: ["ETag": "Changes with the catalogue."]),
                OpenAPIOperation.Answer(304, "Unchanged."),
            ]),
        OpenAPIOperation(
            method: .get, path: Paths.health, id: "readHealth", tag: .operations, summary: "Is the process there?",
            answers: [OpenAPIOperation.Answer(200, "It answers.", "Health", example: ["status": "ok"])]),
        OpenAPIOperation(
            method: .get, path: Paths.readiness, id: "readReadiness", tag: .operations,
            summary: "Can purchases be taken?",
            answers: [
                OpenAPIOperation.Answer(
                    200, "The ledger can be read and written.", "Readiness",
                    example: ["status": "ready", "database": "ok"]),
                OpenAPIOperation.Answer(
                    503, "It can't; `database` says what is wrong.", "Readiness",
                    example: ["status": "not_ready", "database": "full"]
                ).with(headers: ["Retry-After": "Seconds to wait."]),
            ]),
        OpenAPIOperation(
            method: .get, path: Paths.openAPI, id: "readOpenAPI", tag: .operations, summary: "This document",
            parameters: [.header("If-None-Match", ["type": "string"], "The `ETag` of an earlier answer.")],
            answers: [
                OpenAPIOperation.Answer(200, "OpenAPI 3.1.", "AnyObject").with(headers: ["ETag": "Changes with it."]),
                OpenAPIOperation.Answer(304, "Unchanged."),
            ]),
    ]

    static let shopSchemas: [String: JSONValue] = [
        "Products": OpenAPISchema.object(
            "Everything there is to buy.", ["data": OpenAPISchema.list("The products.", of: ref("Product"))]),
        "Product": OpenAPISchema.object(
            "Something there is to buy, and what its buyer gets.",
            [
                "id": OpenAPISchema.text("As in App Store Connect."),
                "type": OpenAPISchema.words("As Apple calls it.", ProductType.allCases.map(\.rawValue)),
                "names": ref("Text"), "price": ref("Money"),
                "prices": [
                    "type": "object",
                    "description": "List prices in other currencies, in minor units; absent if the shop names none.",
                    "additionalProperties": ["type": "integer", "format": "int64"],
                ],
                "points": [
                    "type": "object", "description": "Points for one, by kind.",
                    "additionalProperties": ["type": "integer", "format": "int64"],
                ],
                "entitlement": OpenAPISchema.text("The lasting right a buyer gets, if any."),
                "plan": ref("PlanTerms"),
            ], optional: ["prices", "entitlement", "plan"]),
        "Text": OpenAPISchema.object(
            "A name in both languages.",
            ["en": OpenAPISchema.text("In English."), "zh": OpenAPISchema.text("In Chinese.")]),
        "Health": OpenAPISchema.object("It answers.", ["status": OpenAPISchema.words("Always the same.", ["ok"])]),
        "Readiness": OpenAPISchema.object(
            "Whether the ledger can be read and written.",
            [
                "status": OpenAPISchema.words("Whether it can.", ["ready", "not_ready"]),
                "database": OpenAPISchema.text("`ok`, or what is wrong."),
            ]),
        "AnyObject": ["type": "object", "description": "See the OpenAPI specification."],
    ]
}
