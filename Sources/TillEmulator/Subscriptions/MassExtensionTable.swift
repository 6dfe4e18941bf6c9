import TillBilling
import TillSQL

extension StoreSchema {
    static let massExtensions: StaticString = """
        CREATE TABLE mass_extensions (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            bundle_id TEXT NOT NULL,
            product_id TEXT NOT NULL,
            days INTEGER NOT NULL,
            reason INTEGER NOT NULL,
            storefronts TEXT,
            begun_at INTEGER NOT NULL,
            done_to INTEGER NOT NULL DEFAULT 0,
            succeeded INTEGER NOT NULL DEFAULT 0,
            failed INTEGER NOT NULL DEFAULT 0,
            completed_at INTEGER
        ) STRICT;
        """
}

/// Requests for mass extensions, and how far each has come.
enum MassExtensionTable {
    struct Progress: Sendable {
        var number: Int64
        var request: MassExtension.Request
        /// The last subscription that was looked at.
        var after: Int64
        var succeeded: Int64
        var failed: Int64
    }

    /// - Returns: the request's number; nil if there is one of this id.
    static func insert(_ request: MassExtension.Request, at now: Instant, _ session: any Connection) throws -> Int64? {
        try session.first(
            """
            INSERT INTO mass_extensions (id, bundle_id, product_id, days, reason, storefronts, begun_at)
            VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING number
            """,
            [
                .text(request.id.description), .text(request.bundleID), .text(request.productID.text),
                .integer(request.days), .integer(request.reason),
                .optional(try request.storefronts.map { try StoredDocument.text($0) }), .integer(now.milliseconds),
            ]
        ) { $0.integer("number") }
    }

    static func status(
        _ id: UniqueID, productID: ProductID, bundleID: String, _ session: any Connection
    ) throws -> MassExtension.Status? {
        try session.first(
            """
            SELECT completed_at, succeeded, failed FROM mass_extensions
            WHERE id = ? AND product_id = ? AND bundle_id = ?
            """, [.text(id.description), .text(productID.text), .text(bundleID)]
        ) { row in
            MassExtension.Status(
                completed: row.optionalInteger("completed_at").map(Instant.init(milliseconds:)),
                succeeded: row.integer("succeeded"),
                failed: row.integer("failed"))
        }
    }

    /// Nil for one that is complete.
    static func progress(_ number: Int64, _ session: any Connection) throws -> Progress? {
        let found = try session.first(
            """
            SELECT id, bundle_id, product_id, days, reason, storefronts, done_to, succeeded, failed
            FROM mass_extensions WHERE number = ? AND completed_at IS NULL
            """, [.integer(number)]
        ) { row -> Progress? in
            guard let id = UniqueID(row.text("id")) else { return nil }
            let request = MassExtension.Request(
                id: id, bundleID: row.text("bundle_id"), productID: ProductID(row.text("product_id")),
                days: row.integer("days"),
                reason: row.integer("reason"),
                storefronts: try row.optionalText("storefronts").map {
                    try StoredDocument.read([String].self, from: $0)
                })
            return Progress(
                number: number, request: request, after: row.integer("done_to"), succeeded: row.integer("succeeded"),
                failed: row.integer("failed"))
        }
        return found ?? nil
    }

    static func save(_ progress: Progress, completed: Instant?, _ session: any Connection) throws {
        try session.execute(
            "UPDATE mass_extensions SET done_to = ?, succeeded = ?, failed = ?, completed_at = ? WHERE number = ?",
            [
                .integer(progress.after), .integer(progress.succeeded), .integer(progress.failed),
                .optional(completed?.milliseconds), .integer(progress.number),
            ])
    }
}
