import TillAPI
import TillBilling
import TillJSON
import TillLedger

/// A person's data: its export and its erasure. A user token, which an app holds and a thief can steal, opens neither.
extension OpenAPI {
    static let personEndpoints: [Endpoint] = [
        Endpoint(
            method: .get, path: Paths.customerExport, id: "exportCustomer", tag: .people,
            action: Server.exportCustomer, summary: "Export what the ledger holds about a person",
            description: """
                Everything about the customer and about guests merged into it, list by list. `limit` counts orders, or \
                entries of other lists; an order may have several entries in one list, so a page can be longer. What \
                is left out, and why, is in docs/personal-data.md. Each export is a line of the log.
                """,
            caller: .operatorOrBackend, parameters: [.limit, .cursor],
            answers: [.ok("A page of the export.", "ExportPage")], refusals: [.unknownUser, .guestMerged]),
        Endpoint(
            method: .post, path: Paths.customerErasure, id: "eraseCustomer", tag: .people,
            action: Server.eraseCustomer, summary: "Erase a person",
            description: """
                What names the person is removed or replaced by a keyed hash, also for guests merged into the account. \
                Money, grants and evidence stay under a pseudonym. The same user id is a new customer afterwards. \
                Points that are lost and subscriptions that run on have to be confirmed. The same request again gives \
                the same answer.
                """,
            caller: .operatorOrBackend, body: .json("Erase", isRequired: false),
            answers: [.created("Erased.", "Erasure"), .ok("Erased before.", "Erasure").bare],
            refusals: [.unknownUser, .guestMerged, .erasureUnconfirmed, .noErasureKey]),
    ]

    static let personBodies: BodyTable = [
        Body("Erase", EraseBody.self, "What the erasure may take from the person."): [
            "forfeit": "The points in the wallet, by kind: exactly what the person loses. Absent if there are none.",
            "endsAccess": "Whether to erase although a subscription still runs or may renew. False if absent.",
        ],
        Body("Erasure", ErasureReply.self, "An erasure."): [
            "pseudonym": "The user id that the customer's rows show now.", "erasedAt": "The time of the erasure.",
            "guests": "The guests of the account that were erased with it.",
        ],
        Body("ExportPage", "A page of an export."): [
            "format": .integer("The number of the format, raised when a member changes its meaning."),
            "data": .list("The entries of this page.", of: "ExportItem"), "hasMore": .boolean("Whether more follow."),
            "nextCursor": .orNull("The `cursor` of the next page; null on the last page."),
        ],
        Body("ExportItem", "An entry of an export."): [
            "list": .oneOf("The list that it belongs to. New lists may be added.", CustomerExport.lists),
            "item": .object("The entry. Members without a value are absent; new members may be added."),
        ],
    ]

    static let personExamples: [String: JSONValue] = [
        "Erase": ["forfeit": ["points": 60]],
        "Erasure": [
            "pseudonym": "erased:0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e", "erasedAt": "2026-03-01T09:00:00.000Z", "guests": 0,
        ],
        "ExportPage": [
            "format": 1,
            "data": [
                [
                    "list": "customers",
                    "item": ["userId": "u1", "kind": "account", "firstSeenAt": "2026-02-01T08:00:00.000Z"],
                ]
            ], "hasMore": true, "nextCursor": "MS4w",
        ],
    ]
}
